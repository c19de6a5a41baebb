// SPDX-License-Identifier: Apache-2.0
// What a hybrid cache tells of itself, and what of it can be changed while it runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/curve.h"
#include "admission/decision_counters.h"
#include "cache/counters.h"
#include "cache/scm_tier.h"
#include "cache/status.h"
#include "integration/database_shares.h"
#include "integration/dram_budget.h"
#include "integration/metrics.h"
#include "integration/options.h"
#include "rocksdb/cache.h"
#include "rocksdb/secondary_cache.h"

namespace mezz {

class ReadBack;

// What a hybrid cache or an ScmSecondaryCache knows about itself. GetHybridStats, below, is null for any other cache.
// Thread-safe; it lives as long as the cache.
class HybridStats {
 public:
  virtual ~HybridStats() = default;
  virtual CounterSnapshot Counters() const = 0;
  // The policy's decisions, counted by point, action, reason and role.
  virtual DecisionSnapshot Decisions() const = 0;
  virtual std::string Report() const = 0;
  // All figures, as monitoring gets them (`metrics=`); MetricsText makes text of them. With curve=on a call takes up to
  // some seconds now and then.
  virtual MetricFamilies Metrics() const = 0;
  // The SCM tier, to look at. Changes go through the cache.
  virtual const ScmTier& scm() const = 0;
  // The DRAM that our own structures take now, beside the DRAM tier.
  virtual DramUse Dram() const = 0;
  // Sets how many bytes of the medium are used from now on; at most what it was opened with.
  virtual Status SetScmCapacity(uint64_t bytes) = 0;
  // The same of one of several media: that which the report calls medium.NUMBER. Its blocks move to the others
  // (ScmTier::SetMemberCapacity).
  virtual Status SetMediumCapacity(size_t number, uint64_t bytes) = 0;
  // PolicyName tells the policy that decides now. SetPolicy replaces it, at any time and under any load; blocks stay
  // where they are. A replaced policy keeps its memory until the cache is destroyed, so it remembers what it knew if it
  // is set again. Refuses an unknown name, and lists the known ones.
  virtual std::string_view PolicyName() const = 0;
  virtual Status SetPolicy(std::string_view name) = 0;
  // MakeCurve gives the hit ratios at other sizes, for a cache with curve=on (CacheCurve::Make). DumpCurve writes them
  // to a file that `mezz_plan --curve=` reads.
  virtual Status MakeCurve(plan::Curve* curve) const = 0;
  virtual Status DumpCurve(const std::string& path) const = 0;
  // Whether blocks that RocksDB's warming offers are kept by what is known of their parents
  // (HybridCacheOptions::heirs). Always false under a stock cache.
  virtual bool TakesHeirs() const = 0;
  // Gives the hint that the file is deleted (ScmTier::ForgetFile). NewDeadFileListener (dead_file_listener.h) makes
  // what calls it.
  virtual void ForgetFile(FileId file) = 0;
  // Tells the size of a memtable that was flushed; likewise.
  virtual void NoteFlush(uint64_t /*bytes*/) {}
  // The databases that share the cache, the rest first; empty if there is none.
  virtual std::vector<DatabaseFigures> SharedBy() const { return {}; }
  // Changes the limits of the database whose cache this is. Refuses what ForDatabase refuses, and any other cache.
  virtual Status SetDatabaseLimits(const DatabaseLimits& limits);
  // ForDatabase. `self` is the cache whose figures these are. `own_dram`, a stock cache that is not in use yet, is the
  // DRAM tier if it is not null; it then keeps its size, and limits.dram do not count.
  virtual Status MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                                   const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                                   std::shared_ptr<rocksdb::Cache>* view);
  // What reads heirs back after a compaction, for the listener; null if nothing does.
  virtual ReadBack* read_back() { return nullptr; }
};
HybridStats* GetHybridStats(rocksdb::Cache* cache);
HybridStats* GetHybridStats(rocksdb::SecondaryCache* cache);

}  // namespace mezz
