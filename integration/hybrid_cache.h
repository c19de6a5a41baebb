// SPDX-License-Identifier: Apache-2.0
// The hybrid block cache as RocksDB sees it. One header for every supported release (7.8, and 8.9 to 11.x).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "admission/curves/curve.h"
#include "admission/decision_counters.h"
#include "cache/counters.h"
#include "cache/scm_tier.h"
#include "cache/status.h"
#include "integration/dram_budget.h"
#include "integration/metrics.h"
#include "integration/options.h"
#include "rocksdb/cache.h"
#include "rocksdb/secondary_cache.h"

namespace mezz {

// Makes a hybrid cache: table_options.block_cache = cache. Share one among column families and databases. Destroy it
// after the last of them. Thread-safe as rocksdb::Cache is.
//
// SetCapacity sets the DRAM tier, which GetCapacity tells. With dram_total the total follows: it is then what the tier
// was given and what was charged for our own structures, and the tier goes on giving way to them.
Status NewHybridCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache);

// As above over a DRAM cache that exists: its kind and size are taken from it, options.dram_* are ignored; but with
// dram_total_bytes it is resized. `dram` must be a stock LRUCache or HyperClockCache without a secondary cache, not yet
// in use by anyone; from 8.9 on.
Status WrapCache(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options,
                 std::shared_ptr<rocksdb::Cache>* cache);

// The SCM tier under a stock LRUCache (or, from 8.9, HyperClockCache): LRUCacheOptions::secondary_cache.
// Hits are copied out: the interface cannot serve in place.
Status NewScmSecondaryCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::SecondaryCache>* cache);

class ReadBack;

// What a hybrid cache or an ScmSecondaryCache knows about itself. Null if `cache` is neither.
class HybridStats {
 public:
  virtual ~HybridStats() = default;
  virtual CounterSnapshot Counters() const = 0;
  // What the policy answered, by point, action, reason and role.
  virtual DecisionSnapshot Decisions() const = 0;
  virtual std::string Report() const = 0;
  // All of that and the rest of the figures, as monitoring has them (`metrics=`): MetricsText makes the text. With
  // curve=on it takes up to some seconds now and then.
  virtual MetricFamilies Metrics() const = 0;
  // To look at; what changes it goes through the cache.
  virtual const ScmTier& scm() const = 0;
  // Our own DRAM beside the DRAM tier, now.
  virtual DramUse Dram() const = 0;
  // Bytes of the medium in use from now on; at most what it was opened with.
  virtual Status SetScmCapacity(uint64_t bytes) = 0;
  // The policy that decides now, and another from now on: at any time, under any load. Blocks stay where they are. A
  // policy that was replaced is kept (so its memory is, until the cache goes), and remembers what it knew when it comes
  // back. Refuses unknown names, listing the known.
  virtual std::string_view PolicyName() const = 0;
  virtual Status SetPolicy(std::string_view name) = 0;
  // Hit ratios at other sizes, of a cache with curve=on: HybridCore::MakeCurve. DumpCurve writes them to a file that
  // `mezz_plan --curve=` reads.
  virtual Status MakeCurve(plan::Curve* curve) const = 0;
  virtual Status DumpCurve(const std::string& path) const = 0;
  // Whether blocks inherit what RocksDB's warming offers (HybridCacheOptions::heirs). Never under a stock cache.
  virtual bool TakesHeirs() const = 0;
  // A hint that the file is deleted: ScmTier::ForgetFile. NewDeadFileListener (dead_file_listener.h) gives them.
  virtual void ForgetFile(FileId file) = 0;
  // What reads heirs back after a compaction; null: nothing does. For the listener.
  virtual ReadBack* read_back() { return nullptr; }
};
HybridStats* GetHybridStats(rocksdb::Cache* cache);
HybridStats* GetHybridStats(rocksdb::SecondaryCache* cache);

}  // namespace mezz
