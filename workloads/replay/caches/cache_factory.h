// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cache/media/model.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/listener.h"
#include "workloads/replay/caches/memkind_allocator.h"
#include "workloads/replay/caches/options.h"
#include "workloads/requests/progress.h"

namespace mezz {

// Where a cache's hits beyond DRAM come from, and so how they are counted and charged.
enum class SecondTier {
  kNone,        // DRAM only
  kStock,       // a CompressedSecondaryCache standing for SCM
  kWholeCache,  // the whole cache lies in SCM (naive_scm)
  kOurs,        // an ScmTier: counts and throttles itself
};

// One cache under test. Destroy it after the databases that use it.
struct BuiltCache {
  CacheSpec spec;
  std::string unavailable;  // why this build or this RocksDB has no such cache; empty: `cache` is set
  std::shared_ptr<rocksdb::Cache> cache;

  SecondTier second_tier = SecondTier::kNone;
  HybridStats* stats = nullptr;  // kOurs
  // kOurs: for its databases, so that it learns which files they delete. Null: it is not to.
  std::shared_ptr<rocksdb::EventListener> listener;
  std::shared_ptr<MemkindAllocator> allocator;  // kWholeCache
  std::shared_ptr<Throttle> throttle;           // kStock, kWholeCache under a model: the runner charges it

  std::string medium = "DRAM";
  bool emulated = false;
  bool buffered = false;  // its database reads through the page cache
  // What caches of its kind have in this run, where it has other shards because they are better for it; 0: it has not.
  unsigned dram_shards_usual = 0;

  BuiltCache() = default;
  BuiltCache(BuiltCache&& other) noexcept { *this = std::move(other); }
  BuiltCache& operator=(BuiltCache&&) noexcept;
  ~BuiltCache();

  // Of the DRAM tier, as RocksDB tells; 0: it does not.
  unsigned dram_shards() const;
  // The SCM file, if it was not there before: removed with the cache.
  const std::vector<std::string>& files_to_remove() const { return files_to_remove_; }

 private:
  friend Status BuildByKind(const ReplayOptions&, const CacheSpec&, unsigned, Progress*, BuiltCache*);
  std::shared_ptr<rocksdb::SecondaryCache> secondary_;  // keeps `stats` alive
  std::vector<std::string> files_to_remove_;
};

// Builds the cache that `spec` names at its own sizes or those of `options`. `ordinal` counts the caches with an SCM
// file: each but the first gets a file of its own beside scm_path. A cache that cannot be had here is not an error, bad
// options are.
Status BuildCache(const ReplayOptions& options, const CacheSpec& spec, unsigned ordinal, Progress* progress,
                  BuiltCache* built);

// True if the cache puts an SCM file at scm_path.
bool UsesScmFile(const CacheSpec& spec);

}  // namespace mezz
