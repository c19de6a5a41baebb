// SPDX-License-Identifier: Apache-2.0
// libCacheSim's oracleGeneral: packed little-endian records of 24 bytes: u32 time in seconds, u64 object, u32 size in
// bytes, i64 number of the next request for the object, counted from 1; -1 or 2^63-1 if there is none. Look-ups only.
#include <fmt/format.h>

#include "workloads/readers/bytes.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr size_t kRecordBytes = 24;
constexpr int64_t kRequestsMax = int64_t{1} << 48;  // what says more is damage, or of another byte order

struct Record {
  uint32_t seconds;
  uint64_t object;
  uint32_t bytes;
  int64_t next;
};

Record Load(const uint8_t* from) {
  return {.seconds = LoadAs<uint32_t>(from),
          .object = LoadAs<uint64_t>(from + 4),
          .bytes = LoadAs<uint32_t>(from + 12),
          .next = static_cast<int64_t>(LoadAs<uint64_t>(from + 16))};
}

Record Swapped(const Record& record) {
  return {.seconds = SwapBytes(record.seconds),
          .object = SwapBytes(record.object),
          .bytes = SwapBytes(record.bytes),
          .next = static_cast<int64_t>(SwapBytes(static_cast<uint64_t>(record.next)))};
}

bool IsNext(int64_t next) { return next == -1 || next == INT64_MAX || (next > 0 && next < kRequestsMax); }

class OracleGeneral final : public TraceFile {
 public:
  explicit OracleGeneral(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    const uint8_t* bytes = Take(kRecordBytes, "the last record");
    if (bytes == nullptr) return false;
    const Record record = Load(bytes);
    *request = Request{.key = record.object, .value_bytes = record.bytes, .time_us = record.seconds * 1'000'000ull};
    if (IsNext(record.next)) return true;
    const auto swapped = static_cast<int64_t>(SwapBytes(static_cast<uint64_t>(record.next)));
    return Fail(fmt::format(
        "field next_access_vtime is {}; {}", record.next,
        IsNext(swapped) ? "the records seem to be big-endian, want little-endian" : "want a request's number, or -1"));
  }
};

// Time never goes back and the next access lies ahead: too much for chance over a few records.
// Sorted keys have such records, too. So one must lead to another that is of the same object, or say that there is
// none; and none leads elsewhere.
bool LooksLike(std::string_view head, bool swapped) {
  constexpr size_t kRecordsMin = 4;
  const auto record_at = [&](size_t i) {
    const Record as_it_is = Load(reinterpret_cast<const uint8_t*>(head.data()) + i * kRecordBytes);
    return swapped ? Swapped(as_it_is) : as_it_is;
  };
  const size_t records = head.size() / kRecordBytes;
  uint32_t last_seconds = 0;
  bool proven = false;
  for (size_t i = 0; i < records; ++i) {
    const Record record = record_at(i);
    if (!IsNext(record.next) || record.seconds < last_seconds || record.bytes > kExtentBytesMax) return false;
    last_seconds = record.seconds;
    const bool has_next = record.next != -1 && record.next != INT64_MAX;
    const auto next = static_cast<uint64_t>(record.next);
    if (has_next && next <= i) return false;
    if (has_next && next <= records && record_at(next - 1).object != record.object) return false;
    proven = proven || !has_next || next <= records;
  }
  return records >= kRecordsMin && proven;
}

bool LooksLikeOracleGeneral(std::string_view head) { return LooksLike(head, /*swapped=*/false); }

// Under its name: few records, or damaged ones among those that point to a request. A next access of -1 is the same in
// either byte order.
bool MayBeOracleGeneral(std::string_view head) {
  if (LooksLike(head, /*swapped=*/true)) return false;
  size_t records = 0, sound = 0;
  for (; head.size() >= kRecordBytes; head.remove_prefix(kRecordBytes), ++records)
    sound += IsNext(Load(reinterpret_cast<const uint8_t*>(head.data())).next);
  return records > 0 && 2 * sound >= records;
}

}  // namespace

constexpr TraceFormat kOracleGeneralFormat = {.name = "oracle_general",
                                              .about = "libCacheSim's oracleGeneral",
                                              .kind = TraceFormat::Kind::kBinary,
                                              .file_name_parts = {"oracleGeneral"},
                                              .matches = &LooksLikeOracleGeneral,
                                              .allows_name = &MayBeOracleGeneral,
                                              .make = &MakeReader<OracleGeneral>};

}  // namespace mezz
