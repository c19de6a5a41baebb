// SPDX-License-Identifier: Apache-2.0
// The companions of one open database: what they see of it, and how they set its options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "integration/companions/adoc.h"
#include "integration/companions/companion_options.h"
#include "integration/companions/dynamic_level0.h"
#include "integration/companions/watched_families.h"
#include "integration/companions/write_throttle.h"
#include "rocksdb/db.h"

namespace mezz {

// Of flushes of the default column family that ended since the last look.
struct FlushReports {
  uint64_t flushes = 0;
  double speed_sum = 0;  // bytes a second
};

// Not thread-safe. Every call reaches into the database, which must be open.
class DatabaseCompanions {
 public:
  // Refuses databases whose options a companion cannot work with.
  static Status Make(const CompanionOptions& options, rocksdb::DB* db, std::unique_ptr<DatabaseCompanions>* made);

  struct Look {
    bool rate_set = false;
    bool shape_set = false;
    bool flow_set = false;
    int failed = 0;
  };
  // At the database's state, and what follows.
  Look LookAndAct(uint64_t now_ns, const FamilyReports& families, const FlushReports& flushes);
  // The options that were set, as they were.
  void SetBack();

  WriteThrottle::Stage stage() const { return throttle_ ? throttle_->stage() : WriteThrottle::Stage::kFree; }
  DynamicLevel0::Cut cut() const { return level0_ ? level0_->cut() : DynamicLevel0::Cut::kAsOpened; }

 private:
  DatabaseCompanions(rocksdb::DB* db, const rocksdb::Options& opened);

  bool SetRate(uint64_t rate, uint64_t set_now);
  bool SetShape(const Level0Shape& shape);
  bool SetFlow(const AdocSetting& flow, const AdocSetting& now);

  rocksdb::DB* const db_;
  const uint64_t opened_rate_;
  const Level0Shape opened_shape_;
  const std::shared_ptr<rocksdb::Statistics> statistics_;
  std::optional<WriteThrottle> throttle_;
  WatchedFamilies families_;  // the throttle's
  std::optional<DynamicLevel0> level0_;
  const AdocSetting opened_flow_;
  std::optional<Adoc> adoc_;
};

// Of the default column family.
Level0Shape ShapeOf(const rocksdb::ColumnFamilyOptions& options);
// Refuses what the companions cannot work with.
Status CheckDatabase(const CompanionOptions& companions, const rocksdb::DBOptions& db,
                     const rocksdb::ColumnFamilyOptions& family);

}  // namespace mezz
