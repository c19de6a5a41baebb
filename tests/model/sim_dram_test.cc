// SPDX-License-Identifier: Apache-2.0
// The simulator's DRAM tiers against RocksDB's own caches: LRUCache hit for hit, HyperClockCache, whose placement is
// another hash here, in its hit ratio.
#include <gtest/gtest.h>

#include "../unit/sim/test_traces.h"
#include "admission/curves/block_key.h"
#include "admission/curves/dram_models.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"

namespace mezz::sim {
namespace {

constexpr uint32_t kBlocks = 40'000;
constexpr size_t kBlockBytes = 4096;

const rocksdb::Cache::CacheItemHelper kHelper{rocksdb::CacheEntryRole::kMisc};

// Looks a block up and inserts it on a miss, as RocksDB does, releasing at once.
bool Access(rocksdb::Cache& cache, BlockId block, size_t charge) {
  const BlockKey key = BlockKeyOf(block);
  const rocksdb::Slice slice(key.bytes().data(), key.bytes().size());
  rocksdb::Cache::Handle* handle = cache.Lookup(slice);
  const bool hit = handle != nullptr;
  if (!hit) {
    static char object;
    EXPECT_TRUE(cache.Insert(slice, &object, &kHelper, charge, &handle, rocksdb::Cache::Priority::LOW).ok());
  }
  cache.Release(handle);
  return hit;
}

TEST(SimDram, LruHitsWhereLruCacheDoes) {
  for (const double pool : {0.0, 0.5}) {
    std::mt19937_64 random(test::Seed());
    rocksdb::LRUCacheOptions options;
    options.capacity = 5000;
    options.num_shard_bits = 0;
    options.high_pri_pool_ratio = pool;
    options.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
    const auto cache = options.MakeSharedCache();
    const Charges units;
    LruModel model(kBlocks, units, {.capacity = 5000, .high_priority_pool = pool});
    for (const BlockId block : MixedAccesses(random, 300'000, kBlocks)) {
      const bool hit = model.Hit(block);
      if (!hit) model.Insert(block, DramPriority::kLow, [](BlockId, bool) {});
      ASSERT_EQ(Access(*cache, block, 1), hit);
    }
  }
}

TEST(SimDram, ShardedLruHitsAsOftenAsShardedLruCache) {
  std::mt19937_64 random(test::Seed());
  rocksdb::LRUCacheOptions options;
  options.capacity = 4000 * (kBlockBytes + 88);
  options.num_shard_bits = 4;
  const auto cache = options.MakeSharedCache();
  const Charges charges(std::vector<uint32_t>(kBlocks, kBlockBytes + 88));
  LruModel model(kBlocks, charges, {.capacity = options.capacity, .shards = 16});
  constexpr size_t kAccesses = 400'000;
  int64_t lead = 0;
  for (const BlockId block : MixedAccesses(random, kAccesses, kBlocks)) {
    lead -= Access(*cache, block, kBlockBytes);
    if (model.Hit(block)) {
      ++lead;
    } else {
      model.Insert(block, DramPriority::kLow, [](BlockId, bool) {});
    }
  }
  EXPECT_NEAR(static_cast<double>(lead) / kAccesses, 0, 0.003);
}

TEST(SimDram, HccHitsAsOftenAsHyperClockCache) {
  for (const int shard_bits : {0, 2}) {
    for (const size_t capacity_blocks : {1000, 8000}) {
      std::mt19937_64 random(test::Seed());
      const size_t capacity = capacity_blocks * kBlockBytes;
      const auto cache = rocksdb::HyperClockCacheOptions(capacity, 0, shard_bits).MakeSharedCache();
      const Charges charges(std::vector<uint32_t>(kBlocks, kBlockBytes));
      HccModel model(kBlocks, charges, {.capacity = capacity, .shards = 1u << shard_bits, .slot_charge = 64});
      constexpr size_t kAccesses = 400'000;
      uint64_t hits = 0, model_hits = 0;
      for (const BlockId block : MixedAccesses(random, kAccesses, kBlocks)) {
        hits += Access(*cache, block, kBlockBytes);
        if (model.Hit(block)) {
          ++model_hits;
        } else {
          model.Insert(block, DramPriority::kLow, [](BlockId, bool) {});
        }
      }
      const double got = static_cast<double>(model_hits) / kAccesses;
      const double want = static_cast<double>(hits) / kAccesses;
      RecordProperty("model", std::to_string(got));
      RecordProperty("live", std::to_string(want));
      EXPECT_NEAR(got, want, 0.002) << "shard bits " << shard_bits << ", blocks " << capacity_blocks;
      EXPECT_NEAR(static_cast<double>(model.usage()), static_cast<double>(cache->GetOccupancyCount() * kBlockBytes),
                  0.02 * static_cast<double>(capacity));
    }
  }
}

}  // namespace
}  // namespace mezz::sim
