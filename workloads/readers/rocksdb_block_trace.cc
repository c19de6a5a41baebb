// SPDX-License-Identifier: Apache-2.0
// A RocksDB block-cache trace as DB::StartBlockCacheTrace and db_bench --block_cache_trace_file write it, from release
// 6.4 to 11.8 at least (trace_replay/block_cache_tracer.h says what the fields mean). It has no mark at its end, so a
// recording that was killed between two records looks like a finished one.
//
// The key is the XXH3 hash of the block's cache key; what RocksDB calls its block stays one block here, whichever file
// or column family it is in. Every access is a look-up, whoever made it: prefetching and compaction too.
#include <fmt/format.h>

#include <array>

#include "workloads/readers/key_hash.h"
#include "workloads/readers/rocksdb_block_types.h"
#include "workloads/readers/rocksdb_query_trace.h"
#include "workloads/readers/rocksdb_record.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr uint32_t kPayloadMax = 48 << 10;  // a record names two keys and a column family
constexpr std::string_view kRecord = "the last record of an unfinished recording";
constexpr uint32_t kMajorMin = 6, kMajorMax = 99;

enum Caller : uint8_t { kUserGet = 1, kUserMultiGet = 2, kLastCaller = 14 };

class RocksdbBlockTrace final : public TraceFile {
 public:
  explicit RocksdbBlockTrace(std::string path) : TraceFile(std::move(path)) {}

  Status Rewind() override {
    has_header_ = false;
    return TraceFile::Rewind();
  }

  bool Next(Request* request) override {
    if (!has_header_ && !TakeHeader()) return false;
    const uint8_t* head_bytes = Take(RocksdbRecordHead::kBytes, kRecord);
    if (head_bytes == nullptr) return false;
    const RocksdbRecordHead head(head_bytes);
    const std::optional<BlockRole> role = RoleOfTraceType(head.type);
    if (!role) return FailOnType(head.type);
    const uint8_t* payload = TakePayload(head);
    if (payload == nullptr) return false;
    *request = Request{.time_us = head.time_us, .role = *role};
    return TakeAccess(head, RocksdbFields(payload, head.payload_bytes), request);
  }

  // A trace is nothing without its header.
  bool SkipDamaged() override { return has_header_ && TraceFile::SkipDamaged(); }

 private:
  bool TakeHeader() {
    const uint8_t* head_bytes = Take(RocksdbRecordHead::kBytes, "the header");
    if (head_bytes == nullptr) return status().ok() && Fail("there is no header");
    const RocksdbRecordHead head(head_bytes);
    if (head.type != kRocksdbBegin) {
      return Fail(fmt::format("field type of the header is {}, not {}: this is no RocksDB trace", head.type,
                              int{kRocksdbBegin}));
    }
    if (head.IsOfOtherByteOrder(kPayloadMax)) {
      return Fail("field payload length of the header has the other byte order: RocksDB's traces are little-endian");
    }
    const uint8_t* payload = TakePayload(head);
    if (payload == nullptr) return status().ok() && Fail("field magic of the header is cut short");
    return CheckHeader({reinterpret_cast<const char*>(payload), head.payload_bytes});
  }

  bool CheckHeader(std::string_view payload) {
    if (payload.starts_with(kRocksdbTraceMagic)) {
      return Fail("the header is of a RocksDB query trace, not a block-cache trace; use --format=rocksdb_query");
    }
    RocksdbFields fields(reinterpret_cast<const uint8_t*>(payload.data()), payload.size());
    if (fields.Bytes("magic") != kRocksdbTraceMagic) {
      return Fail("field magic of the header is wrong: this is no RocksDB trace");
    }
    major_ = fields.Fixed<uint32_t>("RocksDB major version");
    minor_ = fields.Fixed<uint32_t>("RocksDB minor version");
    if (!fields.cut().empty()) return Fail(fmt::format("field {} of the header is cut short", fields.cut()));
    if (major_ < kMajorMin || major_ > kMajorMax) {
      return Fail(
          fmt::format("the header names RocksDB {}.{}; traces of another version than 6.4 to 11.8 and later "
                      "ones of their format cannot be read",
                      major_, minor_));
    }
    has_header_ = true;
    return true;
  }

  const uint8_t* TakePayload(const RocksdbRecordHead& head) {
    if (head.payload_bytes > kPayloadMax) {
      FailForTheRest(
          fmt::format("field payload length is {}; it goes up to {} bytes", head.payload_bytes, kPayloadMax));
      return nullptr;
    }
    const uint8_t* payload = Take(head.payload_bytes, kRecord);
    if (payload == nullptr && status().ok()) FailForTheRest(fmt::format("{} has no payload", kRecord));
    return payload;
  }

  bool TakeAccess(const RocksdbRecordHead& head, RocksdbFields fields, Request* request) {
    request->key = HashKey(fields.Bytes("block key"));
    const auto block_bytes = fields.Fixed<uint64_t>("block size");
    const auto family = fields.Fixed<uint64_t>("column family");
    fields.Bytes("column family's name");
    const auto level = fields.Fixed<uint32_t>("level");
    fields.Fixed<uint64_t>("file number");
    const auto caller = fields.Fixed<uint8_t>("caller");
    const auto is_hit = fields.Fixed<uint8_t>("is_cache_hit");
    const auto no_insert = fields.Fixed<uint8_t>("no_insert");
    if (caller == kUserGet || caller == kUserMultiGet) {
      fields.Fixed<uint64_t>("get id");
      fields.Fixed<uint8_t>("get_from_user_specified_snapshot");
      fields.Bytes("referenced key");
      if (request->role == BlockRole::kData) {
        fields.Fixed<uint64_t>("referenced data size");
        fields.Fixed<uint64_t>("keys in block");
        fields.Fixed<uint8_t>("referenced_key_exist_in_block");
      }
    }
    if (!fields.cut().empty() || fields.left() > 0) return FailOnLength(head, fields);
    if (block_bytes > UINT32_MAX) return FailOnValue("block size", block_bytes);
    if (family > UINT32_MAX) return FailOnValue("column family", family);
    if (caller == 0 || caller > kLastCaller) return FailOnValue("caller", caller);
    if (is_hit > 1) return FailOnValue("is_cache_hit", is_hit);
    if (no_insert > 1) return FailOnValue("no_insert", no_insert);
    request->value_bytes = static_cast<uint32_t>(block_bytes);
    request->column_family = static_cast<uint32_t>(family);
    request->level = static_cast<int8_t>(level > INT8_MAX ? -1 : static_cast<int>(level));
    request->recorded = is_hit != 0 ? Recorded::kHit : Recorded::kMiss;
    request->no_insert = no_insert != 0;
    return true;
  }

  bool FailOnType(uint8_t type) {
    if (type == kRocksdbIo) return Fail("this is a RocksDB I/O trace, not a block-cache trace");
    return Fail(fmt::format("field type is {}; block accesses go from 7 to 11", type));
  }
  bool FailOnLength(const RocksdbRecordHead& head, const RocksdbFields& fields) {
    const std::string what = fields.cut().empty() ? fmt::format("{} bytes follow its last field", fields.left())
                                                  : fmt::format("field {} is cut short", fields.cut());
    return Fail(
        fmt::format("record of {} bytes: {}; damage, or a format newer than this reader (the file is of "
                    "RocksDB {}.{})",
                    head.payload_bytes, what, major_, minor_));
  }
  bool FailOnValue(std::string_view field, uint64_t value) {
    return Fail(fmt::format("field {} is {}, which cannot be", field, value));
  }

  bool has_header_ = false;
  uint32_t major_ = 0;
  uint32_t minor_ = 0;
};

bool HasBegin(std::string_view head) { return head.size() > RocksdbRecordHead::kBytes && head[8] == kRocksdbBegin; }

bool LooksLikeRocksdbBlockTrace(std::string_view head) {
  constexpr char kMagicBytes = kRocksdbTraceMagic.size();
  return HasBegin(head) && head[RocksdbRecordHead::kBytes] == kMagicBytes &&
         head.substr(RocksdbRecordHead::kBytes + 1).starts_with(kRocksdbTraceMagic);
}

bool LooksLikeRocksdbQueryTrace(std::string_view head) {
  return HasBegin(head) && head.substr(RocksdbRecordHead::kBytes).starts_with(kRocksdbTraceMagic);
}

}  // namespace

constexpr TraceFormat kRocksdbBlockFormat = {.name = "rocksdb_block",
                                             .about = "RocksDB block-cache trace",
                                             .kind = TraceFormat::Kind::kBinary,
                                             .matches = &LooksLikeRocksdbBlockTrace,
                                             .make = &MakeReader<RocksdbBlockTrace>};
constexpr TraceFormat kRocksdbQueryFormat = {.name = "rocksdb_query",
                                             .about = "RocksDB query trace",
                                             .kind = TraceFormat::Kind::kBinary,
                                             .matches = &LooksLikeRocksdbQueryTrace,
                                             .make = &MakeRocksdbQueryTrace};

}  // namespace mezz
