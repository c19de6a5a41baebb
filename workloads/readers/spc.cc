// SPDX-License-Identifier: Apache-2.0
// SPC trace files (Storage Performance Council, revision 1.0.1; the Financial and WebSearch traces of the UMass
// repository): `ASU,LBA,size,opcode,timestamp`, more fields optional; LBA in sectors of 512 bytes, size in bytes,
// opcode R or W in either case, timestamp in seconds with a fraction. An ASU is a device of its own.
#include <fmt/format.h>

#include "workloads/readers/block_io.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

enum : size_t { kAsu, kLba, kSize, kOpcode, kTime, kFields };

bool IsRead(std::string_view opcode) { return opcode == "R" || opcode == "r"; }
bool IsWrite(std::string_view opcode) { return opcode == "W" || opcode == "w"; }

// The revision allows blanks around fields.
size_t SplitRecord(std::string_view line, std::array<std::string_view, kFields>* fields) {
  const size_t count = SplitFields(line, ',', fields);
  for (std::string_view& field : *fields) field = Trim(field);
  return count;
}

class Spc final : public BlockIoFile {
 public:
  explicit Spc(std::string path) : BlockIoFile(std::move(path)) {}

 private:
  bool TakeIo(Request* request) override {
    std::string_view line;
    if (!TakeFilledLine(&line)) return false;
    std::array<std::string_view, kFields> fields;
    const size_t count = SplitRecord(line, &fields);
    if (count < kFields) {
      return Fail(fmt::format("{} fields in \"{}\"; want ASU,LBA,size,opcode,timestamp", count, Shown(line)));
    }
    BlockIo io{.device_name = "ASU", .sector_name = "LBA"};
    if (!ParseField("ASU", fields[kAsu], kDevicesMax - 1, &io.device)) return false;
    if (!ParseField("LBA", fields[kLba], UINT64_MAX, &io.sector)) return false;
    if (!ParseField("size", fields[kSize], UINT64_MAX, &io.length)) return false;
    if (!IsRead(fields[kOpcode]) && !IsWrite(fields[kOpcode])) {
      return Fail(fmt::format("field opcode is \"{}\"; want R or W", Shown(fields[kOpcode])));
    }
    *request = Request{.operation = IsRead(fields[kOpcode]) ? Operation::kGet : Operation::kPut};
    if (!ParseSeconds(fields[kTime], &request->time_us)) {
      return Fail(fmt::format("field timestamp is \"{}\"; want seconds, such as 12.5", Shown(fields[kTime])));
    }
    return TakePlace(io, request);
  }
};

bool LooksLikeSpc(std::string_view head) {
  return FirstLinesAre(head, [](std::string_view line) {
    std::array<std::string_view, kFields> fields;
    uint64_t time_us = 0;
    return SplitRecord(line, &fields) >= kFields && IsNumber(fields[kAsu]) && IsNumber(fields[kLba]) &&
           IsNumber(fields[kSize]) && (IsRead(fields[kOpcode]) || IsWrite(fields[kOpcode])) &&
           ParseSeconds(fields[kTime], &time_us);
  });
}

}  // namespace

constexpr TraceFormat kSpcFormat = {.name = "spc",
                                    .about = "block I/O: ASU,LBA,size,opcode,timestamp",
                                    .file_name_parts = {".spc"},
                                    .matches = &LooksLikeSpc,
                                    .make = &MakeReader<Spc>};

}  // namespace mezz
