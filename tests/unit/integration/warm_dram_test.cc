// SPDX-License-Identifier: Apache-2.0
// What the DRAM tier held, over a restart: it is written where SCM has it not, and goes back at its first hit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "integration/hybrid_cache.h"
#include "integration/warm_budget.h"
#include "rocksdb/version.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/versioned_cache.h"

namespace mezz::test {
namespace {

using ::testing::HasSubstr;

// The policy of these tests leaves in SCM what is hit there. A file is warm without being told.
HybridCacheOptions RestartOptions(const ScratchFile& file, Script* script) {
  HybridCacheOptions options = SmallOptions(MediumKind::kFile, file, /*dram_bytes=*/200'000, 16 * kSegmentBytesMin);
  UseScript(&options, script);
  return options;
}

class WarmDram : public HybridTest, public ::testing::WithParamInterface<DramCacheKind> {
 protected:
  static constexpr size_t kBlockBytes = 4000;
  static constexpr uint64_t kBlocks = 20;  // they fit into DRAM together

  void SetUp() override { options_.dram_cache = GetParam(); }
  void Open() {
    Close();
    Make(options_);
    stats_->scm().WaitUntilRecovered();
    blocks_.emplace(cache_.get());
  }
  void Close() { HybridTest::TearDown(); }
  void Insert(uint64_t first, uint64_t last, uint64_t version) {
    for (uint64_t id = first; id < last; ++id) ASSERT_TRUE(blocks_->Insert(id, version, kBlockBytes));
  }
  // How many are found, each with this version.
  uint64_t Found(uint64_t first, uint64_t last, uint64_t version) {
    uint64_t found = 0;
    for (uint64_t id = first; id < last; ++id) {
      const uint64_t is = blocks_->Found(id);
      if (is == 0) continue;
      EXPECT_EQ(is, version) << id;
      ++found;
    }
    return found;
  }
  // What DRAM answers of them.
  uint64_t InDram(uint64_t first, uint64_t last, uint64_t version) {
    const uint64_t before = Count(Event::kDramHit);
    Found(first, last, version);
    return Count(Event::kDramHit) - before;
  }

  Script script_;
  HybridCacheOptions options_ = RestartOptions(file_, &script_);
  std::optional<VersionedCache> blocks_;
};

TEST_P(WarmDram, WhatOnlyDramHeldIsFoundAndGoesBackAtItsFirstHit) {
  Open();
  Insert(1, 1 + kBlocks, 7);
  EXPECT_EQ(Count(Event::kScmPut), 0u);
  Open();
  EXPECT_EQ(stats_->scm().recovery().in_dram, kBlocks);
  EXPECT_EQ(Found(1, 1 + kBlocks, 7), kBlocks);
  EXPECT_EQ(Count(Event::kPromotion), kBlocks) << "the policy would have left them where they are";
  EXPECT_EQ(InDram(1, 1 + kBlocks, 7), kBlocks);
  EXPECT_THAT(stats_->Report(), HasSubstr("dram.warmed_bytes: " + std::to_string(kBlocks * kBlockBytes) + "\n"));
  Open();  // by now SCM has them: nothing is written
  EXPECT_EQ(stats_->scm().recovery().in_dram, kBlocks);
  EXPECT_EQ(stats_->scm().figures().resident_blocks(), kBlocks);
}

TEST_P(WarmDram, WhatLayInScmAloneStaysThere) {
  Open();
  Insert(1, 200, 3);
  script_.on_eviction = {Action::kDrop, Reason::kNoEvidence};
  ASSERT_GE(Count(Event::kDemotion), 100u);
  const uint64_t demoted = Count(Event::kDemotion);
  Open();
  EXPECT_EQ(stats_->scm().recovery().in_dram, 199 - demoted);
  EXPECT_EQ(Found(1, 200, 3), 199u);
  EXPECT_EQ(Count(Event::kPromotion), 199 - demoted);
}

TEST_P(WarmDram, WhatWasPromotedGoesBackWithoutBeingWritten) {
  Open();
  Insert(1, 200, 3);
  script_.on_scm_hit = {Action::kPromote, Reason::kFrequency};
  ASSERT_EQ(Found(1, 11, 3), 10u);
  script_.on_scm_hit = {Action::kInPlace, Reason::kPolicyDefault};
  ASSERT_EQ(InDram(1, 11, 3), 10u);
  Open();
  EXPECT_EQ(Found(1, 11, 3), 10u);
  EXPECT_EQ(Count(Event::kPromotion), 10u);
}

TEST_P(WarmDram, NoMoreIsWrittenThanTheOptionSays) {
  options_.warm_dram_bytes = 5 * kBlockBytes + kBlockBytes / 2;
  Open();
  Insert(1, 1 + kBlocks, 7);
  Open();
  const uint64_t found = Found(1, 1 + kBlocks, 7);
  EXPECT_LE(found, 5u);
  EXPECT_GE(found, 3u);
}

TEST_P(WarmDram, TheHottestAreWritten) {
  if (ROCKSDB_MAJOR >= 8 && GetParam() == DramCacheKind::kLru) GTEST_SKIP() << "LRUCache does not tell what was hit";
  options_.warm_dram_bytes = 5 * kBlockBytes + kBlockBytes / 2;
  Open();
  Insert(1, 1 + kBlocks, 7);
  ASSERT_EQ(InDram(6, 11, 7), 5u);
  Open();
  EXPECT_EQ(Found(6, 11, 7), 5u);
}

// Half of the SCM tier is all that may be written.
TEST_P(WarmDram, OfMoreThanHalfTheScmTierTheHottestAreWritten) {
  if (ROCKSDB_MAJOR >= 8 && GetParam() == DramCacheKind::kLru) GTEST_SKIP() << "LRUCache does not tell what was hit";
  options_.scm.capacity_bytes = kSegmentsMin * kSegmentBytesMin;
  options_.dram_bytes = options_.scm.capacity_bytes * 9 / 10;
  Open();
  const uint64_t last = options_.scm.capacity_bytes / 2 / kBlockBytes + 100;
  Insert(1, last, 7);
  ASSERT_EQ(Count(Event::kScmPut), 0u);
  ASSERT_EQ(InDram(last - 50, last, 7), 50u);
  Open();
  EXPECT_EQ(Found(last - 50, last, 7), 50u);
}

TEST_P(WarmDram, NoMoreIsPromotedThanTheOptionSays) {
  Open();
  Insert(1, 1 + kBlocks, 7);
  Close();
  options_.warm_dram_bytes = 5 * kBlockBytes + kBlockBytes / 2;
  Open();
  EXPECT_EQ(Found(1, 1 + kBlocks, 7), kBlocks);
  EXPECT_EQ(Count(Event::kPromotion), 5u);
  EXPECT_EQ(InDram(1, 6, 7), 5u) << "the first that were asked for";
}

TEST_P(WarmDram, OffNeitherWritesNorPromotes) {
  options_.warm_dram_bytes = 0;
  Open();
  Insert(1, 1 + kBlocks, 7);
  Open();
  EXPECT_EQ(Found(1, 1 + kBlocks, 7), 0u);
  Close();
  options_.warm_dram_bytes.reset();
  Open();
  Insert(1, 1 + kBlocks, 8);
  Close();
  options_.warm_dram_bytes = 0;
  Open();
  EXPECT_EQ(Found(1, 1 + kBlocks, 8), kBlocks);
  EXPECT_EQ(Count(Event::kPromotion), 0u);
}

TEST_P(WarmDram, WhatWasErasedOrReplacedStaysSo) {
  Open();
  Insert(1, 1 + kBlocks, 1);
  Insert(1, 6, 2);
  for (uint64_t id = 6; id < 11; ++id) blocks_->Erase(id);
  Open();
  EXPECT_EQ(Found(1, 6, 2), 5u);
  EXPECT_EQ(Found(6, 11, 1), 0u);
  EXPECT_EQ(Found(11, 1 + kBlocks, 1), kBlocks - 10);
}

// A second passes with each look at the clock: one for the start, one for each block that SCM has not.
TEST_P(WarmDram, TheCloseEndsInTime) {
  uint64_t seconds = 0;
  options_.now_ns = [&] { return ++seconds * 1'000'000'000; };
  Open();
  Insert(1, 1 + kBlocks, 7);
  Open();
  EXPECT_EQ(Found(1, 1 + kBlocks, 7), HybridCacheOptions::kWarmSaveSeconds - 1);
  Close();
}

// On a full medium the close needs room, and the oldest records are of blocks that DRAM holds.
TEST_P(WarmDram, WhatScmHasOfItMakesNoRoomForTheRest) {
  options_.scm.pack = PackMode::kOff;
  options_.dram_bytes = 1 << 20;
  Open();
  constexpr uint64_t kLast = 2500;
  Insert(1, kLast, 5);
  script_.on_eviction = {Action::kDrop, Reason::kNoEvidence};
  uint64_t oldest = 1;
  while (oldest < kLast && blocks_->Found(oldest) == 0) ++oldest;
  script_.on_scm_hit = {Action::kPromote, Reason::kFrequency};
  ASSERT_GE(Found(oldest, oldest + 150, 5), 40u);  // HyperClockCache demotes in no order
  Insert(kLast, kLast + 120, 5);
  const size_t asked = script_.reclaims.size();
  Close();
  ASSERT_GT(script_.reclaims.size(), asked) << "there was room, and the test shows nothing";
  for (size_t i = asked; i < script_.reclaims.size(); ++i) EXPECT_FALSE(script_.reclaims[i].in_dram);
}

TEST_P(WarmDram, WhoDisownsItsDataWaitsForNoWrite) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "what is disowned leaks, as is meant";
#endif
  Open();
  Insert(1, 1 + kBlocks, 7);
  cache_->DisownData();
  cache_.reset();
  Open();
  EXPECT_EQ(Found(1, 1 + kBlocks, 7), 0u);
}

#if ROCKSDB_MAJOR < 8
INSTANTIATE_TEST_SUITE_P(All, WarmDram, ::testing::Values(DramCacheKind::kLru), [](const auto&) { return "lru"; });
#else
INSTANTIATE_TEST_SUITE_P(All, WarmDram, ::testing::Values(DramCacheKind::kLru, DramCacheKind::kHyperClock),
                         [](const auto& test) { return NameOf(test.param); });
#endif

TEST(WarmDramOption, IsJudgedWithTheOthers) {
  const ScratchFile file;
  Script script;
  HybridCacheOptions options = RestartOptions(file, &script);
  EXPECT_TRUE(options.Validate().ok());
  EXPECT_EQ(options.WarmDramBytes(), options.dram_bytes);
  options.warm_dram_bytes = options.dram_bytes + 1;
  EXPECT_THAT(options.Validate().message(), HasSubstr("warm_dram=200001 is more than the DRAM tier can hold"));
  options.warm_dram_bytes = options.dram_bytes;
  EXPECT_TRUE(options.Validate().ok());
  options.scm.recovery = Recovery::kDiscard;
  EXPECT_THAT(options.Validate().message(), HasSubstr("warm_dram=200000 needs recovery=warm"));
  EXPECT_EQ(options.WarmDramBytes(), 0u);
  options.warm_dram_bytes = 0;
  EXPECT_TRUE(options.Validate().ok());
  options.scm.recovery = Recovery::kAuto;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.path.clear();
  EXPECT_TRUE(options.Validate().ok());
  options.warm_dram_bytes = options.dram_bytes;
  EXPECT_THAT(options.Validate().message(), HasSubstr("with scm=@dram and recovery=auto nothing"));
}

TEST(WarmBudget, IsTakenOnceAndEndsWithWhatDoesNotFit) {
  WarmBudget budget;
  EXPECT_TRUE(budget.used_up());
  EXPECT_FALSE(budget.Take(1));
  budget.Open(100);
  EXPECT_TRUE(budget.Take(60));
  EXPECT_FALSE(budget.used_up());
  EXPECT_FALSE(budget.Take(41));
  EXPECT_TRUE(budget.used_up());
  EXPECT_FALSE(budget.Take(1));
  EXPECT_EQ(budget.taken(), 60u);
}

}  // namespace
}  // namespace mezz::test
