// SPDX-License-Identifier: Apache-2.0
#include "integration/warming.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "cache/base/if_memory.h"
#include "integration/rocksdb_release.h"
#include "integration/tell.h"

namespace mezz {
namespace {

// So few look-ups may be of compactions that wrote nothing: all was deleted.
constexpr uint64_t kReadsToJudgeMin = 64;

void TellOnce(std::string_view sentence) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true, std::memory_order_relaxed)) Tell(sentence);
}

std::string WhatToSet() {
  return fmt::format("set prepopulate_block_cache={} (mezz::UseHybridCache does)", kBestWarmingName);
}

std::string ReadBackText(const ReadBackCounts& back) {
  if (back.files + back.dropped + back.skipped == 0) {
    return "nothing was read back after a compaction, which needs the listener for deleted files (mezz::UseHybridCache "
           "adds it)";
  }
  const std::string skipped =
      back.skipped == 0
          ? ""
          : fmt::format("; {} compactions were not read back, as few of such blocks were asked for", back.skipped);
  return fmt::format(
      "{} blocks of {} files were read back after compactions, by {} reads of {} bytes ({} failed, {} left out){}",
      back.blocks, back.files, back.reads, back.bytes, back.failed, back.dropped, skipped);
}

}  // namespace

// A factory that open databases use is not written to again: its warming is the best by then.
void RaiseWarming(const rocksdb::ColumnFamilyOptions& family, const rocksdb::DBOptions& options,
                  const CacheHooks& hooks) noexcept {
  const bool done = IfThereIsMemory([&] {
    rocksdb::BlockBasedTableOptions* const table = TableOptionsOf(family.table_factory.get());
    if (table == nullptr || table->no_block_cache || table->block_cache == nullptr || LeavesScmOut(options)) return;
    const std::atomic_ref warming(table->prepopulate_block_cache);
    const Warming chosen = warming.load(std::memory_order_relaxed);
    if (chosen >= kBestWarming || !hooks.may_warm(*table->block_cache, chosen)) return;
    warming.store(kBestWarming, std::memory_order_relaxed);
  });
  if (!done) TellOnce("no memory to have RocksDB warm the cache with what it writes: it goes on without");
}

std::unique_ptr<rocksdb::DBOptions> WithListeners(const rocksdb::DBOptions& options,
                                                  const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                                  const CacheHooks& hooks) noexcept {
  std::unique_ptr<rocksdb::DBOptions> with;
  const bool done = IfThereIsMemory([&] {
    if (HasDeadFileListener(options)) return;
    std::vector<const rocksdb::Cache*> seen;
    for (const rocksdb::ColumnFamilyDescriptor& family : families) {
      const rocksdb::BlockBasedTableOptions* const table = TableOptionsOf(family.options.table_factory.get());
      if (table == nullptr || table->block_cache == nullptr) continue;
      if (std::ranges::find(seen, table->block_cache.get()) != seen.end()) continue;
      seen.push_back(table->block_cache.get());
      std::shared_ptr<rocksdb::EventListener> listener = hooks.listener(table->block_cache);
      if (listener == nullptr) continue;
      if (with == nullptr) with = std::make_unique<rocksdb::DBOptions>(options);
      with->listeners.push_back(std::move(listener));
    }
  });
  if (done) return with;
  TellOnce("no memory for what tells the cache of deleted files: the database is opened without");
  return nullptr;
}

std::string WarmingText(const WarmingSeen& seen) {
  if (!seen.heirs) return "off";
  if (!kWarmsWithCompactions) {
    return fmt::format("on, RocksDB {} warms with flushes only ({} blocks arrived); {}", kRocksDbRelease, seen.flushed,
                       ReadBackText(seen.read_back));
  }
  if (seen.compacted != 0) {
    return fmt::format("on, warming arrives: {} blocks of flushes, {} of compactions", seen.flushed, seen.compacted);
  }
  if (seen.read_by_compactions >= kReadsToJudgeMin) {
    return fmt::format("on, but compactions looked up {} blocks and none that they wrote was offered: {}; {}",
                       seen.read_by_compactions, WhatToSet(), ReadBackText(seen.read_back));
  }
  if (seen.without_scm != 0) {
    return fmt::format(
        "on, but {} blocks came from a database that keeps to DRAM, of which nothing is demoted or inherited: set "
        "lowest_used_cache_tier=kNonVolatileBlockTier",
        seen.without_scm);
  }
  if (seen.flushed != 0)
    return fmt::format("on, warming arrives: {} blocks of flushes; nothing was compacted", seen.flushed);
  return "on, nothing was flushed or compacted that the cache was told of";
}

}  // namespace mezz
