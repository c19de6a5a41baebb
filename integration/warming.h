// SPDX-License-Identifier: Apache-2.0
// The options by which RocksDB warms a cache with blocks that it has written, and what the report says about warming.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/types.h"
#include "integration/read_back_counts.h"
#include "integration/rocksdb_release.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

namespace mezz {

class HybridStats;
class ReadBack;

using Warming = rocksdb::BlockBasedTableOptions::PrepopulateBlockCache;

// The most warming that this release offers. RocksDB's values are ordered by how much they warm with.
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 1101
inline constexpr Warming kBestWarming = Warming::kFlushAndCompaction;
#else
inline constexpr Warming kBestWarming = Warming::kFlushOnly;
#endif
// Its name in RocksDB's OPTIONS files.
inline constexpr std::string_view kBestWarmingName = kWarmsWithCompactions ? "kFlushAndCompaction" : "kFlushOnly";

// Whether the options keep all blocks of the database out of the SCM tier.
inline bool LeavesScmOut(const rocksdb::DBOptions& options) {
  return options.lowest_used_cache_tier == rocksdb::CacheTier::kVolatileTier;
}

// The options of a block-based table factory, which you may change until a database has it; null for another factory or
// none.
inline rocksdb::BlockBasedTableOptions* TableOptionsOf(const rocksdb::TableFactory* factory) {
  if (factory == nullptr) return nullptr;
  // The cast is sound, because the factory was not made const: RocksDB only passes it as const where it is validated.
  return const_cast<rocksdb::TableFactory*>(factory)->GetOptions<rocksdb::BlockBasedTableOptions>();
}

// What to do for a cache that RocksDB is about to use, without the program's knowledge.
struct CacheHooks {
  // Called before the program's setting, `chosen`, is raised, if that is less than the best. False leaves the setting.
  std::function<bool(const rocksdb::Cache& cache, Warming chosen)> may_warm;
  // The listener for a database that uses the cache; null if it needs none, or if the cache is not ours.
  std::function<std::shared_ptr<rocksdb::EventListener>(const std::shared_ptr<rocksdb::Cache>& cache)> listener;
};

// Raises the warming of a family's tables to the best, if their cache may be warmed. Called when RocksDB validates the
// family's options, before it uses them. If there is no memory it does nothing, and says so once. Thread-safe.
void RaiseWarming(const rocksdb::ColumnFamilyOptions& family, const rocksdb::DBOptions& options,
                  const CacheHooks& hooks) noexcept;
// The options of a database that is about to be opened, with a listener for each cache of its families' tables that
// needs one. Null if they need not change.
std::unique_ptr<rocksdb::DBOptions> WithListeners(const rocksdb::DBOptions& options,
                                                  const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                                  const CacheHooks& hooks) noexcept;

// NewDeadFileListener for a cache that may have no SCM tier yet. stats() is called for each file, and returns null
// until there is a tier. Thread-safe if stats() is.
std::shared_ptr<rocksdb::EventListener> MakeDeadFileListener(std::function<HybridStats*()> stats);
bool HasDeadFileListener(const rocksdb::DBOptions& options);

// What a listener made by MakeFileListener calls, on any thread.
struct FileEvents {
  std::function<void(FileId)> deleted;               // the file was deleted, or will be in any case
  std::function<void()> compaction_begins;           // on the calling thread
  std::function<void(uint64_t bytes)> flushed = {};  // a memtable of so many bytes of keys and values; may be empty
  std::function<ReadBack*()> reader = {};            // what reads back heirs; empty, or returns null, if nothing does
};
std::shared_ptr<rocksdb::EventListener> MakeFileListener(const char* name, FileEvents events);

// Which of the blocks that its databases wrote have reached a cache.
struct WarmingSeen {
  bool heirs = true;                 // the option heirs=
  uint64_t flushed = 0;              // blocks that a flush wrote and offered
  uint64_t compacted = 0;            // blocks that a compaction wrote and offered
  uint64_t read_by_compactions = 0;  // data blocks that compactions looked up
  uint64_t without_scm = 0;          // data blocks of databases that keep their blocks out of the SCM tier
  ReadBackCounts read_back = {};     // what reading back after compactions has done
};
// The line of the report that says whether warming reaches the cache, and what to do if it does not.
std::string WarmingText(const WarmingSeen& seen);

}  // namespace mezz
