// SPDX-License-Identifier: Apache-2.0
// The hybrid block cache as RocksDB sees it. One header for every supported release (7.8, and 8.9 to 11.x).
#pragma once

#include <memory>
#include <string_view>

#include "cache/status.h"
#include "integration/hybrid_stats.h"
#include "integration/options.h"
#include "rocksdb/cache.h"
#include "rocksdb/secondary_cache.h"

namespace mezz {

// Makes a hybrid cache, for table_options.block_cache. Column families and databases may share one. Destroy it after
// the last of them. As thread-safe as rocksdb::Cache.
//
// SetCapacity sets the size of the DRAM tier, and GetCapacity returns it. With dram_total, SetCapacity changes the
// total too: to the tier's new size plus what is charged for our own structures. The tier still shrinks when these
// grow.
Status NewHybridCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache);

// Makes a hybrid cache of a DRAM cache that exists. Its kind and size stay, and options.dram_* are ignored, except that
// dram_total_bytes resizes it. `dram` must be a stock LRUCache or HyperClockCache, have no secondary cache, and not be
// in use yet. From RocksDB 8.9 on.
Status WrapCache(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options,
                 std::shared_ptr<rocksdb::Cache>* cache);

// Gives a database, or a column family, a cache of its own that shares the tiers of `cache`, which is a hybrid cache:
// for the block_cache of that database's table options. It has a share of either tier (DatabaseLimits) under this name,
// and counts for itself. The blocks that a database of this name left on the medium, in an earlier process too, are in
// its share again. Use one for each database: what two of them insert under one key is not kept apart.
//
// A share has whole segments, two of them open at a time. So a tier needs at least four segments for each. There are at
// most kSharesMax - 1.
//
// `*view` keeps `cache` alive. When it is destroyed its DRAM tier goes to the others, and its blocks in the SCM tier
// stay, without limits, until they are reclaimed. HybridStats of a view tells the whole cache's figures, except that
// Counters() are its own; SetCapacity of a view does nothing.
//
// Errors: another cache than a hybrid one; a name that is empty or taken; limits that contradict themselves or those of
// other databases; too few segments.
Status ForDatabase(const std::shared_ptr<rocksdb::Cache>& cache, std::string_view name, const DatabaseLimits& limits,
                   std::shared_ptr<rocksdb::Cache>* view);

// Makes the SCM tier alone, for LRUCacheOptions::secondary_cache of a stock LRUCache (or, from 8.9, HyperClockCache).
// Hits are copied, because that interface cannot serve in place.
Status NewScmSecondaryCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::SecondaryCache>* cache);

}  // namespace mezz
