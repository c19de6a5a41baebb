// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache_v7.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/blocks_v7.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/sanitizer.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/small_db.h"

namespace mezz {
namespace {

using rocksdb::Cache;
using test::BlockV7;
using test::kBlockHelper;
using test::KeyV7;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr size_t kBlockBytes = 4000;

class HybridCacheV7Test : public test::HybridTest {
 protected:
  // `blocks`: how many the DRAM tier holds.
  void Make(std::string policy, size_t blocks = 4, bool strict = false) {
    HybridCacheOptions options = OptionsOf(blocks * 4400, 8 << 20);
    options.policy = std::move(policy);
    options.strict_capacity_limit = strict;
    HybridTest::Make(options);
    ASSERT_NE(stats_, nullptr);
  }
  // Under a policy that does as `script` says.
  void Make(test::Script* script) {
    HybridCacheOptions options = OptionsOf(4 * 4400, 8 << 20);
    test::UseScript(&options, script);
    HybridTest::Make(options);
  }
  void TearDown() override {
    HybridTest::TearDown();
    EXPECT_EQ(BlockV7::alive, 0) << "an object leaked, or died twice";
  }

  static std::string Bytes(uint64_t id) { return std::to_string(id) + std::string(kBlockBytes, 'b'); }
  void Insert(uint64_t id, Cache::Handle** handle = nullptr) { Insert(id, Bytes(id), handle); }
  void Insert(uint64_t id, std::string bytes, Cache::Handle** handle) {
    auto* const block = new BlockV7(std::move(bytes));
    ASSERT_TRUE(cache_->Insert(KeyV7(id), block, &kBlockHelper, block->bytes.size(), handle).ok());
  }
  Cache::Handle* Find(uint64_t id, bool wait = true) {
    return cache_->Lookup(KeyV7(id), &kBlockHelper, &test::CreateBlock, Cache::Priority::LOW, wait);
  }
  const std::string& BytesOf(Cache::Handle* handle) { return static_cast<BlockV7*>(cache_->Value(handle))->bytes; }
  // Looks up, checks and releases; false on a miss.
  bool Read(uint64_t id) {
    Cache::Handle* const handle = Find(id);
    if (handle == nullptr) return false;
    EXPECT_EQ(BytesOf(handle), Bytes(id));
    cache_->Release(handle);
    return true;
  }
};

TEST_F(HybridCacheV7Test, EvictedBlocksAreServedFromScmAsStandaloneObjects) {
  Make("dram_first");
  for (uint64_t id = 0; id < 20; ++id) Insert(id);
  for (uint64_t id = 0; id < 20; ++id) EXPECT_TRUE(Read(id)) << id;
  EXPECT_GE(Count(Event::kServedCopied), 16u);
  EXPECT_EQ(Count(Event::kPromotion), 0u);
  EXPECT_EQ(Count(Event::kDemotion), Count(Event::kScmPut));
}

// RocksDB's LRUCache frees a block that is released while it holds too much, and tells nobody.
TEST_F(HybridCacheV7Test, BlocksThatAreReleasedToAnOverfullLruCacheStayInOneOfTheTiers) {
  constexpr uint64_t kBlocks = 400, kCapacity = 100, kSlack = 2 * LruOverflow::kCallsOfCheck;
  Make("dram_first", kCapacity);
  std::vector<Cache::Handle*> pinned(kBlocks);
  for (uint64_t id = 0; id < kBlocks; ++id) ASSERT_NO_FATAL_FAILURE(Insert(id, &pinned[id]));
  for (Cache::Handle* const handle : pinned) cache_->Release(handle);
  EXPECT_LE(cache_->GetUsage(), (kCapacity + kSlack) * 4400);
  uint64_t found = 0;
  for (uint64_t id = 0; id < kBlocks; ++id) found += Read(id) ? 1 : 0;
  EXPECT_GE(found, kBlocks - kSlack);
  for (uint64_t id = kBlocks; id < kBlocks + kSlack; ++id) ASSERT_NO_FATAL_FAILURE(Insert(id));
  EXPECT_LE(cache_->GetUsage(), kCapacity * 4400) << "its own capacity again";
}

TEST_F(HybridCacheV7Test, AnOverfullLruCacheWhoseLimitBecomesStrictTakesNothingMore) {
  Make("dram_first", 100);
  std::vector<Cache::Handle*> pinned(400);
  for (uint64_t id = 0; id < pinned.size(); ++id) ASSERT_NO_FATAL_FAILURE(Insert(id, &pinned[id]));
  cache_->SetStrictCapacityLimit(true);
  for (uint64_t id = 400; id < 400 + 4 * LruOverflow::kCallsOfCheck; ++id) {
    auto* const block = new BlockV7(Bytes(id));
    Cache::Handle* handle = nullptr;
    const bool taken = cache_->Insert(KeyV7(id), block, &kBlockHelper, block->bytes.size(), &handle).ok();
    EXPECT_FALSE(taken) << id;
    if (handle != nullptr) pinned.push_back(handle);
    if (!taken) delete block;
  }
  for (Cache::Handle* const handle : pinned) cache_->Release(handle);
  EXPECT_LE(cache_->GetUsage(), 100u * 4400);
}

TEST_F(HybridCacheV7Test, PromotedBlocksLeaveDramWithoutAnotherWrite) {
  Make("bidirectional");
  for (uint64_t id = 0; id < 20; ++id) Insert(id);
  const uint64_t puts = Count(Event::kScmPut);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t id = 0; id < 16; ++id) EXPECT_TRUE(Read(id)) << id;
  }
  EXPECT_GE(Count(Event::kPromotion), 40u);
  EXPECT_GE(Count(Event::kCleanEviction), 36u);
  EXPECT_LE(Count(Event::kScmPut), puts + 4) << "only what had never left DRAM may be written";
}

TEST_F(HybridCacheV7Test, ScmFirstStoresMissesInScmAndStillHandsThemOver) {
  Make("scm_first");
  Cache::Handle* handle = nullptr;
  Insert(1, &handle);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(BytesOf(handle), Bytes(1));
  EXPECT_EQ(Count(Event::kInsertToScm), 1u);
  cache_->Release(handle);
  Insert(2);
  EXPECT_EQ(BlockV7::alive, 0) << "nobody asked for a handle, and DRAM does not keep it";
  EXPECT_TRUE(Read(1));
  EXPECT_TRUE(Read(2));
}

TEST_F(HybridCacheV7Test, ACompactionsHitInDramIsNoEvidenceThatAUserWantsTheBlock) {
  test::Script script;
  Make(&script);
  Insert(1);
  Insert(2);
  EXPECT_TRUE(Read(1));
  std::thread([this] {
    ASSERT_EQ(pthread_setname_np(pthread_self(), "rocksdb:low"), 0);
    EXPECT_TRUE(Read(2));
  }).join();
  cache_->SetCapacity(0);
  std::map<std::string, bool> hit;  // by key
  for (const BlockFacts& block : script.evictions)
    hit[std::string(block.key.bytes().data(), BlockKey::kBytes)] = block.was_hit_in_dram;
  EXPECT_THAT(hit, UnorderedElementsAre(Pair(KeyV7(1), true), Pair(KeyV7(2), false)));
}

TEST_F(HybridCacheV7Test, ABypassedMissIsHandedOverAndKeptInNeitherTier) {
  test::Script script;
  Make(&script);
  Insert(1);
  script.on_miss = {Action::kBypass, Reason::kCompaction};
  Cache::Handle* handle = nullptr;
  Insert(1, &handle);  // hides what DRAM held
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(BytesOf(handle), Bytes(1));
  EXPECT_FALSE(Read(1));
  cache_->Release(handle);
  Insert(2);
  EXPECT_EQ(BlockV7::alive, 0);
  EXPECT_FALSE(Read(2));
  EXPECT_EQ(Count(Event::kInsertBypassed), 2u);
}

TEST_F(HybridCacheV7Test, AMovedBlockIsInDramAlone) {
  test::Script script;
  script.on_scm_hit = {Action::kMove, Reason::kFrequency};
  Make(&script);
  for (uint64_t id = 0; id < 10; ++id) Insert(id);
  const uint64_t resident = stats_->scm().figures().resident_blocks();
  EXPECT_TRUE(Read(0));
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  EXPECT_EQ(stats_->scm().figures().resident_blocks(), resident) << "one moved up, the one it displaced moved down";
  EXPECT_TRUE(Read(0));
  EXPECT_EQ(Count(Event::kDramHit), 1u);
}

TEST_F(HybridCacheV7Test, ThePolicyChangesWhileTheCacheIsUsed) {
  Make("dram_first");
  for (uint64_t id = 0; id < 10; ++id) Insert(id);
  EXPECT_TRUE(Read(0));
  EXPECT_EQ(Count(Event::kPromotion), 0u);
  ASSERT_TRUE(stats_->SetPolicy("bidirectional").ok());
  EXPECT_EQ(stats_->PolicyName(), "bidirectional");
  EXPECT_TRUE(Read(0));
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  EXPECT_THAT(stats_->SetPolicy("best").message(), HasSubstr("dram_first"));
}

TEST_F(HybridCacheV7Test, StandaloneHandlesBehaveAsHandles) {
  Make("dram_first");
  for (uint64_t id = 0; id < 10; ++id) Insert(id);
  const size_t before = cache_->GetUsage();
  const size_t pinned_before = cache_->GetPinnedUsage();
  Cache::Handle* const handle = Find(0, /*wait=*/false);
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(cache_->IsReady(handle));
  cache_->Wait(handle);
  std::vector<Cache::Handle*> handles{handle, nullptr};
  cache_->WaitAll(handles);
  EXPECT_EQ(BytesOf(handle), Bytes(0));
  EXPECT_EQ(cache_->GetCharge(handle), Bytes(0).size());
  EXPECT_GE(cache_->GetUsage(handle), Bytes(0).size());
  EXPECT_EQ(cache_->GetDeleter(handle), &test::DeleteBlock);
  EXPECT_EQ(cache_->GetUsage(), before + cache_->GetUsage(handle));
  EXPECT_EQ(cache_->GetPinnedUsage(), pinned_before + cache_->GetUsage(handle));
  EXPECT_TRUE(cache_->Ref(handle));
  EXPECT_FALSE(cache_->Release(handle, /*useful=*/true, /*erase_if_last_ref=*/true));
  EXPECT_EQ(BytesOf(handle), Bytes(0)) << "one reference is left";
  EXPECT_TRUE(Read(0)) << "so it was not the last";
  EXPECT_TRUE(cache_->Release(handle, /*useful=*/true, /*erase_if_last_ref=*/true));
  EXPECT_EQ(cache_->GetUsage(), before);
  EXPECT_FALSE(Read(0)) << "erase_if_last_ref erases from SCM as well";
}

TEST_F(HybridCacheV7Test, ErasedBlocksNeverReturn) {
  for (const char* policy : {"dram_first", "scm_first", "bidirectional"}) {
    Make(policy);
    for (uint64_t id = 0; id < 20; ++id) Insert(id);
    for (uint64_t id = 0; id < 20; id += 2) cache_->Erase(KeyV7(id));
    for (uint64_t id = 0; id < 20; ++id) EXPECT_EQ(Read(id), id % 2 == 1) << policy << " " << id;
  }
}

TEST_F(HybridCacheV7Test, AnInsertOverAnOldBlockHidesItInBothTiers) {
  for (const char* policy : {"dram_first", "scm_first", "bidirectional"}) {
    Make(policy);
    Insert(1, "old", nullptr);  // in DRAM, or in SCM
    Insert(1);
    for (uint64_t id = 100; id < 120; ++id) Insert(id);  // evicts it
    EXPECT_TRUE(Read(1)) << policy;
    Insert(2, "old", nullptr);
    for (uint64_t id = 200; id < 220; ++id) Insert(id);  // the old block is in SCM now
    Insert(2);
    EXPECT_TRUE(Read(2)) << policy;
    for (uint64_t id = 300; id < 320; ++id) Insert(id);
    EXPECT_TRUE(Read(2)) << policy;
  }
}

TEST_F(HybridCacheV7Test, AFullStrictDramTierStillServesFromScm) {
  Make("bidirectional", /*blocks=*/2, /*strict=*/true);
  for (uint64_t id = 0; id < 10; ++id) Insert(id);
  std::vector<Cache::Handle*> handles;
  for (uint64_t id = 0; id < 8; ++id) handles.push_back(Find(id));
  EXPECT_GT(Count(Event::kPromotionRefused), 0u);
  for (uint64_t id = 0; id < 8; ++id) {
    ASSERT_NE(handles[id], nullptr) << id;
    EXPECT_EQ(BytesOf(handles[id]), Bytes(id));
    cache_->Release(handles[id]);
  }
}

TEST_F(HybridCacheV7Test, WhatScmCannotKeepStaysInDramAlone) {
  Make("dram_first");
  auto* const reservation = new BlockV7("no helper");
  ASSERT_TRUE(cache_->Insert(KeyV7(1), reservation, 10, &test::DeleteBlock).ok());
  auto* const odd = new BlockV7(std::string(kBlockBytes, 'o'));
  ASSERT_TRUE(cache_->Insert("a key of other length", odd, &kBlockHelper, kBlockBytes).ok());
  for (uint64_t id = 100; id < 120; ++id) Insert(id);
  EXPECT_EQ(Count(Event::kRefusedKeySize), 1u);
  EXPECT_EQ(Find(1), nullptr);
  EXPECT_EQ(cache_->Lookup("a key of other length", &kBlockHelper, &test::CreateBlock, Cache::Priority::LOW, true),
            nullptr);
  EXPECT_FALSE(cache_->Insert(KeyV7(1), nullptr, nullptr, 10).ok());
}

TEST_F(HybridCacheV7Test, APlainLookUpNeverConsultsScm) {
  Make("dram_first");
  for (uint64_t id = 0; id < 20; ++id) Insert(id);
  EXPECT_EQ(cache_->Lookup(KeyV7(0)), nullptr);
  EXPECT_EQ(Count(Event::kScmHit), 0u);
}

TEST_F(HybridCacheV7Test, AFailingCreateCallbackIsAMiss) {
  Make("dram_first");
  for (uint64_t id = 0; id < 20; ++id) Insert(id);
  const auto fails = [](const void*, size_t, void**, size_t*) { return rocksdb::Status::Corruption("no"); };
  EXPECT_EQ(cache_->Lookup(KeyV7(0), &kBlockHelper, fails, Cache::Priority::LOW, true), nullptr);
  const auto throws = [](const void*, size_t, void**, size_t*) -> rocksdb::Status { throw std::bad_alloc(); };
  EXPECT_EQ(cache_->Lookup(KeyV7(0), &kBlockHelper, throws, Cache::Priority::LOW, true), nullptr);
  EXPECT_EQ(Count(Event::kCreateFailed), 2u);
  EXPECT_TRUE(Read(0));
}

TEST_F(HybridCacheV7Test, EraseUnRefEntriesEmptiesBothTiers) {
  Make("dram_first");
  for (uint64_t id = 0; id < 20; ++id) Insert(id);
  cache_->EraseUnRefEntries();
  for (uint64_t id = 0; id < 20; ++id) EXPECT_FALSE(Read(id));
  EXPECT_EQ(BlockV7::alive, 0);
}

TEST_F(HybridCacheV7Test, SaysWhatItIs) {
  Make("dram_first");
  EXPECT_THAT(cache_->GetPrintableOptions(), HasSubstr("capacity"));
  EXPECT_THAT(cache_->GetPrintableOptions(), HasSubstr("policy: dram_first"));
  EXPECT_THAT(stats_->Report(), HasSubstr("policy=dram_first"));
  EXPECT_FALSE(stats_->SetScmCapacity(1ull << 40).ok());
  EXPECT_TRUE(stats_->SetScmCapacity(4 << 20).ok());
}

TEST(HybridCacheV7, BadOptionsMakeNoCache) {
  std::shared_ptr<Cache> cache;
  HybridCacheOptions options;
  EXPECT_FALSE(NewHybridCache(options, &cache).ok());
  EXPECT_EQ(WrapCache(rocksdb::NewLRUCache(1 << 20), options, &cache).code(), Status::Code::kNotSupported);
  EXPECT_EQ(cache, nullptr);
}

TEST(HybridCacheV7, IsAPlainLruCacheUntilItIsArmed) {
  rocksdb::LRUCacheOptions dram;
  dram.capacity = 1 << 20;
  {
    const auto cache = std::make_shared<HybridCacheV7>(dram);
    ASSERT_TRUE(cache->valid());
    EXPECT_EQ(GetHybridStats(cache.get()), nullptr);
    for (uint64_t id = 0; id < 1000; ++id) {
      ASSERT_TRUE(cache
                      ->Insert(KeyV7(id), new BlockV7(std::string(kBlockBytes, 'x')), &kBlockHelper, kBlockBytes,
                               nullptr, Cache::Priority::LOW)
                      .ok());
    }
    EXPECT_EQ(cache->Lookup(KeyV7(0), &kBlockHelper, &test::CreateBlock, Cache::Priority::LOW, true, nullptr), nullptr);
  }
  EXPECT_EQ(BlockV7::alive, 0);
  dram.num_shard_bits = 20;
  EXPECT_FALSE(HybridCacheV7(dram).valid());
}

TEST_F(HybridCacheV7Test, ARealDatabaseReadsWhatItWroteUnderEveryPolicy) {
  for (const char* policy : {"dram_first", "scm_first", "bidirectional"}) {
    HybridCacheOptions options = OptionsOf(1 << 20, 64 << 20);
    options.policy = policy;
    HybridTest::Make(options);
    {
      test::SmallDb db(cache_);
      db.ReadAll();
      std::thread other([&] { db.ReadAll(); });
      db.ReadAll();
      other.join();
    }
    EXPECT_GT(Count(Event::kScmHit), 10'000u / test::kStressShare) << policy;
    EXPECT_EQ(Count(Event::kCreateFailed), 0u) << policy;
    test::ExpectSound(cache_.get());
  }
}

}  // namespace
}  // namespace mezz
