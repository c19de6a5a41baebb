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
    const std::string problem = TakeExtent({.device = values[kDevice],
                                            .sector = values[kSector],
                                            .length = values[kSectors],
                                            .length_unit = kSectorBytes,
                                            .sector_name = kFieldNames[kSector],
                                            .length_name = kFieldNames[kSectors]},
                                           request);
    return problem.empty() || Fail(problem);
  }
};

}  // namespace

bool LooksLikeMqsim(std::string_view head) {
  return FirstLinesAre(head, [](std::string_view line) {
    std::array<std::string_view, kFields> fields;
    uint64_t value = 0;
    return SplitFields(line, ' ', &fields) == kFields &&
           std::ranges::all_of(fields, [&](std::string_view field) { return ParseNumber(field, 10, &value); }) &&
           value <= 1;
  });
}

std::unique_ptr<RequestSource> MakeMqsim(std::string path) { return std::make_unique<Mqsim>(std::move(path)); }

}  // namespace mezz
