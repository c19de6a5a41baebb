// SPDX-License-Identifier: Apache-2.0
// Meta's key-value cache traces as CacheLib publishes them (kvcache/202206 and later): columns by name, a row stands
// for op_count operations on one key, one if there is no such column (so CacheLib's KVReplayGenerator reads it). Keys
// are text and hashed. A lease is a get or set. Where the row says cache_hits, the misses come before the hits.
#include <algorithm>

#include "workloads/readers/key_hash.h"
#include "workloads/readers/named_csv.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

enum : size_t { kTime, kKey, kKeySize, kOp, kOpCount, kSize, kHits };

class MetaKvCsv final : public NamedCsv {
 public:
  explicit MetaKvCsv(std::string path)
      : NamedCsv(std::move(path), {{"op_time", false},
                                   {"key", true},
                                   {"key_size", false},
                                   {"op", true},
                                   {"op_count", false},
                                   {"size", true},
                                   {"cache_hits", false}}) {}

 private:
  bool TakeRow(Row* row) override {
    Request& request = row->request;
    uint64_t seconds = 0, hits = UINT64_MAX;
    if (!ParseColumn(kTime, UINT64_MAX / 1'000'000, &seconds)) return false;
    if (!ParseColumn(kKeySize, &request.key_bytes) || !ParseColumn(kSize, &request.value_bytes)) return false;
    if (!ParseColumn(kOpCount, kRowCountMax, &row->count) || !ParseColumn(kHits, &hits)) return false;
    if (!TakeOperation(&request.operation)) return false;
    request.key = HashKey(field(kKey));
    request.time_us = seconds * 1'000'000;
    if (request.operation == Operation::kGet && hits != UINT64_MAX) {
      request.recorded = Recorded::kHit;
      row->misses = row->count - std::min(row->count, hits);
    }
    return true;
  }

  bool TakeOperation(Operation* operation) {
    const std::string_view op = field(kOp);
    if (op == "GET" || op == "GET_LEASE") {
      *operation = Operation::kGet;
    } else if (op == "SET" || op == "SET_LEASE") {
      *operation = Operation::kPut;
    } else if (op == "DELETE") {
      *operation = Operation::kDelete;
    } else {
      return FailColumn(kOp, "GET, GET_LEASE, SET, SET_LEASE or DELETE");
    }
    return true;
  }
};

// CacheLib wants key, op and size; a file with no more than these may be anybody's CSV, which is read alike.
bool LooksLikeMetaKvCsv(std::string_view head) {
  if (!HeaderNames(head, {"key", "op", "size"})) return false;
  return HeaderNames(head, {"op_count"}) || HeaderNames(head, {"cache_hits"}) || HeaderNames(head, {"sub_usecase"});
}

}  // namespace

constexpr TraceFormat kMetaKvFormat = {.name = "meta_kv_csv",
                                       .about = "Meta's key-value cache CSV",
                                       .matches = &LooksLikeMetaKvCsv,
                                       .make = &MakeReader<MetaKvCsv>};

}  // namespace mezz
