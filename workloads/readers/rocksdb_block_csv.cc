// SPDX-License-Identifier: Apache-2.0
// A RocksDB block-cache trace as its analyzer writes it for people (--human_readable_trace_file_path,
// BlockCacheHumanReadableTraceWriter in trace_replay/block_cache_tracer.cc): 21 columns, no header. The key is the
// number that the analyzer gave the block. Every access is a look-up, whoever made it. A block whose size changes is
// data: each request has the size of its record. A column family's name may hold commas.
#include <fmt/format.h>

#include "workloads/readers/fields.h"
#include "workloads/readers/rocksdb_block_types.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr size_t kFields = 21;
constexpr auto kFieldNames = [] {
  std::array<std::string_view, kFields> names;
  SplitFields(
      "access_timestamp,block_id,block_type,block_size,cf_id,cf_name,level,sst_fd_number,caller,no_insert,get_id,"
      "get_key_id,referenced_data_size,is_cache_hit,referenced_key_exist_in_block,num_keys_in_block,table_id,"
      "sequence_number,block_key_size,referenced_key_size,block_offset",
      ',', &names);
  return names;
}();
// Those that are used.
enum : size_t { kTime, kBlock, kType, kSize, kFamily, kFamilyName, kLevel, kNoInsert = 9, kHit = 13, kKeyExists };

constexpr uint64_t MaxOf(size_t field) {
  switch (field) {
    case kSize:
    case kFamily:
    case kLevel:
      return UINT32_MAX;
    case kNoInsert:
    case kHit:
    case kKeyExists:
      return 1;
    default:
      return UINT64_MAX;
  }
}

class RocksdbBlockCsv final : public TraceFile {
 public:
  explicit RocksdbBlockCsv(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    std::string_view line;
    if (!TakeFilledLine(&line)) return false;
    std::array<std::string_view, kFields> fields;
    if (!SplitAround(line, ',', kFamilyName, &fields)) {
      return Fail(fmt::format("fewer than {} fields in \"{}\"", kFields, Shown(line)));
    }
    std::array<uint64_t, kFields> values{};
    for (size_t i = 0; i < kFields; ++i) {
      if (i != kFamilyName && !ParseField(kFieldNames[i], fields[i], MaxOf(i), &values[i])) return false;
    }
    return TakeValues(values, request);
  }

 private:
  bool TakeValues(const std::array<uint64_t, kFields>& values, Request* request) {
    const std::optional<BlockRole> role = RoleOfTraceType(values[kType]);
    if (!role) return Fail(fmt::format("field block_type is {}; it goes from 7 to 11", values[kType]));
    *request = Request{.key = values[kBlock],
                       .value_bytes = static_cast<uint32_t>(values[kSize]),
                       .time_us = values[kTime],
                       .role = *role,
                       .column_family = static_cast<uint32_t>(values[kFamily]),
                       .level = static_cast<int8_t>(values[kLevel] > INT8_MAX ? -1 : static_cast<int>(values[kLevel])),
                       .recorded = values[kHit] != 0 ? Recorded::kHit : Recorded::kMiss,
                       .no_insert = values[kNoInsert] != 0};
    return true;
  }
};

bool LooksLikeRocksdbBlockCsv(std::string_view head) {
  return FirstLinesAre(head, [](std::string_view line) {
    std::array<std::string_view, kFields> fields;
    if (!SplitAround(line, ',', kFamilyName, &fields)) return false;
    fields[kFamilyName] = "0";  // may be any text
    return std::ranges::all_of(fields, IsNumber);
  });
}

}  // namespace

constexpr TraceFormat kRocksdbBlockCsvFormat = {.name = "rocksdb_block_csv",
                                                .about = "RocksDB block-cache trace, the analyzer's 21-column CSV",
                                                .matches = &LooksLikeRocksdbBlockCsv,
                                                .make = &MakeReader<RocksdbBlockCsv>};

}  // namespace mezz
