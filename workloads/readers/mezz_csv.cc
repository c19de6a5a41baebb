// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/mezz_csv.h"

#include "admission/curves/operation.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/named_csv.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

enum : size_t {
  kKey,
  kOp,
  kKeyBytes,
  kValueBytes,
  kScanLength,
  kBatchLeft,
  kExtentBytes,
  kTime,
  kRole,
  kClient,
  kFamily,
  kLevel,
  kRecorded,
  kNoInsert
};

class MezzCsv final : public NamedCsv {
 public:
  explicit MezzCsv(std::string path)
      : NamedCsv(std::move(path), {{"key", true},
                                   {"op", false},
                                   {"key_bytes", false},
                                   {"value_bytes", false},
                                   {"scan_length", false},
                                   {"batch_left", false},
                                   {"extent_bytes", false},
                                   {"time_us", false},
                                   {"role", false},
                                   {"client", false},
                                   {"column_family", false},
                                   {"level", false},
                                   {"recorded", false},
                                   {"no_insert", false}}) {}

 private:
  bool TakeRow(Row* row) override {
    Request& r = row->request;
    uint64_t extent_bytes = 0, no_insert = 0;
    if (!ParseColumn(kKey, &r.key) || !ParseColumn(kKeyBytes, &r.key_bytes)) return false;
    if (!ParseColumn(kValueBytes, &r.value_bytes) || !ParseColumn(kScanLength, &r.scan_length)) return false;
    if (!ParseColumn(kBatchLeft, &r.batch_left) || !ParseColumn(kTime, &r.time_us)) return false;
    if (!ParseColumn(kClient, &r.client) || !ParseColumn(kFamily, &r.column_family)) return false;
    if (!ParseColumn(kExtentBytes, kExtentBytesMax, &extent_bytes) || !ParseColumn(kNoInsert, 1, &no_insert)) {
      return false;
    }
    if (extent_bytes > UINT64_MAX - r.key) return FailColumn(kExtentBytes, "an extent that ends below 2^64");
    r.extent_bytes = static_cast<uint32_t>(extent_bytes);
    r.no_insert = no_insert != 0;
    return TakeNames(row) && TakeLevel(&r.level);
  }

  bool TakeNames(Row* row) {
    if (!field(kOp).empty()) {
      const std::optional<Operation> operation = ValueOfWord<Operation>(field(kOp));
      if (!operation) return FailColumn(kOp, "get, multiget, put, delete, merge or seek");
      row->request.operation = *operation;
    }
    if (!field(kRole).empty()) {
      const std::optional<BlockRole> role = ValueOfWord<BlockRole>(field(kRole));
      if (!role) return FailColumn(kRole, "data, index, filter, dictionary, blob or other");
      row->request.role = *role;
    }
    const std::string_view recorded = field(kRecorded);
    if (recorded == "hit" || recorded == "miss") {
      row->request.recorded = Recorded::kHit;
      row->misses = recorded == "miss" ? 1 : 0;
    } else if (!recorded.empty() && recorded != "unknown") {
      return FailColumn(kRecorded, "hit, miss or unknown");
    }
    return true;
  }

  bool TakeLevel(int8_t* level) {
    if (field(kLevel) == "-1") return true;
    uint64_t value = 0;
    if (field(kLevel).empty()) return true;
    if (!ParseColumn(kLevel, INT8_MAX, &value)) return false;
    *level = static_cast<int8_t>(value);
    return true;
  }
};

bool LooksLikeMezzCsv(std::string_view head) { return HeaderNames(head, {"key", "op", "extent_bytes"}); }

}  // namespace

constexpr TraceFormat kMezzCsvFormat = {.name = "mezz_csv",
                                        .about = "our own CSV, all a request holds",
                                        .matches = &LooksLikeMezzCsv,
                                        .make = &MakeReader<MezzCsv>};

}  // namespace mezz
