// SPDX-License-Identifier: Apache-2.0
// CloudPhysics virtual disks (Waldspurger et al., FAST'15) as libCacheSim ships them: a header line, then
// `version,time,op,size,lbn`; time in seconds, op the SCSI opcode in hexadecimal, size in bytes, lbn in sectors of 512
// bytes. Reads and writes are both accesses.
#include <fmt/format.h>

#include "workloads/readers/fields.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr std::string_view kHeader = "version,time,op,size,lbn";
constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kMicrosecondsPerSecond = 1'000'000;
constexpr size_t kFields = 5;
constexpr std::array<std::string_view, kFields> kFieldNames = {"version", "time", "op", "size", "lbn"};

// Bits of a READ or WRITE of 6, 10, 12 or 16 bytes: 08 0a, 28 2a, a8 aa, 88 8a.
bool IsRead(uint64_t op) { return op == 0x08 || op == 0x28 || op == 0xa8 || op == 0x88; }
bool IsWrite(uint64_t op) { return op == 0x0a || op == 0x2a || op == 0xaa || op == 0x8a; }

class CloudPhysicsCsv final : public TraceFile {
 public:
  explicit CloudPhysicsCsv(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    std::string_view line;
    do {
      if (!TakeLine(&line)) return false;
      line = Trim(line);
      if (line_number() == 1) {
        if (line != kHeader) return Fail(fmt::format("\"{}\" is not the header; want \"{}\"", Shown(line), kHeader));
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
    return TakeIo(values, request);
  }

 private:
  bool TakeIo(const std::array<uint64_t, kFields>& values, Request* request) {
    const auto [version, seconds, op, bytes, sector] = values;
    if (!IsRead(op) && !IsWrite(op)) return Fail(fmt::format("field op is {:x}; want a SCSI read or write", op));
    if (bytes == 0 || bytes > kExtentBytesMax) {
      return Fail(fmt::format("field size is {}; it goes from 1 to {}", bytes, kExtentBytesMax));
    }
    if (sector > (UINT64_MAX - kExtentBytesMax) / kSectorBytes) {
      return Fail(fmt::format("field lbn is {}; that is no place on a disk", sector));
    }
    if (seconds > UINT64_MAX / kMicrosecondsPerSecond) return Fail(fmt::format("field time is {} seconds", seconds));
    *request = Request{.key = sector * kSectorBytes,
                       .operation = IsWrite(op) ? Operation::kPut : Operation::kGet,
                       .extent_bytes = static_cast<uint32_t>(bytes),
                       .time_us = seconds * kMicrosecondsPerSecond};
    return true;
  }
};

}  // namespace

std::unique_ptr<RequestSource> MakeCloudPhysicsCsv(std::string path) {
  return std::make_unique<CloudPhysicsCsv>(std::move(path));
}

}  // namespace mezz
