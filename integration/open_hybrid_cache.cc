// SPDX-License-Identifier: Apache-2.0
// Opens hybrid caches over RocksDB 8.9 and later: the options' own DRAM tier, or one that is there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "integration/dram_budget.h"
#include "integration/hybrid_cache.h"
#include "integration/hybrid_core.h"
#include "integration/made_hybrid_cache.h"
#include "integration/undumped_allocator.h"

namespace mezz {

std::shared_ptr<rocksdb::Cache> MakeDramTier(const HybridCacheOptions& options) {
  const auto allocator = options.scm.core_dump == CoreDump::kNone ? UndumpedAllocator::Get() : nullptr;
  if (options.dram_cache == DramCacheKind::kHyperClock) {
    return rocksdb::HyperClockCacheOptions(options.dram_bytes, /*_estimated_entry_charge=*/0,
                                           options.HyperClockShardBits(), options.strict_capacity_limit, allocator)
        .MakeSharedCache();
  }
  rocksdb::LRUCacheOptions lru;
  lru.memory_allocator = allocator;
  lru.capacity = options.dram_bytes;
  lru.num_shard_bits = options.dram_shard_bits;
  lru.strict_capacity_limit = options.strict_capacity_limit;
  return lru.MakeSharedCache();
}

namespace {

Status OpenOver(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options,
                std::shared_ptr<rocksdb::Cache>* cache) {
  std::unique_ptr<HybridCore> core;
  MEZZ_RETURN_IF_ERROR(HybridCore::Open(options, &core));
  *cache = MakeHybridCache(std::move(dram), std::move(core));
  return Status::Ok();
}

bool IsStock(std::string_view name) {
  constexpr std::array<std::string_view, 4> kStock = {"LRUCache", "AutoHyperClockCache", "FixedHyperClockCache",
                                                      "HyperClockCache"};
  for (const std::string_view stock : kStock) {
    if (name == stock) return true;
  }
  return false;
}

// RocksDB's wrapper of a cache with a secondary one takes its target's name, but prints the two apart.
bool HasSecondaryCache(const rocksdb::Cache& cache) {
  return cache.GetPrintableOptions().find("secondary_cache:") != std::string::npos;
}

Status ValidateDramTier(rocksdb::Cache* dram, CoreDump core_dump) {
  if (dram == nullptr) return Status::InvalidArgument("the cache to wrap is null: give an LRUCache or HyperClockCache");
  if (GetHybridStats(dram) != nullptr) return Status::InvalidArgument("the cache to wrap is a hybrid cache already");
  if (!IsStock(dram->Name())) {
    return Status::InvalidArgument(
        fmt::format("the cache to wrap is a {}: give a stock LRUCache or HyperClockCache", dram->Name()));
  }
  if (HasSecondaryCache(*dram)) {
    return Status::InvalidArgument(fmt::format("the {} to wrap has a secondary cache: give one without", dram->Name()));
  }
  if (core_dump == CoreDump::kNone && dram->memory_allocator() != UndumpedAllocator::Get().get()) {
    return Status::InvalidArgument(
        fmt::format("core_dump=none: the {} to wrap keeps its blocks where a dump finds them: use NewHybridCache or "
                    "core_dump=dram",
                    dram->Name()));
  }
  if (const size_t entries = dram->GetOccupancyCount(); entries != 0 && entries != std::numeric_limits<size_t>::max()) {
    return Status::InvalidArgument(
        fmt::format("the {} to wrap holds {} entries already: wrap it before it is used", dram->Name(), entries));
  }
  return Status::Ok();
}

}  // namespace

Status NewMainCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  HybridCacheOptions divided = options;
  MEZZ_RETURN_IF_ERROR(DivideDram(&divided));
  std::shared_ptr<rocksdb::Cache> dram = MakeDramTier(divided);
  if (dram == nullptr) {
    return Status::InvalidArgument(
        fmt::format("RocksDB refused a DRAM tier of {} bytes with shard_bits={}: use fewer shard bits (-1: its choice)",
                    divided.dram_bytes, divided.dram_shard_bits));
  }
  return OpenOver(std::move(dram), divided, cache);
}

Status WrapCache(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options,
                 std::shared_ptr<rocksdb::Cache>* cache) {
  MEZZ_RETURN_IF_ERROR(ValidateDramTier(dram.get(), options.scm.core_dump));
  HybridCacheOptions effective = options;
  effective.dram_cache =
      std::string_view(dram->Name()) == "LRUCache" ? DramCacheKind::kLru : DramCacheKind::kHyperClock;
  // What is sized by it must fit the machine, and "no limit" is a common capacity.
  effective.dram_bytes = std::min<uint64_t>(dram->GetCapacity(), ThisMachine().memory_bytes);
  effective.strict_capacity_limit = dram->HasStrictCapacityLimit();
  effective.dram_shard_bits = -1;
  MEZZ_RETURN_IF_ERROR(DivideDram(&effective));
  // Before ours is opened, whose budget begins with it: set later, it would be a change of the total.
  const size_t capacity = dram->GetCapacity();
  if (effective.dram_total_bytes != 0) dram->SetCapacity(effective.dram_bytes);
  const Status opened = OpenOver(dram, effective, cache);
  if (!opened.ok()) dram->SetCapacity(capacity);
  return opened;
}

}  // namespace mezz
