// SPDX-License-Identifier: Apache-2.0
// VMware vscsiStats traces as CloudPhysics published them (Waldspurger et al., FAST'15), in both forms, little-endian.
// Form 1, 32 bytes: u32 number, u32 bytes, u32 segments, u16 command, u16 version, u64 sector, u64 time in
// microseconds. Form 2, 40 bytes: u16 command, u16 version, u32 number, u32 bytes, u32 segments, u64 sector, u64 time,
// u64 latency. The high byte of the version is the form.
#include <fmt/format.h>

#include "workloads/readers/block_io.h"
#include "workloads/readers/bytes.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

// Where a form has its fields.
struct Form {
  uint8_t number;
  size_t record_bytes, command, version, length, sector, time;
};
constexpr Form kForm1 = {
    .number = 1, .record_bytes = 32, .command = 12, .version = 14, .length = 4, .sector = 16, .time = 24};
constexpr Form kForm2 = {
    .number = 2, .record_bytes = 40, .command = 0, .version = 2, .length = 8, .sector = 16, .time = 24};

uint64_t CommandAt(const uint8_t* record, const Form& form) { return LoadAs<uint16_t>(record + form.command); }
uint64_t FormAt(const uint8_t* record, const Form& form) { return LoadAs<uint16_t>(record + form.version) >> 8; }

class Vscsi final : public BlockIoFile {
 public:
  Vscsi(std::string path, const Form& form) : BlockIoFile(std::move(path)), form_(form) {}

 private:
  bool TakeIo(Request* request) override {
    const uint8_t* record = Take(form_.record_bytes, "the last record");
    if (record == nullptr) return false;
    if (FormAt(record, form_) != form_.number) {
      return Fail(fmt::format("field version is {:#06x}; want {:#04x}xx in format vscsi{}",
                              LoadAs<uint16_t>(record + form_.version), form_.number, form_.number));
    }
    const uint64_t command = CommandAt(record, form_);
    if (!IsScsiRead(command) && !IsScsiWrite(command)) {
      return Fail(fmt::format("field cmd is {:x}; want a SCSI read or write", command));
    }
    *request = Request{.operation = IsScsiWrite(command) ? Operation::kPut : Operation::kGet,
                       .time_us = LoadAs<uint64_t>(record + form_.time)};
    return TakePlace({.sector = LoadAs<uint64_t>(record + form_.sector),
                      .length = LoadAs<uint32_t>(record + form_.length),
                      .length_name = "len"},
                     request);
  }

  const Form& form_;
};

// The high byte of the version is the form: in all records of what is at hand, but for one in eight that may be
// damaged, and most of them read or write. Of three records and fewer, all do.
bool LooksLike(std::string_view head, const Form& form) {
  size_t records = 0, of_form = 0, reads_or_writes = 0;
  for (; head.size() >= form.record_bytes; head.remove_prefix(form.record_bytes), ++records) {
    const auto* record = reinterpret_cast<const uint8_t*>(head.data());
    if (FormAt(record, form) != form.number) continue;
    ++of_form;
    const uint64_t command = CommandAt(record, form);
    reads_or_writes += IsScsiRead(command) || IsScsiWrite(command);
  }
  if (records <= 3) return records > 0 && reads_or_writes == records;
  return of_form >= records - records / 8 && 2 * reads_or_writes > records;
}

}  // namespace

constexpr TraceFormat kVscsi1Format = {.name = "vscsi1",
                                       .about = "block I/O: vscsiStats records of 32 bytes",
                                       .kind = TraceFormat::Kind::kBinary,
                                       .matches = [](std::string_view head) { return LooksLike(head, kForm1); },
                                       .make = [](std::string path) -> std::unique_ptr<RequestSource> {
                                         return std::make_unique<Vscsi>(std::move(path), kForm1);
                                       }};
constexpr TraceFormat kVscsi2Format = {.name = "vscsi2",
                                       .about = "block I/O: vscsiStats records of 40 bytes",
                                       .kind = TraceFormat::Kind::kBinary,
                                       .matches = [](std::string_view head) { return LooksLike(head, kForm2); },
                                       .make = [](std::string path) -> std::unique_ptr<RequestSource> {
                                         return std::make_unique<Vscsi>(std::move(path), kForm2);
                                       }};

}  // namespace mezz
