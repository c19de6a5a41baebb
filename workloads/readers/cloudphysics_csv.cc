// SPDX-License-Identifier: Apache-2.0
// CloudPhysics virtual disks (Waldspurger et al., FAST'15) as libCacheSim ships them: a header line, then
// `version,time,op,size,lbn`; time in seconds, op the SCSI opcode in hexadecimal, size in bytes, lbn in sectors of 512
// bytes. Reads and writes are both accesses.
#include <fmt/format.h>

#include "workloads/readers/block_io.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr std::string_view kHeader = "version,time,op,size,lbn";
constexpr uint64_t kMicrosecondsPerSecond = 1'000'000;
constexpr size_t kFields = 5;
constexpr std::array<std::string_view, kFields> kFieldNames = {"version", "time", "op", "size", "lbn"};

class CloudPhysicsCsv final : public BlockIoFile {
 public:
  explicit CloudPhysicsCsv(std::string path) : BlockIoFile(std::move(path)) {}

 private:
  bool TakeIo(Request* request) override {
    std::string_view line;
    do {
      if (!TakeLine(&line)) return false;
      line = Trim(line);
      if (line_number() == 1) {
        if (line != kHeader)
          return FailForGood(fmt::format("\"{}\" is not the header; want \"{}\"", Shown(line), kHeader));
        line = {};
      }
    } while (line.empty());
    std::array<std::string_view, kFields> fields;
    const size_t count = SplitFields(line, ',', &fields);
    if (count != kFields) return Fail(fmt::format("{} fields in \"{}\"; want {}", count, Shown(line), kHeader));
    std::array<uint64_t, kFields> values{};
    for (size_t i = 0; i < kFields; ++i) {
      const int base = i == 2 ? 16 : 10;
      if (!ParseNumber(fields[i], base, &values[i])) {
        return Fail(fmt::format("field {} is \"{}\"; want a {} number", kFieldNames[i], Shown(fields[i]),
                                base == 16 ? "hexadecimal" : "decimal"));
      }
    }
    return TakeValues(values, request);
  }

  bool TakeValues(const std::array<uint64_t, kFields>& values, Request* request) {
    const auto [version, seconds, op, bytes, sector] = values;
    if (!IsScsiRead(op) && !IsScsiWrite(op)) {
      return Fail(fmt::format("field op is {:x}; want a SCSI read or write", op));
    }
    if (seconds > UINT64_MAX / kMicrosecondsPerSecond) return Fail(fmt::format("field time is {} seconds", seconds));
    *request = Request{.operation = IsScsiWrite(op) ? Operation::kPut : Operation::kGet,
                       .time_us = seconds * kMicrosecondsPerSecond};
    return TakePlace({.sector = sector, .length = bytes}, request);
  }
};

bool LooksLikeCloudPhysicsCsv(std::string_view head) { return head.starts_with(kHeader); }

}  // namespace

constexpr TraceFormat kCloudPhysicsFormat = {.name = "cloudphysics_csv",
                                             .about = "block I/O: version,time,op,size,lbn",
                                             .matches = &LooksLikeCloudPhysicsCsv,
                                             .make = &MakeReader<CloudPhysicsCsv>};

}  // namespace mezz
