// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "integration/compaction_thread.h"
#include "integration/dram_hits.h"
#include "integration/lru_overflow.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"
#include "tests/support/hybrid_blocks.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/scripted_policy.h"

namespace mezz::test {
namespace {

using rocksdb::Cache;
using rocksdb::MemoryAllocator;

constexpr uint64_t kDramBytes = 4 << 20;
constexpr uint64_t kScmBytes = 16 * kSegmentBytesMin;
constexpr size_t kBlockBytes = 4000;

const Helper* const kData = kHelpers[0];

// A user's allocator that knows what is out, and can run dry.
class CountingAllocator : public MemoryAllocator {
 public:
  void* Allocate(size_t bytes) override {
    if (dry) throw std::bad_alloc();
    ++live;
    ++made;
    return ::operator new(bytes);
  }
  void Deallocate(void* address) override {
    --live;
    ::operator delete(address);
  }
  const char* Name() const override { return "CountingAllocator"; }

  std::atomic<int> live{0};
  std::atomic<int> made{0};
  bool dry = false;
};

class HybridCacheTest : public HybridTest {
 protected:
  void SetUp() override { Open("dram_first", ServeMode::kInPlace); }
  void TearDown() override {
    HybridTest::TearDown();
    EXPECT_EQ(allocator_->live, 0) << "memory of the user's allocator was not returned to it";
  }

  HybridCacheOptions Options() const { return OptionsOf(kDramBytes, kScmBytes); }
  std::shared_ptr<Cache> StockLru() const {
    rocksdb::LRUCacheOptions lru;
    lru.capacity = kDramBytes;
    lru.num_shard_bits = 0;
    lru.memory_allocator = allocator_;
    return lru.MakeSharedCache();
  }

  // The DRAM tier is an LRUCache of one shard, so that a capacity of zero demotes at once.
  void Open(const std::string& policy, ServeMode serve) {
    HybridCacheOptions options = Options();
    options.policy = policy;
    options.serve = serve;
    Open(options);
  }
  void Open(const HybridCacheOptions& options) {
    Wrap(StockLru(), options);
    ASSERT_NE(stats_, nullptr);
  }

  static Content ContentOf(uint64_t id, size_t bytes = kBlockBytes) { return Content(id, 1, bytes); }
  rocksdb::Status Insert(uint64_t id, const Helper* helper = kData, size_t bytes = kBlockBytes,
                         Cache::Handle** handle = nullptr) {
    TestBlock* obj = TestBlock::New(ContentOf(id, bytes), cache_->memory_allocator());
    rocksdb::Status s = InsertRead(cache_.get(), KeyOf(id), obj, helper, handle);
    if (!s.ok()) delete obj;
    return s;
  }
  void DemoteAll() {
    cache_->SetCapacity(0);
    cache_->SetCapacity(kDramBytes);
  }
  void InsertAndDemote(uint64_t id, const Helper* helper = kData, size_t bytes = kBlockBytes) {
    ASSERT_TRUE(Insert(id, helper, bytes).ok());
    DemoteAll();
  }

  Cache::Handle* Lookup(uint64_t id, const Helper* helper = kData, rocksdb::Statistics* statistics = nullptr) {
    return cache_->Lookup(KeyOf(id), helper, nullptr, Cache::Priority::LOW, statistics);
  }
  TestBlock* Value(Cache::Handle* handle) { return static_cast<TestBlock*>(cache_->Value(handle)); }
  void ExpectHit(uint64_t id, const Helper* helper = kData, size_t bytes = kBlockBytes) {
    Cache::Handle* handle = Lookup(id, helper);
    ASSERT_NE(handle, nullptr);
    EXPECT_TRUE(ContentOf(id, bytes).Matches(Value(handle)->data(), Value(handle)->bytes()));
    cache_->Release(handle);
  }

  // Under a policy that does as `script` says.
  void Open(Script* script) {
    HybridCacheOptions options = Options();
    UseScript(&options, script);
    Open(options);
  }

  std::shared_ptr<CountingAllocator> allocator_ = std::make_shared<CountingAllocator>();
};

// prepopulate_block_cache: a compaction puts what it has written into the cache, and keeps nothing it has read there.
TEST_F(HybridCacheTest, WhatACompactionHasWrittenEntersAndWhatItReadDoesNot) {
  Open("adaptive", ServeMode::kInPlace);
  std::thread([this] {
    ASSERT_EQ(pthread_setname_np(pthread_self(), "rocksdb:low"), 0);
    TestBlock* written = TestBlock::New(ContentOf(1), cache_->memory_allocator());
    ASSERT_TRUE(cache_->Insert(KeyOf(1), written, kData, written->charge(), /*handle=*/nullptr).ok());
    ASSERT_TRUE(Insert(2).ok());
  }).join();
  ExpectHit(1);
  EXPECT_EQ(Lookup(2), nullptr);
}

TEST_F(HybridCacheTest, AHitInPlaceLiesOnTheMediumAndTakesNoDram) {
  InsertAndDemote(1);
  Cache::Handle* handle = Lookup(1);
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(stats_->scm().Owns(Value(handle)->data()));
  EXPECT_TRUE(ContentOf(1).Matches(Value(handle)->data(), kBlockBytes));
  EXPECT_LT(cache_->GetCharge(handle), kBlockBytes / 4);
  EXPECT_EQ(allocator_->live, 0);
  EXPECT_GT(stats_->scm().figures().pinned_bytes(), 0u);
  cache_->Release(handle);
  EXPECT_EQ(stats_->scm().figures().pinned_bytes(), 0u);
  EXPECT_EQ(Count(Event::kServedInPlace), 1u);
}

TEST_F(HybridCacheTest, BytesServedInPlaceOutliveTheirKey) {
  InsertAndDemote(1);
  Cache::Handle* handle = Lookup(1);
  ASSERT_NE(handle, nullptr);
  cache_->Erase(KeyOf(1));
  EXPECT_EQ(Lookup(1), nullptr);
  for (uint64_t id = 100; id < 4000; ++id) ASSERT_TRUE(Insert(id).ok());  // more than the medium holds
  DemoteAll();
  EXPECT_TRUE(ContentOf(1).Matches(Value(handle)->data(), kBlockBytes));
  cache_->Release(handle);
}

TEST_F(HybridCacheTest, ARefKeepsAnInPlaceObjectAlive) {
  InsertAndDemote(1);
  Cache::Handle* handle = Lookup(1);
  ASSERT_NE(handle, nullptr);
  ASSERT_TRUE(cache_->Ref(handle));
  cache_->Release(handle);
  EXPECT_TRUE(ContentOf(1).Matches(Value(handle)->data(), kBlockBytes));
  cache_->Release(handle, /*useful=*/true, /*erase_if_last_ref=*/true);
}

TEST_F(HybridCacheTest, ACopyLiesInMemoryOfTheUsersAllocator) {
  Open("dram_first", ServeMode::kCopy);
  InsertAndDemote(1);
  Cache::Handle* handle = Lookup(1);
  ASSERT_NE(handle, nullptr);
  EXPECT_FALSE(stats_->scm().Owns(Value(handle)->data()));
  EXPECT_EQ(allocator_->live, 1);
  EXPECT_EQ(stats_->scm().figures().pinned_bytes(), 0u);
  EXPECT_GE(cache_->GetCharge(handle), kBlockBytes);
  cache_->Release(handle);
  EXPECT_EQ(Count(Event::kServedCopied), 1u);
}

class PackedHits : public HybridCacheTest, public ::testing::WithParamInterface<PackMode> {
 protected:
  static constexpr uint64_t kPackable = 2;  // even ids are

  void Open(const std::string& policy, bool heirs = true) {
    HybridCacheOptions options = Options();
    options.policy = policy;
    options.heirs = heirs;
    options.scm.pack = GetParam();
    options.scm.pack_stage_bytes = kUsualPackStageBytes;  // whatever the release's default is
    HybridCacheTest::Open(options);
    FillScm();
  }
  // As RocksDB offers a block that a compaction has written, whose parents are not known.
  void InsertHeir(uint64_t id) {
    TestBlock* written = TestBlock::New(ContentOf(id), cache_->memory_allocator());
    const std::string key = KeyOf(id);
    ASSERT_TRUE(cache_->Insert(key, written, kData, written->charge(), nullptr, Cache::Priority::BOTTOM).ok());
    NoteCompactionEnd();
  }
  void FillScm() {
    HybridTest::FillScm(Event::kScmPackedAtReclaim);
    written_ = Count(Event::kScmWrittenBytes);
  }
  uint64_t Written() { return Count(Event::kScmWrittenBytes) - written_; }

  uint64_t written_ = 0;
};

TEST_P(PackedHits, AreOfRecordsThatWereWrittenSinceReclaimBegan) {
  HybridCacheOptions options = Options();
  options.scm.pack = GetParam();
  HybridCacheTest::Open(options);
  InsertAndDemote(kPackable);
  EXPECT_EQ(Count(Event::kScmPackedPut), 0u);
  EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kForm, Action::kRaw, Reason::kFilling), 1u);
  FillScm();
  InsertAndDemote(kPackable + 2);
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u);
  EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kForm, Action::kPack, Reason::kFull), 1u);
  ASSERT_TRUE(stats_->SetScmCapacity(kScmBytes / 2).ok());
  ASSERT_TRUE(stats_->SetScmCapacity(kScmBytes).ok());
  InsertAndDemote(kPackable + 4);
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u) << "there is room again";
}

// A request waits for its own demotion alone, and a compaction would for each of its blocks.
TEST_P(PackedHits, WhatACompactionWritesIsLeftToTheThreadAndADemotionIsNot) {
  Open("dram_first");
  InsertAndDemote(kPackable);
  EXPECT_EQ(scm().figures().staged_puts() + scm().figures().unstaged_puts(), 0u);
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u);
  InsertHeir(kPackable + 2);
  EXPECT_EQ(scm().figures().staged_puts(), 1u);
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u);
  ExpectHit(kPackable + 2);
  scm().Drain();
  EXPECT_EQ(Count(Event::kScmPackedPut), 2u);
  ExpectHit(kPackable + 2);
}

TEST_P(PackedHits, WithoutHeirsThereIsNoStage) {
  Open("dram_first");
  const uint64_t with = stats_->scm().figures().dram().packing;
  Open("dram_first", /*heirs=*/false);
  EXPECT_LE(stats_->scm().figures().dram().packing + kUsualPackStageBytes, with);
}

TEST_P(PackedHits, AreUnpackedIntoTheBlocksOwnMemory) {
  Open("dram_first");
  InsertAndDemote(kPackable);
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u);
  EXPECT_LT(Written(), kBlockBytes * 3 / 4);
  const int made = allocator_->made;
  Cache::Handle* handle = Lookup(kPackable);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(allocator_->made, made + 1) << "one buffer, which the object kept";
  EXPECT_EQ(allocator_->live, 1);
  EXPECT_FALSE(stats_->scm().Owns(Value(handle)->data()));
  EXPECT_TRUE(ContentOf(kPackable).Matches(Value(handle)->data(), Value(handle)->bytes()));
  EXPECT_EQ(stats_->scm().figures().pinned_bytes(), 0u) << "the pin goes as soon as the block is unpacked";
  EXPECT_GE(cache_->GetCharge(handle), kBlockBytes);
  cache_->Release(handle);
  EXPECT_EQ(Count(Event::kScmPackedHit), 1u);
  EXPECT_EQ(Count(Event::kServedCopied), 1u);
}

TEST_P(PackedHits, ARawBlockBesideThemIsServedInPlace) {
  Open("dram_first");
  InsertAndDemote(kPackable + 1);
  Cache::Handle* handle = Lookup(kPackable + 1);
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(stats_->scm().Owns(Value(handle)->data()));
  cache_->Release(handle);
}

TEST_P(PackedHits, APromotedOneStaysRecordedAndIsEvictedClean) {
  Open("bidirectional");
  InsertAndDemote(kPackable);
  const uint64_t written = Count(Event::kScmWrittenBytes);
  ExpectHit(kPackable);
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  ExpectHit(kPackable);
  EXPECT_EQ(Count(Event::kDramHit), 1u);
  DemoteAll();
  EXPECT_EQ(Count(Event::kCleanEviction), 1u);
  EXPECT_EQ(Count(Event::kScmWrittenBytes), written);
}

TEST_P(PackedHits, APromotedOneMayOutliveUsInTheWrappedCache) {
  const std::shared_ptr<Cache> dram = StockLru();
  HybridCacheOptions options = Options();
  options.policy = "bidirectional";
  options.scm.pack = GetParam();
  Wrap(dram, options);
  FillScm();
  InsertAndDemote(kPackable);
  ExpectHit(kPackable);
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  cache_.reset();
  EXPECT_EQ(allocator_->live, 1);
  dram->SetCapacity(0);
  EXPECT_EQ(allocator_->live, 0);
}

TEST_P(PackedHits, ADamagedOneIsAMiss) {
  Open("dram_first");
  InsertAndDemote(kPackable);
  {
    const std::string key = KeyOf(kPackable);
    const PinnedBlock block = scm().Find(BlockKey::FromBytes(key.data()));
    ASSERT_EQ(block.form(), Form::kPacked);
    const_cast<std::byte&>(block.stored()[100]) ^= std::byte{1};
  }
  EXPECT_EQ(Lookup(kPackable), nullptr);
  EXPECT_EQ(Count(Event::kMiss), 1u);
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_EQ(allocator_->live, 0);
}

TEST_P(PackedHits, WithoutMemoryAreMisses) {
  Open("dram_first");
  InsertAndDemote(kPackable);
  allocator_->dry = true;
  EXPECT_EQ(Lookup(kPackable), nullptr);
  allocator_->dry = false;
  EXPECT_EQ(Count(Event::kAllocationFailed), 1u);
  ExpectHit(kPackable);
}

INSTANTIATE_TEST_SUITE_P(Modes, PackedHits, ::testing::Values(PackMode::kLz4, PackMode::kZstd),
                         [](const auto& mode) { return std::string(ToString(mode.param)); });

// LRUCache would keep the old one, which is in use, and say that the new one was inserted and evicted at once.
TEST_F(HybridCacheTest, AnObjectThatFindsNoRoomHidesTheOldOneOfItsKeyWhateverTheKeysSize) {
  for (const size_t key_bytes : {BlockKey::kBytes, BlockKey::kBytes + 4}) {
    std::string key = KeyOf(1);
    key.resize(key_bytes, 'k');
    Cache::Handle* in_use = nullptr;
    TestBlock* old = TestBlock::New(ContentOf(1), cache_->memory_allocator());
    ASSERT_TRUE(cache_->Insert(key, old, kData, old->charge(), &in_use).ok());
    TestBlock* larger = TestBlock::New(ContentOf(1, 2 * kDramBytes), cache_->memory_allocator());
    ASSERT_TRUE(cache_->Insert(key, larger, kData, larger->charge()).ok());
    EXPECT_EQ(cache_->Lookup(key, kData, nullptr), nullptr) << key_bytes << " bytes of key";
    cache_->Release(in_use);
  }
}

// As of a row cache that is the block cache too.
TEST_F(HybridCacheTest, BlocksThatARowPushesOutAreDemoted) {
  Open("dram_first", ServeMode::kCopy);
  ASSERT_TRUE(Insert(1).ok());
  for (uint64_t n = 0; n < 4 * kDramBytes / kBlockBytes; ++n) {
    TestBlock* const row = TestBlock::New(ContentOf(1000 + n), cache_->memory_allocator());
    std::string key = KeyOf(1000 + n);
    key.resize(key.size() + 4, 'r');
    ASSERT_TRUE(cache_->Insert(key, row, kData, row->charge()).ok());
  }
  EXPECT_EQ(Count(Event::kDemotion), 1u);
  EXPECT_EQ(Count(Event::kRefusedChanged), 0u);
  ExpectHit(1);
}

TEST_F(HybridCacheTest, BlocksTooSmallToAdoptAreCopied) {
  InsertAndDemote(1, kData, 1023);
  InsertAndDemote(2, kData, 1024);
  ExpectHit(1, kData, 1023);
  EXPECT_EQ(Count(Event::kServedCopied), 1u);
  ExpectHit(2, kData, 1024);
  EXPECT_EQ(Count(Event::kServedInPlace), 1u);
}

TEST_F(HybridCacheTest, APromotedBlockIsADramHitAndEvictedClean) {
  Open("bidirectional", ServeMode::kAuto);
  InsertAndDemote(1);
  const uint64_t written = Count(Event::kScmWrittenBytes);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kDramHit), 1u);
  DemoteAll();
  EXPECT_EQ(Count(Event::kCleanEviction), 1u);
  EXPECT_EQ(Count(Event::kScmWrittenBytes), written);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kPromotion), 2u);
}

TEST_F(HybridCacheTest, AStrictDramTierRefusesAPromotionButTheHitIsServed) {
  Open("bidirectional", ServeMode::kAuto);
  InsertAndDemote(1);
  cache_->SetCapacity(0);
  cache_->SetStrictCapacityLimit(true);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kPromotionRefused), 1u);
  EXPECT_EQ(Count(Event::kServedCopied), 1u);
}

TEST_F(HybridCacheTest, AStrictDramTierThatIsFullLeavesTheObjectToTheCaller) {
  cache_->SetCapacity(0);
  cache_->SetStrictCapacityLimit(true);
  Cache::Handle* handle = nullptr;
  EXPECT_TRUE(Insert(1, kData, kBlockBytes, &handle).IsMemoryLimit());
  EXPECT_EQ(handle, nullptr);
}

TEST_F(HybridCacheTest, ScmFirstStoresAMissAndHandsTheObjectOut) {
  Open("scm_first", ServeMode::kInPlace);
  Cache::Handle* handle = nullptr;
  ASSERT_TRUE(Insert(1, kData, kBlockBytes, &handle).ok());
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(ContentOf(1).Matches(Value(handle)->data(), kBlockBytes));
  cache_->Release(handle);
  ASSERT_TRUE(Insert(2).ok());
  EXPECT_EQ(allocator_->live, 0) << "both objects are gone from DRAM";
  EXPECT_EQ(Count(Event::kInsertToScm), 2u);
  ExpectHit(1);
  ExpectHit(2);
  EXPECT_EQ(Count(Event::kPromotion), 2u);
}

TEST_F(HybridCacheTest, ABypassedMissIsHandedOutAndKeptInNeitherTier) {
  Script script;
  Open(&script);
  EXPECT_EQ(script.made_with.dram_bytes, kDramBytes) << "the wrapped cache's capacity";
  ASSERT_TRUE(Insert(1).ok());
  script.on_miss = {Action::kBypass, Reason::kCompaction};
  Cache::Handle* handle = nullptr;
  ASSERT_TRUE(Insert(1, kData, kBlockBytes, &handle).ok());  // hides what DRAM held
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(ContentOf(1).Matches(Value(handle)->data(), kBlockBytes));
  EXPECT_EQ(Lookup(1), nullptr);
  cache_->Release(handle);
  ASSERT_TRUE(Insert(2).ok());
  EXPECT_EQ(allocator_->live, 0);
  EXPECT_EQ(Lookup(2), nullptr);
  EXPECT_EQ(Count(Event::kInsertBypassed), 2u);
  EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kMiss, Action::kBypass, Reason::kCompaction, BlockRole::kData), 2u);
}

// AutoHyperClockCache's own flag says of hardly any block that it was hit.
TEST_F(HybridCacheTest, HyperClockCachesEvictionsTellWhatWasHit) {
  Script script;
  HybridCacheOptions options = Options();
  UseScript(&options, &script);
  script.on_eviction = {Action::kDrop, Reason::kNoEvidence};
  options.dram_cache = DramCacheKind::kHyperClock;
  options.dram_bytes = 4 << 20;
  Make(options);
  constexpr uint64_t kBlocks = 64;
  for (uint64_t id = 0; id < kBlocks; ++id) ASSERT_TRUE(Insert(id).ok());
  for (uint64_t id = 0; id < kBlocks; id += 2) {
    Cache::Handle* handle = Lookup(id);
    ASSERT_NE(handle, nullptr);
    cache_->Release(handle);
  }
  for (uint64_t id = kBlocks; id < 100 * kBlocks; ++id) ASSERT_TRUE(Insert(id).ok());
  uint64_t evicted = 0, wrong = 0;
  for (const BlockFacts& block : script.evictions) {
    for (uint64_t id = 0; id < kBlocks; ++id) {
      if (block.key != BlockKey::FromBytes(KeyOf(id).data())) continue;
      ++evicted;
      wrong += block.was_hit_in_dram != (id % 2 == 0);
    }
  }
  EXPECT_EQ(evicted, kBlocks);
  EXPECT_LE(wrong, kBlocks / 8) << "one in sixteen may share its bit with another";
}

TEST_F(HybridCacheTest, AMovedBlockIsInDramAlone) {
  Script script;
  script.on_scm_hit = {Action::kMove, Reason::kFrequency};
  Open(&script);
  InsertAndDemote(1);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  EXPECT_EQ(stats_->scm().figures().resident_blocks(), 0u);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kDramHit), 1u);
  DemoteAll();
  EXPECT_EQ(Count(Event::kCleanEviction), 0u);
  EXPECT_EQ(Count(Event::kScmPut), 2u) << "a moved block is written again";
}

TEST_F(HybridCacheTest, ThePolicyChangesWhileTheCacheIsUsed) {
  InsertAndDemote(1);
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kServedInPlace), 1u);
  EXPECT_EQ(stats_->PolicyName(), "dram_first");
  ASSERT_TRUE(stats_->SetPolicy("scm_first").ok());
  EXPECT_EQ(stats_->PolicyName(), "scm_first");
  ExpectHit(1);
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  ASSERT_TRUE(Insert(2).ok());
  EXPECT_EQ(Count(Event::kInsertToScm), 1u) << "misses are still not asked about";
  EXPECT_NE(stats_->Report().find("policy=scm_first"), std::string::npos);
  const Status refused = stats_->SetPolicy("best");
  EXPECT_NE(refused.message().find("dram_first"), std::string::npos);
  EXPECT_EQ(stats_->PolicyName(), "scm_first");
}

TEST_F(HybridCacheTest, AnErasedKeyReturnsFromNeitherTier) {
  ASSERT_TRUE(Insert(1).ok());
  cache_->Erase(KeyOf(1));
  EXPECT_EQ(Lookup(1), nullptr);
  InsertAndDemote(2);
  cache_->Erase(KeyOf(2));
  EXPECT_EQ(Lookup(2), nullptr);
  InsertAndDemote(3);
  cache_->EraseUnRefEntries();
  EXPECT_EQ(Lookup(3), nullptr);
}

TEST_F(HybridCacheTest, AReleaseThatErasesForgetsTheRecordToo) {  // how RocksDB drops the blocks of deleted files
  Open("bidirectional", ServeMode::kAuto);
  InsertAndDemote(1);
  Cache::Handle* handle = Lookup(1);  // promoted: in both tiers
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(cache_->Release(handle, /*erase_if_last_ref=*/true));
  EXPECT_EQ(Lookup(1), nullptr);
}

TEST_F(HybridCacheTest, DramHitsOfManyThreadsAddUp) {
  ASSERT_TRUE(Insert(1).ok());
  constexpr int kHits = 1000;
  for (int round = 0; round < 2; ++round) {  // slots are reused
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < DramHits::kOwnedSlots + 10; ++i) {
      threads.emplace_back([this] {
        for (int hit = 0; hit < kHits; ++hit) cache_->Release(Lookup(1));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(Count(Event::kDramHit), 2u * kHits * (DramHits::kOwnedSlots + 10));
}

TEST_F(HybridCacheTest, AnInsertReplacesWhatEitherTierHeld) {
  const auto insert_generation = [&](uint64_t generation) {
    TestBlock* obj = TestBlock::New(Content(1, generation, kBlockBytes), cache_->memory_allocator());
    ASSERT_TRUE(cache_->Insert(KeyOf(1), obj, kData, obj->charge()).ok());
  };
  const auto expect_generation = [&](uint64_t generation) {
    Cache::Handle* handle = Lookup(1);
    ASSERT_NE(handle, nullptr);
    EXPECT_TRUE(Content(1, generation, kBlockBytes).Matches(Value(handle)->data(), kBlockBytes)) << generation;
    cache_->Release(handle);
  };
  insert_generation(1);
  DemoteAll();
  insert_generation(2);  // over a record
  expect_generation(2);
  DemoteAll();
  expect_generation(2);
  insert_generation(3);  // over an object, which LRUCache reports as evicted
  DemoteAll();
  expect_generation(3);
}

TEST_F(HybridCacheTest, EachRoleDemotesAndIsCountedAsItself) {
  for (size_t r = 0; r < kBlockRoles; ++r) InsertAndDemote(r, kHelpers[r]);
  const CounterSnapshot counters = stats_->Counters();
  for (size_t r = 0; r < kBlockRoles; ++r) {
    EXPECT_EQ(counters.of(Event::kDemotion, static_cast<BlockRole>(r)), 1u) << r;
    ExpectHit(r, kHelpers[r]);
  }
}

TEST_F(HybridCacheTest, WhatCannotBeSavedIsRefusedByName) {
  ASSERT_TRUE(Insert(1, &kBasicHelper<rocksdb::CacheEntryRole::kDataBlock>).ok());
  TestBlock* obj = TestBlock::New(ContentOf(2), cache_->memory_allocator());
  ASSERT_TRUE(cache_->Insert("a key of another size", obj, kData, obj->charge()).ok());
  DemoteAll();
  EXPECT_EQ(Count(Event::kRefusedNotPersistable), 1u);
  EXPECT_EQ(Count(Event::kRefusedKeySize), 1u);
  EXPECT_EQ(Lookup(1), nullptr);
  EXPECT_EQ(cache_->Lookup("a key of another size", kData, nullptr), nullptr);
}

TEST_F(HybridCacheTest, ALookupWithoutCallbacksAsksTheDramTierOnly) {
  InsertAndDemote(1);
  EXPECT_EQ(cache_->BasicLookup(KeyOf(1), nullptr), nullptr);
  EXPECT_EQ(Lookup(1, &kBasicHelper<rocksdb::CacheEntryRole::kDataBlock>), nullptr);
  ExpectHit(1);
}

TEST_F(HybridCacheTest, AsyncLookupsFindScmBlocks) {
  InsertAndDemote(1);
  const std::string keys[] = {KeyOf(1), KeyOf(2)};
  Cache::AsyncLookupHandle handles[2];
  for (int i = 0; i < 2; ++i) {
    handles[i].key = keys[i];
    handles[i].helper = kData;
    cache_->StartAsyncLookup(handles[i]);
  }
  cache_->WaitAll(handles, 2);
  EXPECT_EQ(handles[1].Result(), nullptr);
  ASSERT_NE(handles[0].Result(), nullptr);
  EXPECT_TRUE(ContentOf(1).Matches(Value(handles[0].Result())->data(), kBlockBytes));
  cache_->Release(handles[0].Result());
}

TEST_F(HybridCacheTest, RocksDbCountsAnScmHitAsASecondaryHit) {
  const std::shared_ptr<rocksdb::Statistics> statistics = rocksdb::CreateDBStatistics();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  InsertAndDemote(1, kHelpers[2]);
  Cache::Handle* handle = Lookup(1, kHelpers[2], statistics.get());
  ASSERT_NE(handle, nullptr);
  cache_->Release(handle);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  EXPECT_EQ(statistics->getTickerCount(rocksdb::SECONDARY_CACHE_HITS), 1u);
  EXPECT_EQ(statistics->getTickerCount(rocksdb::SECONDARY_CACHE_FILTER_HITS), 1u);
  EXPECT_EQ(statistics->getTickerCount(rocksdb::SECONDARY_CACHE_DATA_HITS), 0u);
  EXPECT_EQ(rocksdb::get_perf_context()->secondary_cache_hit_count, 1u);
}

// Create callbacks that do what RocksDB's do not, or only when they fail.
rocksdb::Status FailToCreate(const rocksdb::Slice&, rocksdb::CompressionType, rocksdb::CacheTier, Cache::CreateContext*,
                             MemoryAllocator*, Cache::ObjectPtr*, size_t*) {
  return rocksdb::Status::Corruption("no");
}
rocksdb::Status CreateNothing(const rocksdb::Slice& data, rocksdb::CompressionType, rocksdb::CacheTier,
                              Cache::CreateContext*, MemoryAllocator* allocator, Cache::ObjectPtr* obj, size_t*) {
  const TestBlock given_up(data.size(), allocator);
  *obj = nullptr;
  return rocksdb::Status::OK();
}
rocksdb::Status CreateElsewhere(const rocksdb::Slice& data, rocksdb::CompressionType type, rocksdb::CacheTier source,
                                Cache::CreateContext* context, MemoryAllocator*, Cache::ObjectPtr* obj,
                                size_t* charge) {
  return CreateTestBlock(data, type, source, context, /*allocator=*/nullptr, obj, charge);
}
rocksdb::Status CreateWithScratch(const rocksdb::Slice& data, rocksdb::CompressionType type, rocksdb::CacheTier source,
                                  Cache::CreateContext* context, MemoryAllocator* allocator, Cache::ObjectPtr* obj,
                                  size_t* charge) {
  const TestBlock scratch(data.size() / 2, allocator);
  return CreateTestBlock(data, type, source, context, allocator, obj, charge);
}
rocksdb::Status CreateOnSecondTry(const rocksdb::Slice& data, rocksdb::CompressionType type, rocksdb::CacheTier source,
                                  Cache::CreateContext* context, MemoryAllocator* allocator, Cache::ObjectPtr* obj,
                                  size_t* charge) {
  { const TestBlock given_up(data.size(), allocator); }
  return CreateTestBlock(data, type, source, context, allocator, obj, charge);
}

template <Cache::CreateCallback kCreate>
const Helper kOddHelper{rocksdb::CacheEntryRole::kDataBlock,
                        &DeleteTestBlock,
                        &TestBlockSize,
                        &SaveTestBlock,
                        kCreate,
                        &kBasicHelper<rocksdb::CacheEntryRole::kDataBlock>};

class OddCallback : public HybridCacheTest, public ::testing::WithParamInterface<ServeMode> {
 protected:
  void SetUp() override { Open("dram_first", GetParam()); }
};

TEST_P(OddCallback, ThatFailsIsAMiss) {
  InsertAndDemote(1);
  EXPECT_EQ(Lookup(1, &kOddHelper<&FailToCreate>), nullptr);
  EXPECT_EQ(Lookup(1, &kOddHelper<&CreateNothing>), nullptr);
  EXPECT_EQ(Count(Event::kCreateFailed), 2u);
  EXPECT_EQ(Count(Event::kMiss), 2u);
  EXPECT_EQ(stats_->scm().figures().pinned_bytes(), 0u);
  ExpectHit(1);
}

TEST_P(OddCallback, ThatAllocatesOtherwiseIsServedAndCounted) {
  InsertAndDemote(1);
  ExpectHit(1, &kOddHelper<&CreateElsewhere>);
  ExpectHit(1, &kOddHelper<&CreateWithScratch>);
  ExpectHit(1, &kOddHelper<&CreateOnSecondTry>);
  EXPECT_EQ(Count(Event::kAdoptionFailed), GetParam() == ServeMode::kInPlace ? 3u : 0u);
  EXPECT_EQ(stats_->scm().figures().pinned_bytes(), 0u);
  EXPECT_EQ(allocator_->live, 0);
}

TEST_P(OddCallback, ThatFindsNoMemoryIsAMiss) {
  InsertAndDemote(1, kData, 500);  // too small to adopt
  allocator_->dry = true;
  EXPECT_EQ(Lookup(1), nullptr);
  allocator_->dry = false;
  EXPECT_EQ(Count(Event::kAllocationFailed), 1u);
  ExpectHit(1, kData, 500);
}

INSTANTIATE_TEST_SUITE_P(Serve, OddCallback, ::testing::Values(ServeMode::kInPlace, ServeMode::kCopy),
                         [](const auto& test) { return test.param == ServeMode::kCopy ? "copy" : "in_place"; });

TEST_F(HybridCacheTest, ANullAllocatorMeansMalloc) {
  Make(Options());
  EXPECT_EQ(cache_->memory_allocator(), nullptr);
  InsertAndDemote(1);
  ExpectHit(1);
  ExpectHit(1, &kOddHelper<&CreateWithScratch>);
}

TEST_F(HybridCacheTest, TheSecondaryCacheIsTheScmTier) {
  size_t bytes = 0;
  ASSERT_TRUE(cache_->GetSecondaryCacheCapacity(bytes).ok());
  EXPECT_EQ(bytes, kScmBytes);
  ASSERT_TRUE(cache_->GetSecondaryCachePinnedUsage(bytes).ok());
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(cache_->GetCapacity(), kDramBytes);
}

TEST_F(HybridCacheTest, TheReportNamesEveryCounterAndTheMedium) {
  InsertAndDemote(1);
  const std::string report = cache_->GetPrintableOptions();
  for (size_t e = 0; e < kEvents; ++e) {
    EXPECT_NE(report.find(std::string(ToString(static_cast<Event>(e))) + ": "), std::string::npos) << e;
  }
  EXPECT_NE(report.find("demotion: 1 (data 1)"), std::string::npos) << report;
  const char* const emulated = stats_->scm().medium().info().emulated ? "true" : "false";
  EXPECT_NE(report.find(std::string("medium.emulated: ") + emulated), std::string::npos);
  EXPECT_NE(report.find("capacity : "), std::string::npos) << "the DRAM tier's own options";
}

TEST_F(HybridCacheTest, TheWrappedCacheMayOutliveUs) {
  const std::shared_ptr<Cache> dram = StockLru();
  Wrap(dram, Options());
  ASSERT_TRUE(Insert(1).ok());
  cache_.reset();
  dram->SetCapacity(0);  // evicts, and asks nobody
  EXPECT_EQ(allocator_->live, 0);
}

TEST_F(HybridCacheTest, OnlyAnUnusedStockCacheIsWrapped) {
  std::shared_ptr<Cache> out;
  EXPECT_EQ(WrapCache(nullptr, Options(), &out).code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(WrapCache(cache_, Options(), &out).code(), Status::Code::kInvalidArgument);

  rocksdb::CompressedSecondaryCacheOptions secondary;
  secondary.capacity = 1 << 20;
  rocksdb::LRUCacheOptions lru;
  lru.capacity = kDramBytes;
  lru.secondary_cache = secondary.MakeSharedSecondaryCache();
  EXPECT_NE(WrapCache(lru.MakeSharedCache(), Options(), &out).message().find("secondary cache"), std::string::npos);

  const std::shared_ptr<Cache> used = StockLru();
  TestBlock* obj = TestBlock::New(ContentOf(1), used->memory_allocator());
  ASSERT_TRUE(used->Insert(KeyOf(1), obj, kData, obj->charge()).ok());
  EXPECT_NE(WrapCache(used, Options(), &out).message().find("1 entries"), std::string::npos);
  EXPECT_EQ(out, nullptr);
}

TEST_F(HybridCacheTest, AHyperClockCacheIsWrappedToo) {
  HybridCacheOptions options = Options();
  options.policy = "dram_first";
  Wrap(rocksdb::HyperClockCacheOptions(kDramBytes, 0, 0).MakeSharedCache(), options);
  for (uint64_t id = 0; id < 2000; ++id) ASSERT_TRUE(Insert(id).ok());
  EXPECT_GT(Count(Event::kDemotion), 500u);
  uint64_t hits = 0;
  for (uint64_t id = 0; id < 2000; ++id) {
    Cache::Handle* handle = Lookup(id);
    if (handle == nullptr) continue;
    ++hits;
    EXPECT_TRUE(ContentOf(id).Matches(Value(handle)->data(), kBlockBytes));
    cache_->Release(handle);
  }
  EXPECT_GT(hits, 1500u);
}

TEST_F(HybridCacheTest, StockCachesHaveNoHybridStats) { EXPECT_EQ(GetHybridStats(StockLru().get()), nullptr); }

TEST_F(HybridCacheTest, BadOptionsBuildNothing) {
  std::shared_ptr<Cache> out;
  HybridCacheOptions options = Options();
  options.policy = "no such policy";
  EXPECT_FALSE(NewHybridCache(options, &out).ok());
  options = Options();
  options.dram_bytes = 0;
  EXPECT_FALSE(NewHybridCache(options, &out).ok());
  options = Options();
  options.dram_shard_bits = 25;
  EXPECT_FALSE(NewHybridCache(options, &out).ok());
  options = Options();
  options.dram_total_bytes = 64 << 20;
  options.scm.expected_block_bytes = 0;
  EXPECT_FALSE(WrapCache(StockLru(), options, &out).ok());
  EXPECT_EQ(out, nullptr);
}

// RocksDB's LRUCache frees a block that is released while it holds too much, and tells nobody.
TEST_F(HybridCacheTest, BlocksThatAreReleasedToAnOverfullLruCacheStayInOneOfTheTiers) {
  constexpr uint64_t kBlocks = 400, kSlack = 2 * LruOverflow::kCallsOfCheck;
  constexpr size_t kCapacity = 512 << 10;
  cache_->SetCapacity(kCapacity);
  std::vector<Cache::Handle*> pinned(kBlocks);
  for (uint64_t id = 0; id < kBlocks; ++id) ASSERT_TRUE(Insert(id, kData, kBlockBytes, &pinned[id]).ok());
  EXPECT_GT(cache_->GetUsage(), 3 * kCapacity);
  for (Cache::Handle* const handle : pinned) cache_->Release(handle);
  EXPECT_LE(cache_->GetUsage(), kCapacity + kSlack * (kBlockBytes + 500));
  uint64_t found = 0;
  for (uint64_t id = 0; id < kBlocks; ++id) {
    Cache::Handle* const handle = Lookup(id);
    if (handle == nullptr) continue;
    ++found;
    EXPECT_TRUE(ContentOf(id).Matches(Value(handle)->data(), Value(handle)->bytes()));
    cache_->Release(handle);
  }
  EXPECT_GE(found, kBlocks - kSlack);
  for (uint64_t id = kBlocks; id < kBlocks + kSlack; ++id) ASSERT_TRUE(Insert(id).ok());
  EXPECT_LE(cache_->GetUsage(), kCapacity) << "its own capacity again";
}

TEST_F(HybridCacheTest, AnOverfullLruCacheTakesTheCapacityThatIsSetMeanwhile) {
  cache_->SetCapacity(512 << 10);
  std::vector<Cache::Handle*> pinned(400);
  for (uint64_t id = 0; id < pinned.size(); ++id) ASSERT_TRUE(Insert(id, kData, kBlockBytes, &pinned[id]).ok());
  cache_->SetCapacity(256 << 10);
  for (Cache::Handle* const handle : pinned) cache_->Release(handle);
  for (uint64_t id = 0; id < 64; ++id) ASSERT_TRUE(Insert(id).ok());
  EXPECT_EQ(cache_->GetCapacity(), 256u << 10);
  EXPECT_LE(cache_->GetUsage(), 256u << 10);
}

TEST_F(HybridCacheTest, AnOverfullLruCacheOfAStrictLimitStaysStrict) {
  cache_->SetCapacity(512 << 10);
  cache_->SetStrictCapacityLimit(true);
  std::vector<Cache::Handle*> pinned;
  for (uint64_t id = 0; id < 400; ++id) {
    Cache::Handle* handle = nullptr;
    if (Insert(id, kData, kBlockBytes, &handle).ok()) pinned.push_back(handle);
  }
  EXPECT_LE(cache_->GetUsage(), 512u << 10);
  for (Cache::Handle* const handle : pinned) cache_->Release(handle);
}

TEST_F(HybridCacheTest, AnOverfullLruCacheWhoseLimitBecomesStrictTakesNothingMore) {
  cache_->SetCapacity(512 << 10);
  std::vector<Cache::Handle*> pinned(400);
  for (uint64_t id = 0; id < pinned.size(); ++id) ASSERT_TRUE(Insert(id, kData, kBlockBytes, &pinned[id]).ok());
  cache_->SetStrictCapacityLimit(true);
  for (uint64_t id = 400; id < 400 + 4 * LruOverflow::kCallsOfCheck; ++id) {
    Cache::Handle* handle = nullptr;
    EXPECT_FALSE(Insert(id, kData, kBlockBytes, &handle).ok()) << id;
    if (handle != nullptr) pinned.push_back(handle);
  }
  for (Cache::Handle* const handle : pinned) cache_->Release(handle);
  EXPECT_LE(cache_->GetUsage(), 512u << 10);
}

}  // namespace
}  // namespace mezz::test
