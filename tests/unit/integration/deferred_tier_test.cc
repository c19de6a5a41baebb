// SPDX-License-Identifier: Apache-2.0
// A stock cache that gets its SCM tier while it is in use: HybridCacheV7::Arm, and DeferredHybridCache from 8.9 on.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cache/base/atomic.h"
#include "rocksdb/version.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/versioned_owner.h"
#if ROCKSDB_MAJOR < 8
#include "integration/hybrid_cache_v7.h"
#else
#include "integration/deferred_hybrid_cache.h"
#endif

namespace mezz::test {
namespace {

constexpr uint64_t kDramBytes = 64 << 10;
constexpr uint64_t kScmBytes = 16 * kSegmentBytesMin;
constexpr size_t kBlockBytes = 4000;
constexpr uint64_t kMoved = 1;
constexpr uint64_t kStranger = 1000;

#if ROCKSDB_MAJOR < 8
using DeferredCache = HybridCacheV7;
std::shared_ptr<DeferredCache> MakeLate(const rocksdb::LRUCacheOptions& dram) {
  return std::make_shared<DeferredCache>(dram);
}
#else
using DeferredCache = DeferredHybridCache;
std::shared_ptr<DeferredCache> MakeLate(const rocksdb::LRUCacheOptions& dram) {
  return std::make_shared<DeferredCache>(rocksdb::NewLRUCache(dram));
}
#endif

class DeferredTier : public ::testing::Test {
 protected:
  void Make(int shard_bits = 0) {
    rocksdb::LRUCacheOptions dram;
    dram.capacity = kDramBytes;
    dram.num_shard_bits = shard_bits;
    raw_ = MakeLate(dram);
    cache_.emplace(raw_.get());
  }
  void SetUp() override { Make(); }
  void TearDown() override {
    g_test_point_hook.store(nullptr, std::memory_order_release);
    if (raw_->armed()) ExpectSound(&stats());
  }

  void ArmIt() {
    ASSERT_EQ(raw_->Arm(SmallOptions(MediumKind::kAnonymous, file_, kDramBytes, kScmBytes)).message(), "");
  }
  HybridStats& stats() {
#if ROCKSDB_MAJOR < 8
    return *raw_;
#else
    return raw_->stats();
#endif
  }
  // Until strangers have driven out what DRAM held.
  void FillDram() {
    for (uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(cache_->Insert(kStranger + next_stranger_++, 1, kBlockBytes));
  }
  uint64_t Found(uint64_t id) const { return cache_->Found(id); }

  // What another thread does when one comes to this point; once.
  void At(std::string_view point, std::function<void()> act) {
    point_ = point;
    act_ = std::move(act);
    g_test_point_hook.store(
        [](const char* name) {
          if (name != point_ || !act_) return;
          std::thread(std::exchange(act_, nullptr)).join();
        },
        std::memory_order_release);
  }
  // When the next change of a key has chosen its cache.
  void BeforeTheNextChange(std::function<void()> act) { At("deferred_tier.before_change", std::move(act)); }

  ScratchFile file_;
  std::shared_ptr<DeferredCache> raw_;
  std::optional<VersionedCache> cache_;
  uint64_t next_stranger_ = 0;
  static inline std::string_view point_;
  static inline std::function<void()> act_;
};

TEST_F(DeferredTier, IsAPlainCacheAndThenAHybridOne) {
  ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
  FillDram();
  EXPECT_EQ(Found(kMoved), 0u);
  ArmIt();
  EXPECT_TRUE(raw_->armed());
  ASSERT_TRUE(cache_->Insert(kMoved, 2, kBlockBytes));
  FillDram();
  EXPECT_EQ(Found(kMoved), 2u) << "from the SCM tier";
}

TEST_F(DeferredTier, WithATotalItIsResizedAndPaysForWhatGrows) {
  constexpr uint64_t kTotal = 4 << 20;
  HybridCacheOptions options = SmallOptions(MediumKind::kAnonymous, file_, /*dram_bytes=*/0, kScmBytes);
  options.dram_total_bytes = kTotal;
  ASSERT_EQ(raw_->Arm(options).message(), "");
  EXPECT_GT(raw_->GetCapacity(), kTotal / 2);
  EXPECT_LE(raw_->GetCapacity() + stats().Dram().total(), kTotal);
  raw_->SetCapacity(1 << 20);
  EXPECT_EQ(raw_->GetCapacity(), size_t{1} << 20);
  for (const std::string_view name : {"placeholder", "three_queue", "dram_first"})
    ASSERT_TRUE(stats().SetPolicy(name).ok());
  EXPECT_LE(raw_->GetCapacity(), size_t{1} << 20);
  ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
  EXPECT_EQ(Found(kMoved), 1u);
}

TEST_F(DeferredTier, AShrinkDemotesOnceThereIsATier) {
  ArmIt();
  ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
  raw_->SetCapacity(0);
  EXPECT_EQ(Found(kMoved), 1u);
}

#if ROCKSDB_MAJOR < 8
// What lies beside the shards is looked up after what lies in them.
TEST_F(DeferredTier, ALargeBlockThatMeetsTheTierLeavesNoOlderOneInTheShards) {
  Make(/*shard_bits=*/2);
  ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
  At("stock_tier_v7.open", [&] { ASSERT_TRUE(cache_->Insert(kMoved, 2, kDramBytes / 2)); });
  ArmIt();
  EXPECT_FALSE(act_) << "the point was not reached";
  EXPECT_EQ(Found(kMoved), 2u);
}
#else
// Else the next object at its address, often the next one altogether, would be taken for it.
TEST_F(DeferredTier, OverAHyperClockCacheWhatWasErasedInUseIsForgottenWithItsLastUser) {
  raw_ = std::make_shared<DeferredCache>(rocksdb::HyperClockCacheOptions(kDramBytes, 0, 0).MakeSharedCache());
  cache_.emplace(raw_.get());
  ArmIt();
  rocksdb::Cache& cache = *raw_;
  for (uint64_t round = 0; round < 20; ++round) {
    TestBlock* const old = TestBlock::New(Content(kMoved, round, kBlockBytes), cache.memory_allocator());
    rocksdb::Cache::Handle* in_use = nullptr;
    ASSERT_TRUE(cache.Insert(VersionedCache::Key(kMoved), old, VersionedCache::kHelper, old->charge(), &in_use).ok());
    ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
    cache.Release(in_use);
    FillDram();
  }
  const CounterSnapshot counted = stats().Counters();
  EXPECT_GT(counted[Event::kDemotion], 100u);
  EXPECT_EQ(counted[Event::kRefusedChanged], 0u);
}
#endif

TEST_F(DeferredTier, AnInsertThatMeetsTheTierHidesWhatWentThereMeanwhile) {
  ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
  BeforeTheNextChange([&] {
    ArmIt();
    FillDram();
    EXPECT_EQ(Found(kMoved), 1u) << "version 1 must be in the SCM tier for this test to see anything";
  });
  ASSERT_TRUE(cache_->Insert(kMoved, 2, kBlockBytes));
  FillDram();  // no look-up before: what was hit stays
  EXPECT_NE(Found(kMoved), 1u) << "version 2 left DRAM, and the SCM tier has version 1";
}

TEST_F(DeferredTier, AnEraseThatMeetsTheTierErasesThereToo) {
  ASSERT_TRUE(cache_->Insert(kMoved, 1, kBlockBytes));
  BeforeTheNextChange([&] {
    ArmIt();
    FillDram();
    EXPECT_EQ(Found(kMoved), 1u);
  });
  cache_->Erase(kMoved);
  EXPECT_EQ(Found(kMoved), 0u);
}

// Owners work while the tier appears, and others push what they own out of DRAM.
TEST_F(DeferredTier, ThreadsMayUseTheCacheWhileItGetsItsTier) {
  constexpr uint64_t kOwners = 2, kKeys = 24, kSteps = 4000;
  constexpr int kRounds = 20;
  const uint64_t seed = Seed();
  uint64_t scm_hits = 0;
  for (int round = 0; round < kRounds; ++round) {
    Make();
    std::vector<Owner> owners;
    for (uint64_t i = 0; i < kOwners; ++i) owners.emplace_back(raw_.get(), i, kKeys, Mix(seed + 10 * round + i));
    std::atomic<bool> done{false};
    std::thread stranger([&] {
      Random random(Mix(seed + 1000 + round));
      while (!done.load(std::memory_order_relaxed)) {
        const uint64_t id = random.OneIn(3) ? random.Below(kOwners * kKeys) : kStranger + random.Below(400);
        if (!cache_->Lookup(id) && id >= kStranger) cache_->Insert(id, 1, Owner::BytesOf(id));
      }
    });
    std::vector<std::thread> threads;
    for (Owner& owner : owners) threads.emplace_back(&Owner::Run, &owner, kSteps);
    ArmIt();
    for (std::thread& thread : threads) thread.join();
    for (Owner& owner : owners) owner.Run(kSteps / 10);  // alone: what is found now has no race to blame
    done.store(true, std::memory_order_relaxed);
    stranger.join();
    for (const Owner& owner : owners) EXPECT_EQ(owner.lie(), "") << "round " << round;
    scm_hits += stats().Counters()[Event::kScmHit];
    ExpectSound(&stats());
  }
  EXPECT_GT(scm_hits, 1000u);
}

}  // namespace
}  // namespace mezz::test
