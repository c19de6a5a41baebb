// SPDX-License-Identifier: Apache-2.0
// libCacheSim's lcs (libCacheSim/traceReader/customizedReader/lcs.h), packed and little-endian: a header of 8,192 bytes
// that begins and ends with a magic word, the version in its second word; then records:
//
//   1       u32 seconds, u64 object, u32 bytes, i64 next
//   2       u32 seconds, u64 object, u32 bytes, u8 op, u24 tenant, i64 next
//   3       u32 seconds, u64 object, i64 bytes, u8 op, u24 tenant, u32 ttl, i64 next
//   4 to 8  as 3, and 1, 2, 4, 8 or 16 u32 features behind it
//
// An older form has a header of 1,024 bytes with the same magic word and a list of its fields; it is named and not
// read.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "workloads/readers/bytes.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr uint64_t kMagic = 0x123456789abcdef0;
constexpr size_t kHeaderBytes = 8192, kVersionAt = 8, kEndMagicAt = kHeaderBytes - 8;
constexpr size_t kOldHeaderBytes = 1024, kOldEndMagicAt = kOldHeaderBytes - 8;
constexpr uint64_t kVersions = 8;
constexpr std::array<size_t, kVersions + 1> kRecordBytes = {0, 24, 28, 36, 40, 44, 52, 68, 100};

// libCacheSim's req_op_e.
std::optional<Operation> OperationOf(uint8_t op) {
  constexpr Operation kOperations[] = {Operation::kGet,   Operation::kGet,    Operation::kGet,   Operation::kPut,
                                       Operation::kPut,   Operation::kPut,    Operation::kPut,   Operation::kMerge,
                                       Operation::kMerge, Operation::kDelete, Operation::kMerge, Operation::kMerge,
                                       Operation::kGet,   Operation::kPut,    Operation::kPut};
  return op < std::size(kOperations) ? std::optional(kOperations[op]) : std::nullopt;
}

class Lcs final : public TraceFile {
 public:
  explicit Lcs(std::string path) : TraceFile(std::move(path)) {}

  Status Rewind() override {
    version_ = 0;
    return TraceFile::Rewind();
  }

  bool Next(Request* request) override {
    if (version_ == 0 && !TakeHeader()) return false;
    const uint8_t* record = Take(kRecordBytes[version_], "the last record");
    if (record == nullptr) return false;
    *request = Request{.key = LoadAs<uint64_t>(record + 4), .time_us = LoadAs<uint32_t>(record) * 1'000'000ull};
    const uint64_t bytes = version_ < 3 ? LoadAs<uint32_t>(record + 12) : LoadAs<uint64_t>(record + 12);
    if (bytes > UINT32_MAX) return Fail(fmt::format("field obj_size is {}; want up to {}", bytes, UINT32_MAX));
    request->value_bytes = static_cast<uint32_t>(bytes);
    if (version_ == 1) return true;
    const uint32_t op = LoadAs<uint32_t>(record + (version_ == 2 ? 16 : 20));
    const std::optional<Operation> operation = OperationOf(static_cast<uint8_t>(op));
    if (!operation) return Fail(fmt::format("field op is {}; want 0 to 14", op & 0xff));
    request->operation = *operation;
    request->client = op >> 8;
    return true;
  }

 private:
  bool TakeHeader() {
    const uint8_t* header = Take(kHeaderBytes, "the header");
    if (header == nullptr) {
      if (!status().ok()) FailForGood("the header of lcs is cut short");
      return false;
    }
    if (LoadAs<uint64_t>(header) != kMagic) return FailForGood("it does not begin with lcs's magic word");
    if (LoadAs<uint64_t>(header + kEndMagicAt) != kMagic) {
      return FailForGood(LoadAs<uint64_t>(header + kOldEndMagicAt) == kMagic
                             ? "this is the older form of lcs, with a list of fields in 1,024 bytes; convert it with "
                               "libCacheSim's traceConv"
                             : "lcs's header does not end with its magic word");
    }
    const auto version = LoadAs<uint64_t>(header + kVersionAt);
    if (version == 0 || version > kVersions)
      return FailForGood(fmt::format("this is version {} of lcs; 1 to {} are read", version, kVersions));
    version_ = version;
    return true;
  }

  uint64_t version_ = 0;
};

bool LooksLikeLcs(std::string_view head) { return head.size() >= 8 && LoadAs<uint64_t>(head.data()) == kMagic; }

}  // namespace

constexpr TraceFormat kLcsFormat = {.name = "lcs",
                                    .about = "libCacheSim's lcs, versions 1 to 8",
                                    .kind = TraceFormat::Kind::kBinary,
                                    .matches = &LooksLikeLcs,
                                    .make = &MakeReader<Lcs>};

}  // namespace mezz
