// SPDX-License-Identifier: Apache-2.0
// MQSim's ASCII traces: `arrival_ns device start_sector sectors op`, op 1 reads and 0 writes, sectors of 512 bytes.
#include <fmt/format.h>

#include "workloads/readers/block_io.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

enum : size_t { kTime, kDevice, kSector, kSectors, kOp, kFields };
constexpr std::array<std::string_view, kFields> kFieldNames = {"arrival_ns", "device", "start_sector", "sectors", "op"};

class Mqsim final : public BlockIoFile {
 public:
  explicit Mqsim(std::string path) : BlockIoFile(std::move(path)) {}

 private:
  bool TakeIo(Request* request) override {
    std::string_view line;
    if (!TakeFilledLine(&line)) return false;
    std::array<std::string_view, kFields> fields;
    const size_t count = SplitFields(line, ' ', &fields);
    if (count != kFields) {
      return Fail(
          fmt::format("{} fields in \"{}\"; want arrival_ns device start_sector sectors op", count, Shown(line)));
    }
    std::array<uint64_t, kFields> values{};
    for (size_t i = 0; i < kFields; ++i) {
      if (!ParseField(kFieldNames[i], fields[i], i == kOp ? 1 : UINT64_MAX, &values[i])) return false;
    }
    *request =
        Request{.operation = values[kOp] == 1 ? Operation::kGet : Operation::kPut, .time_us = values[kTime] / 1000};
    return TakePlace({.device = values[kDevice],
                      .sector = values[kSector],
                      .length = values[kSectors],
                      .length_unit = kSectorBytes,
                      .sector_name = kFieldNames[kSector],
                      .length_name = kFieldNames[kSectors]},
                     request);
  }
};

bool LooksLikeMqsim(std::string_view head) {
  return FirstLinesAre(head, [](std::string_view line) {
    std::array<std::string_view, kFields> fields;
    uint64_t op = 0;
    return SplitFields(line, ' ', &fields) == kFields && std::ranges::all_of(fields, IsNumber) &&
           ParseNumber(fields[kOp], 10, &op) && op <= 1;
  });
}

}  // namespace

constexpr TraceFormat kMqsimFormat = {.name = "mqsim",
                                      .about = "block I/O: arrival_ns device start_sector sectors op",
                                      .matches = &LooksLikeMqsim,
                                      .make = &MakeReader<Mqsim>,
                                      .shape = "five numbers, the last 0 or 1"};

}  // namespace mezz
