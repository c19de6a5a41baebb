// SPDX-License-Identifier: Apache-2.0
// Moves between the tiers that the user of a key overtakes, forced step by step: a callback of the moved block lets
// another thread act in the middle of the move.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "integration/hybrid_cache.h"
#include "rocksdb/version.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/versioned_cache.h"

namespace mezz::test {
namespace {

constexpr size_t kBlockBytes = 4000;
constexpr uint64_t kStranger = 1000;

// Which callbacks throw.
bool throwing_size = false, throwing_save = false, throwing_create = false;
void ThrowIf(bool throwing) {
  if (throwing) throw std::runtime_error("a callback of a block throws");
}

// What the next call of size_cb or create_cb for kMoved does first; once.
constexpr uint64_t kMoved = 1;
std::function<void()> in_the_middle;

void ActOnce(const void* bytes, size_t size) {
  if (!in_the_middle || VersionIn({static_cast<const char*>(bytes), size}, kMoved) == std::nullopt) return;
  const auto act = std::exchange(in_the_middle, nullptr);
  std::thread(act).join();
}

#if ROCKSDB_MAJOR < 8
size_t HookedSize(void* object) {
  const std::string& bytes = static_cast<BlockV7*>(object)->bytes;
  ActOnce(bytes.data(), bytes.size());
  ThrowIf(throwing_size);
  return SizeOfBlock(object);
}
rocksdb::Status HookedCreate(const void* bytes, size_t size, void** object, size_t* charge) {
  ActOnce(bytes, size);
  ThrowIf(throwing_create);
  return CreateBlock(bytes, size, object, charge);
}
rocksdb::Status HookedSave(void* object, size_t offset, size_t bytes, void* to) {
  ThrowIf(throwing_save);
  return SaveBlock(object, offset, bytes, to);
}
const rocksdb::Cache::CacheItemHelper kHooked(&HookedSize, &HookedSave, &DeleteBlock);
#else
size_t HookedSize(rocksdb::Cache::ObjectPtr object) {
  const auto* const block = static_cast<TestBlock*>(object);
  ActOnce(block->data(), block->bytes());
  ThrowIf(throwing_size);
  return TestBlockSize(object);
}
rocksdb::Status HookedCreate(const rocksdb::Slice& data, rocksdb::CompressionType type, rocksdb::CacheTier tier,
                             rocksdb::Cache::CreateContext* context, rocksdb::MemoryAllocator* allocator,
                             rocksdb::Cache::ObjectPtr* object, size_t* charge) {
  ActOnce(data.data(), data.size());
  ThrowIf(throwing_create);
  return CreateTestBlock(data, type, tier, context, allocator, object, charge);
}
rocksdb::Status HookedSave(rocksdb::Cache::ObjectPtr object, size_t offset, size_t bytes, char* to) {
  ThrowIf(throwing_save);
  return SaveTestBlock(object, offset, bytes, to);
}
const Helper kHooked{rocksdb::CacheEntryRole::kDataBlock,
                     &DeleteTestBlock,
                     &HookedSize,
                     &HookedSave,
                     &HookedCreate,
                     &kBasicHelper<rocksdb::CacheEntryRole::kDataBlock>};
#endif

class HybridMoves : public HybridTest, public ::testing::WithParamInterface<DramCacheKind> {
 protected:
  void SetUp() override {
    HybridCacheOptions options = OptionsOf(40'000, 8 << 20);
    options.dram_cache = GetParam();
    UseScript(&options, &script_);
    Make(options);
    blocks_.emplace(cache_.get(), &kHooked, &HookedCreate);
  }
  void TearDown() override {
    EXPECT_FALSE(in_the_middle) << "the move that the test is about never happened";
    HybridTest::TearDown();
  }

  // Until strangers have driven what DRAM held into the SCM tier, or out.
  void FillDram() {
    for (uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(blocks_->Insert(kStranger + next_stranger_++, 1, kBlockBytes));
  }
  uint64_t Found(uint64_t id) const { return blocks_->Found(id); }

  Script script_;
  std::optional<VersionedCache> blocks_;
  uint64_t next_stranger_ = 0;
};

TEST_P(HybridMoves, ADemotionThatAnInsertOvertakesIsNotMade) {
  ASSERT_TRUE(blocks_->Insert(kMoved, /*version=*/1, kBlockBytes));
  in_the_middle = [&] { ASSERT_TRUE(blocks_->Insert(kMoved, 2, kBlockBytes)); };
  FillDram();
  EXPECT_GT(Count(Event::kRefusedChanged), 0u) << "version 2 hides it, and would be compared with it when it leaves";
  script_.on_eviction = {Action::kDrop, Reason::kNoEvidence};
  FillDram();  // version 2 leaves DRAM, too, and hides nothing any more
  EXPECT_NE(Found(kMoved), 1u) << "version 1 was demoted after version 2 was inserted";
}

TEST_P(HybridMoves, ADemotionThatAnEraseOvertakesIsNotMade) {
  ASSERT_TRUE(blocks_->Insert(kMoved, 1, kBlockBytes));
  in_the_middle = [&] { blocks_->Erase(kMoved); };
  FillDram();
  EXPECT_EQ(Found(kMoved), 0u);
  EXPECT_EQ(Count(Event::kRefusedChanged), 1u);
}

TEST_P(HybridMoves, APromotionThatAnEraseOvertakesIsServedAndNotKept) {
  script_.on_scm_hit = {Action::kPromote, Reason::kFrequency};
  ASSERT_TRUE(blocks_->Insert(kMoved, 1, kBlockBytes));
  FillDram();
  in_the_middle = [&] { blocks_->Erase(kMoved); };
  EXPECT_EQ(Found(kMoved), 1u) << "found before it was erased";
  EXPECT_EQ(Found(kMoved), 0u);
  EXPECT_EQ(Count(Event::kPromotionRefused), 1u);
}

TEST_P(HybridMoves, APromotionThatAnInsertOvertakesDoesNotHideTheNewBytes) {
  script_.on_scm_hit = {Action::kPromote, Reason::kFrequency};
  ASSERT_TRUE(blocks_->Insert(kMoved, 1, kBlockBytes));
  FillDram();
  in_the_middle = [&] { ASSERT_TRUE(blocks_->Insert(kMoved, 2, kBlockBytes)); };
  EXPECT_EQ(Found(kMoved), 1u) << "found before it was replaced";
  EXPECT_EQ(Found(kMoved), 2u);
}

TEST_P(HybridMoves, AnInsertOverOldBytesHidesThemInBothTiers) {
  ASSERT_TRUE(blocks_->Insert(kMoved, 1, kBlockBytes));
  ASSERT_TRUE(blocks_->Insert(kMoved, 2, kBlockBytes));
  EXPECT_EQ(Found(kMoved), 2u);
  FillDram();
  EXPECT_EQ(Found(kMoved), 2u);
  ASSERT_TRUE(blocks_->Insert(kMoved, 3, kBlockBytes));
  FillDram();
  EXPECT_EQ(Found(kMoved), 3u);
}

TEST_P(HybridMoves, AShrinkOfDramDemotesWhatItEvicts) {
  if (GetParam() == DramCacheKind::kHyperClock) GTEST_SKIP() << "it evicts when something is inserted";
  ASSERT_TRUE(blocks_->Insert(kMoved, 1, kBlockBytes));
  cache_->SetCapacity(0);
  EXPECT_EQ(Found(kMoved), 1u);
}

// Enough to fill the medium several times over, if a failed put kept its space or its pin.
TEST_P(HybridMoves, CallbacksThatThrowAreRefusalsAndMissesAndLeakNothing) {
  for (const Decision on_miss :
       {Decision{Action::kToDram, Reason::kPolicyDefault}, Decision{Action::kToScm, Reason::kPolicyDefault}}) {
    script_.on_miss = on_miss;
    for (bool* throwing : {&throwing_size, &throwing_save}) {
      *throwing = true;
      for (uint64_t id = 0; id < 5000; ++id) ASSERT_TRUE(blocks_->Insert(10'000 + id, 1, kBlockBytes));
      *throwing = false;
      ExpectSound(cache_.get());
    }
  }
  EXPECT_GE(Count(Event::kRefusedFillFailed), 19'900u);
  EXPECT_EQ(Count(Event::kDemotion) + Count(Event::kInsertToScm), 0u);
  script_.on_miss = {Action::kToDram, Reason::kPolicyDefault};
  ASSERT_TRUE(blocks_->Insert(kMoved, 1, kBlockBytes));
  FillDram();
  for (const Action serve : {Action::kInPlace, Action::kPromote, Action::kMove}) {
    script_.on_scm_hit = {serve, Reason::kPolicyDefault};
    throwing_create = true;
    EXPECT_EQ(Found(kMoved), 0u);
    throwing_create = false;
    ExpectSound(cache_.get());
  }
  EXPECT_EQ(Found(kMoved), 1u);
}

#if ROCKSDB_MAJOR < 8
INSTANTIATE_TEST_SUITE_P(All, HybridMoves, ::testing::Values(DramCacheKind::kLru), [](const auto&) { return "lru"; });
#else
INSTANTIATE_TEST_SUITE_P(All, HybridMoves, ::testing::Values(DramCacheKind::kLru, DramCacheKind::kHyperClock),
                         [](const auto& test) { return NameOf(test.param); });
#endif

}  // namespace
}  // namespace mezz::test
