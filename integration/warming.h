// SPDX-License-Identifier: Apache-2.0
// Which of RocksDB's options warm a cache with what was written, and what a running program is told about it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/types.h"
#include "integration/read_back.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

namespace mezz {

class HybridStats;

using Warming = rocksdb::BlockBasedTableOptions::PrepopulateBlockCache;

// The most that this release has. RocksDB's values are in the order of what they warm with.
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 1101
inline constexpr bool kWarmsWithCompactions = true;
inline constexpr Warming kBestWarming = Warming::kFlushAndCompaction;
#else
inline constexpr bool kWarmsWithCompactions = false;
inline constexpr Warming kBestWarming = Warming::kFlushOnly;
#endif
// As RocksDB's option files have it.
inline constexpr std::string_view kBestWarmingName = kWarmsWithCompactions ? "kFlushAndCompaction" : "kFlushOnly";

// A database of which nothing can lie in the SCM tier.
inline bool LeavesScmOut(const rocksdb::DBOptions& options) {
  return options.lowest_used_cache_tier == rocksdb::CacheTier::kVolatileTier;
}

// The options of a block-based table factory, to read or to change before a database has it; null if it is another
// kind, or none.
inline rocksdb::BlockBasedTableOptions* TableOptionsOf(const rocksdb::TableFactory* factory) {
  if (factory == nullptr) return nullptr;
  // Who made the factory did not make it const: RocksDB gives it out so where it is judged.
  return const_cast<rocksdb::TableFactory*>(factory)->GetOptions<rocksdb::BlockBasedTableOptions>();
}

// What is to be had of a cache that RocksDB is about to use. The program knows nothing of it.
struct CacheHooks {
  // Called with the setting that the program chose, which is less than the best, before it is raised: false leaves it.
  std::function<bool(const rocksdb::Cache& cache, Warming chosen)> may_warm;
  // The listener for a database that has the cache; null: none, or it is not ours.
  std::function<std::shared_ptr<rocksdb::EventListener>(const std::shared_ptr<rocksdb::Cache>& cache)> listener;
};

// RocksDB judges a family's options before it uses them: raises the warming of its tables to the best, if the cache may
// be warmed. Without memory nothing is done, which is told once. Thread-safe.
void RaiseWarming(const rocksdb::ColumnFamilyOptions& family, const rocksdb::DBOptions& options,
                  const CacheHooks& hooks) noexcept;
// A database is about to be opened: its options with a listener for each cache of the families' tables that wants one.
// Null: as they are.
std::unique_ptr<rocksdb::DBOptions> WithListeners(const rocksdb::DBOptions& options,
                                                  const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                                  const CacheHooks& hooks) noexcept;

// As NewDeadFileListener, for a cache that may have no SCM tier yet: stats() is then null, and is asked at each file.
// Thread-safe, if stats() is.
std::shared_ptr<rocksdb::EventListener> MakeDeadFileListener(std::function<HybridStats*()> stats);
bool HasDeadFileListener(const rocksdb::DBOptions& options);

// The same for whoever wants to know; any thread calls.
struct FileEvents {
  std::function<void(FileId)> deleted;      // a file was, or is as good as
  std::function<void()> compaction_begins;  // on the calling thread
  std::function<ReadBack*()> reader = {};   // reads back what compactions have written; empty or null: nobody does
};
std::shared_ptr<rocksdb::EventListener> MakeFileListener(const char* name, FileEvents events);

// What has reached a cache of what its databases wrote.
struct WarmingSeen {
  bool heirs = true;                 // the option
  uint64_t flushed = 0;              // blocks that a flush wrote and offered
  uint64_t compacted = 0;            // blocks that a compaction did
  uint64_t read_by_compactions = 0;  // look-ups of data blocks
  uint64_t without_scm = 0;          // data blocks that came as those of a database that leaves the SCM tier out
  ReadBackCounts read_back = {};     // after compactions
};
// The report's line: whether warming reaches the cache, and what to do if it does not.
std::string WarmingText(const WarmingSeen& seen);

}  // namespace mezz
