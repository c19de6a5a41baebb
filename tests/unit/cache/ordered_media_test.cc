// SPDX-License-Identifier: Apache-2.0
// A tier over a fast medium and a slow one: 4 MiB and 8 MiB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cache/survivor_judge.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/several_media.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;
using test::kMiB;
using ::testing::HasSubstr;

class OrderedMediaTest : public test::SeveralMediaTest {
 protected:
  // The fast medium holds some 650 blocks, both some 2,000.
  static constexpr uint64_t kFew = 500, kSome = 1200, kMany = 6000;

  OrderedMediaTest() { options_.members[1].level = Level::kSlow; }

  uint64_t Count(Event event) const { return tier_->counters().Snapshot()[event]; }
  // Puts a few blocks, and loses a member of which readers hold some. Returns what they hold.
  std::vector<PinnedBlock> LoseWithReaders(size_t member) {
    std::vector<PinnedBlock> pinned;
    PutAll(0, kFew);
    for (uint64_t n = 0; n < kFew; n += 20) pinned.push_back(tier_->Find(Key(1 + n)));
    FaultyMedium::Active().LoseMember(member);
    for (uint64_t n = 0; n < kFew; ++n) (void)Found(n, n + 1);
    return pinned;
  }
  // What the fast medium, or the slow one, holds of these.
  uint64_t FoundOn(Level level, uint64_t begin, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t n = begin; n < end; ++n) {
      const PinnedBlock block = tier_->Find(Key(1 + n), BlockRole::kOther, Heat::kKeep);
      if (block && !block.staged() && LevelOf(block) == level) ++found;
    }
    return found;
  }
  Level LevelOf(const PinnedBlock& block) const {
    return std::string_view(tier_->ModelOf(block)->name) == "optane100" ? Level::kSlow : Level::kFast;
  }
};

// Tells media apart by their models, which take time.
class ModelledMediaTest : public OrderedMediaTest {
 protected:
  ModelledMediaTest() { options_.member_models = {MediumModelName::kCxl, MediumModelName::kOptane100}; }
};

TEST_F(OrderedMediaTest, TheSlowOneGetsWhatLeavesTheFastOne) {
  Open();
  PutAll(0, kFew);
  EXPECT_EQ(UsedOf(1), 0u) << "the fast one still has room";
  PutAll(kFew, kSome);
  EXPECT_GT(Count(Event::kScmDemoted), kFew / 2);
  EXPECT_EQ(Found(0, kSome), kSome) << "nothing is lost as long as the slow one has room";
  EXPECT_GT(UsedOf(1), 2 * kMiB);
  PutAll(kSome, kMany);
  EXPECT_GT(Found(0, kMany), 1600u);
  EXPECT_GE(UsedOf(0), 4 * kMiB - 3 * kSegment);
  EXPECT_GE(UsedOf(1), 8 * kMiB - 3 * kSegment);
  EXPECT_GT(Count(Event::kScmDropped), kMany - 2100) << "by the slow one";
  test::ExpectSound(*tier_);
}

TEST_F(ModelledMediaTest, WhatIsHotOnTheSlowOneIsPutOnTheFastOneAgain) {
  Open();
  PutAll(0, kSome);
  ASSERT_EQ(FoundOn(Level::kSlow, 0, 100), 100u);
  ASSERT_EQ(FoundOn(Level::kFast, kSome - 100, kSome), 100u);
  EXPECT_TRUE(tier_->NoteDramEviction(Key(1))) << "nobody asked for it";
  EXPECT_EQ(Found(0, 1), 1u);
  EXPECT_TRUE(tier_->NoteDramEviction(Key(1))) << "once does not tell";
  EXPECT_EQ(Found(0, 1), 1u);
  EXPECT_FALSE(tier_->NoteDramEviction(Key(1)));
  EXPECT_EQ(FoundOn(Level::kSlow, 0, 1), 1u) << "as long as it is not put";
  ASSERT_EQ(Put(0), PutResult::kStored);
  EXPECT_EQ(FoundOn(Level::kFast, 0, 1), 1u);
  EXPECT_EQ(Count(Event::kScmReplaced), 1u);
  for (int hit = 0; hit < 4; ++hit) EXPECT_EQ(Found(kSome - 1, kSome), 1u);
  EXPECT_TRUE(tier_->NoteDramEviction(Key(kSome))) << "it lies on the fast one";
  test::ExpectSound(*tier_);
}

TEST_F(ModelledMediaTest, WhatIsHotStaysOnTheFastOne) {
  Open();
  for (uint64_t n = 0; n < kMany; n += 100) {
    PutAll(n, n + 100);
    EXPECT_EQ(Found(0, 100), 100u);
  }
  EXPECT_GT(FoundOn(Level::kFast, 0, 100), 95u);
  EXPECT_LT(FoundOn(Level::kFast, 100, kMany - 700), 100u);
}

TEST_F(OrderedMediaTest, WhatIsTooMuchToBeSparedIsDemoted) {
  Open();
  for (uint64_t n = 0; n < kSome; ++n) {
    ASSERT_EQ(Put(n), PutResult::kStored);
    for (int hit = 0; hit < 3; ++hit) EXPECT_EQ(Found(n, n + 1), 1u);
  }
  EXPECT_EQ(Found(0, kSome), kSome);
}

// What the judge says, and whether it may demote.
class CountingJudge : public SurvivorJudge {
 public:
  Fate Judge(const RecordFacts& record) override {
    ++(record.demotable ? asked_of_fast : asked_of_slow);
    return answer;
  }
  Fate answer = Fate::kDrop;
  uint64_t asked_of_fast = 0, asked_of_slow = 0;
};

TEST_F(OrderedMediaTest, TheJudgeDecidesWhatTheSlowOneGets) {
  CountingJudge judge;
  ASSERT_TRUE(ScmTier::Open(options_, &tier_, &judge).ok());
  PutAll(0, kSome);
  EXPECT_GT(judge.asked_of_fast, kFew / 2);
  EXPECT_EQ(judge.asked_of_slow, 0u);
  EXPECT_EQ(Count(Event::kScmDemoted), 0u);
  EXPECT_EQ(UsedOf(1), 0u);
  judge.answer = Fate::kDemote;  // of the slow one that means nothing, and drops
  PutAll(0, kMany);
  EXPECT_GT(judge.asked_of_slow, 1000u);
  EXPECT_GT(Found(0, kMany), 1600u);
  test::ExpectSound(*tier_);
  tier_.reset();
}

TEST_F(OrderedMediaTest, WhatWasHotOnTheFastOneIsNotHotOnTheSlowOne) {
  CountingJudge judge;
  judge.answer = Fate::kDemote;
  ASSERT_TRUE(ScmTier::Open(options_, &tier_, &judge).ok());
  PutAll(0, 1);
  for (int hit = 0; hit < 3; ++hit) EXPECT_EQ(Found(0, 1), 1u);
  PutAll(1, kSome);
  EXPECT_TRUE(tier_->NoteDramEviction(Key(1)));
  EXPECT_EQ(Found(0, 1), 1u);
  EXPECT_FALSE(tier_->NoteDramEviction(Key(1)));
  tier_.reset();
}

TEST_F(OrderedMediaTest, TombstonesAndSnapshotsLieOnTheSlowOne) {
  options_.erase = EraseMode::kDurable;
  Open();
  for (uint64_t n = 0; n < 9000; ++n) tier_->Erase(Key(1 + n));
  PutAll(0, kFew);
  EXPECT_EQ(Found(0, kFew), kFew);
  EXPECT_EQ(UsedOf(1), 0u) << "the fast one lacks no segment";
  tier_.reset();
  Open();
  EXPECT_TRUE(tier_->recovery().from_snapshot);
  EXPECT_EQ(Found(0, kFew), kFew);
}

TEST_F(OrderedMediaTest, TombstonesDoNotLieWhereTheyAreForgotten) {
  options_.erase = EraseMode::kDurable;
  options_.members[1] = {.medium = MediumKind::kAnonymous, .capacity_bytes = 8 * kMiB, .level = Level::kSlow};
  Open();
  PutAll(0, kFew);
  tier_->Erase(Key(1));
  tier_.reset();
  Open();
  EXPECT_FALSE(tier_->Find(Key(1)));
  EXPECT_EQ(Found(1, kFew), kFew - 1);
}

TEST_F(OrderedMediaTest, AFastLevelOfTwoThatGoOneByOneIsNotWrittenTo) {
  const test::ScratchFile third;
  options_.members = {{.path = files_[0].path(), .capacity_bytes = 4 * kMiB},
                      {.path = files_[1].path(), .capacity_bytes = 4 * kMiB},
                      {.path = third.path(), .capacity_bytes = 4 * kMiB, .level = Level::kSlow}};
  options_.bus_errors = BusErrorMode::kContain;
  Open();
  tier_.reset();
  ASSERT_TRUE(
      ScmTier::Open(options_, &tier_, /*judge=*/nullptr, FaultyMedium::Wrap({}, 0, {{0, layout::kSuperblockSpace}}))
          .ok());
  ASSERT_TRUE(tier_->figures().MembersNow()[0].is_out);
  const std::vector<PinnedBlock> pinned = LoseWithReaders(1);
  ASSERT_TRUE(tier_->figures().MembersNow()[1].is_out);
  PutAll(kFew, 2 * kFew);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 4 * kMiB);
}

// Each put follows an erase of its key, as those of a cache of changing blocks do.
TEST_F(OrderedMediaTest, WithDurableErasesARestartFindsWhatOneMediumTook) {
  options_.erase = EraseMode::kDurable;
  options_.bus_errors = BusErrorMode::kContain;
  Open(/*faulty=*/true);
  FaultyMedium::Active().LoseMember(0);
  for (uint64_t n = 0; n < kFew; ++n) {
    (void)Put(n);
    (void)Found(n, n + 1);
  }
  ASSERT_TRUE(tier_->figures().MembersNow()[0].is_out);
  for (uint64_t n = 0; n < kFew; ++n) {
    tier_->Erase(Key(1 + n));
    ASSERT_EQ(Put(n, 1), PutResult::kStored);
  }
  test::Kill(files_, &tier_);
  Open();
  EXPECT_GT(Found(0, kFew, 1), kFew * 9 / 10);
}

TEST_F(OrderedMediaTest, ARestartFindsWhatBothHoldWhateverTheOrderWas) {
  options_.recovery = Recovery::kWarm;
  Open();
  PutAll(0, kSome);
  for (const bool killed : {true, false, true, false}) {
    SCOPED_TRACE(killed);
    killed ? test::Kill(files_, &tier_) : tier_.reset();
    options_.members[1].level = options_.members[1].level == Level::kSlow ? Level::kFast : Level::kSlow;
    Open();
    EXPECT_EQ(Found(0, kSome), kSome);
    test::ExpectSound(*tier_);
  }
  PutAll(kSome, kMany);
  EXPECT_GT(Found(0, kMany), 1600u);
  test::ExpectSound(*tier_);
}

TEST_F(OrderedMediaTest, AResizeShrinksBoth) {
  Open();
  PutAll(0, kMany);
  ASSERT_TRUE(tier_->SetCapacity(6 * kMiB).ok());
  PutAll(0, kMany);
  EXPECT_GE(UsedOf(0), 2 * kMiB - 2 * kSegment);
  EXPECT_GE(UsedOf(1), 4 * kMiB - 4 * kSegment);
  EXPECT_LE(UsedOf(0), 2 * kMiB);
  EXPECT_LE(UsedOf(1), 4 * kMiB);
  EXPECT_GT(Found(0, kMany), 700u);
  ASSERT_TRUE(tier_->SetCapacity(kSegmentsMin * kSegment).ok());
  PutAll(0, kMany);
  EXPECT_GT(Found(0, kMany), 50u);
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  EXPECT_EQ(Found(0, kMany), 0u);
  ASSERT_TRUE(tier_->SetCapacity(12 * kMiB).ok());
  PutAll(0, kMany);
  EXPECT_GT(Found(0, kMany), 1600u);
  test::ExpectSound(*tier_);
}

// What is open, or holds tombstones, is all that a level has left.
TEST_F(OrderedMediaTest, AShrinkEndsWhateverIsOpen) {
  for (const bool durable : {false, true}) {
    SCOPED_TRACE(durable);
    UseFiles(64 * kSegment, 64 * kSegment);
    options_.members[1].level = Level::kSlow;
    options_.recovery = Recovery::kDiscard;
    options_.erase = durable ? EraseMode::kDurable : EraseMode::kVolatile;
    Open();
    std::vector<ShareId> shares(4);
    for (size_t i = 0; i < shares.size(); ++i)
      ASSERT_TRUE(tier_->shares().Add(std::string(1, static_cast<char>('a' + i)), {}, &shares[i]).ok());
    PutAll(0, kMany);
    for (uint64_t n = 0; durable && n < 9000; ++n) tier_->Erase(Key(1 + n));
    for (const ShareId share : shares) {
      for (const Generation generation : {Generation::kYoung, Generation::kProven})
        (void)tier_->Put(Key(kMany + Raw(share)), BlockRole::kData, test::Payload(0, 0, kBlock), generation, Form::kRaw,
                         PackedBy::kCaller, share);
    }
    for (const uint64_t segments : {40, 12, 8}) {
      ASSERT_TRUE(tier_->SetCapacity(segments * kSegment).ok());
      EXPECT_LE(tier_->figures().usage_bytes(), segments * kSegment);
    }
    // Some are refused: more shares want segments than there are.
    const auto is_stored = [&](Generation generation) {
      for (int attempt = 0; attempt < 8; ++attempt) {
        if (tier_->Put(Key(1), BlockRole::kData, test::Payload(0, 0, kBlock), generation) == PutResult::kStored)
          return true;
      }
      return false;
    };
    for (int thread = 0; thread < 4; ++thread) std::jthread([&] { EXPECT_TRUE(is_stored(Generation::kYoung)); }).join();
    EXPECT_TRUE(is_stored(Generation::kProven));
    test::ExpectSound(*tier_);
    tier_.reset();
  }
}

TEST_F(OrderedMediaTest, EitherOneGoesOnWithoutTheOther) {
  for (const size_t lost : {0, 1}) {
    SCOPED_TRACE(lost);
    options_.recovery = Recovery::kDiscard;
    options_.bus_errors = BusErrorMode::kContain;
    Open(/*faulty=*/true);
    PutAll(0, kSome);
    FaultyMedium::Active().LoseMember(lost);
    for (uint64_t n = 0; n < kMany; ++n) {
      (void)Put(n % 3 == 0 ? n : kMany + n);
      (void)Found(n / 2, n / 2 + 1);
    }
    ASSERT_TRUE(tier_->figures().MembersNow()[lost].is_out);
    ASSERT_FALSE(tier_->figures().MembersNow()[1 - lost].is_out);
    PutAll(2 * kMany, 3 * kMany);
    EXPECT_GT(Found(2 * kMany, 3 * kMany), lost == 0 ? 600u : 300u);
    test::ExpectSound(*tier_);
  }
}

TEST_F(OrderedMediaTest, TheSlowOneTakesAllThoughReadersHoldWhatIsLeftOfTheFastOne) {
  options_.recovery = Recovery::kDiscard;
  options_.bus_errors = BusErrorMode::kContain;
  Open(/*faulty=*/true);
  const std::vector<PinnedBlock> pinned = LoseWithReaders(0);
  ASSERT_TRUE(tier_->figures().MembersNow()[0].is_out);
  PutAll(kFew, kSome);
  EXPECT_GT(Found(kFew, kSome), 600u);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 8 * kMiB);
}

TEST_F(OrderedMediaTest, SharesHoldOnEachLevel) {
  Open();
  ShareId kept = kNoShare, few = kNoShare;
  ASSERT_TRUE(tier_->shares().Add("kept", {.reserved_percent = 40}, &kept).ok());
  ASSERT_TRUE(tier_->shares().Add("few", {.max_percent = 30}, &few).ok());
  const auto put = [&](uint64_t n, ShareId share) {
    return tier_->Put(Key(1 + n), BlockRole::kData, test::Payload(n, 0, kBlock), Generation::kYoung, Form::kRaw,
                      PackedBy::kCaller, share);
  };
  for (uint64_t n = 0; n < kSome; ++n) ASSERT_EQ(put(n, kept), PutResult::kStored);
  const uint64_t reserved = tier_->shares().UseOf(kept).reserved_bytes;
  EXPECT_NEAR(static_cast<double>(reserved), 0.4 * 12 * kMiB, 2. * kSegment);
  for (uint64_t n = kSome; n < kMany; ++n) ASSERT_EQ(put(n, kNoShare), PutResult::kStored);
  for (uint64_t n = kMany; n < 2 * kMany; ++n) {
    ASSERT_EQ(put(n, few), PutResult::kStored);
    ASSERT_LE(tier_->shares().UseOf(few).bytes, tier_->shares().UseOf(few).max_bytes + 2 * kSegment);
  }
  EXPECT_GE(tier_->shares().UseOf(kept).bytes, reserved);
  EXPECT_GT(Found(0, kSome), 700u) << "as far as it is reserved";
  test::ExpectSound(*tier_);
  tier_.reset();
}

TEST_F(OrderedMediaTest, ASlowOneBeforeAFastOneIsRefused) {
  std::swap(options_.members[0].level, options_.members[1].level);
  EXPECT_THAT(TryOpen().message(), HasSubstr("name the fast ones first"));
  options_.members[1].level = Level::kSlow;
  EXPECT_THAT(TryOpen().message(), HasSubstr("name the fast ones first")) << "all are slow";
}

TEST_F(OrderedMediaTest, EachHasAModelOrAllHaveOne) {
  options_.member_models = {MediumModelName::kCxl};
  EXPECT_THAT(TryOpen().message(), HasSubstr("1 models for 2 media"));
  options_.member_models = {MediumModelName::kCxl, MediumModelName::kNone};
  ASSERT_TRUE(TryOpen().ok());
  EXPECT_THAT(options_.ToString(), HasSubstr("model cxl,none"));
  ASSERT_EQ(Put(0), PutResult::kStored);
  EXPECT_STREQ(tier_->ModelOf(tier_->Find(Key(1)))->name, "cxl");
}

}  // namespace
}  // namespace mezz
