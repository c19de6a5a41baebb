// SPDX-License-Identifier: Apache-2.0
#include "cache/reclaimer.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/core_fixture.h"

namespace mezz {
namespace {

using test::kSmallSegmentBytes;

class FunctionJudge : public SurvivorJudge {
 public:
  Fate Judge(const RecordFacts& record) override { return spare(record) ? Fate::kSpare : Fate::kDrop; }
  std::function<bool(const RecordFacts&)> spare;
};

class ReclaimerTest : public test::CoreTest {
 protected:
  // Fills segments with four records each, keys counting from `first`, until `free` segments are left.
  uint64_t Fill(uint32_t free, uint64_t first = 0, unsigned heat = 0) {
    uint64_t key = first;
    while ((core.log.space().free_segments() > free || key % 4 != 0) && core.Put(key, kQuarter, heat)) ++key;
    EXPECT_EQ(core.log.space().free_segments(), free);
    return key;
  }

  CleanerParts PartsWith(SurvivorJudge* judge) {
    return {.medium = core.medium, .log = &core.log, .index = &core.index, .counters = &core.counters, .judge = judge};
  }

  Reclaimer reclaimer{PartsWith(nullptr)};
};

TEST_F(ReclaimerTest, DoesNothingWhileSegmentsAreFree) {
  Fill(3);
  reclaimer.Step(1 << 20);
  EXPECT_EQ(Count(Event::kScmDropped), 0u);
}

TEST_F(ReclaimerTest, AStepPaysForWhatWasWrittenAndNotForAWholeVictim) {
  Fill(2);
  reclaimer.Step(64);
  EXPECT_EQ(Count(Event::kScmDropped), 1u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 0u);
  EXPECT_FALSE(Resident(0));
  EXPECT_TRUE(Resident(1)) << "the victim is readable to its last record";
  reclaimer.Step(kQuarter);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 1u);
  EXPECT_EQ(core.log.space().free_segments(), 3u);
  EXPECT_EQ(reclaimer.TakeLongestStay(), 3u);
}

TEST_F(ReclaimerTest, WhatWasHitIsMovedForOneHeatAndKeepsItsBytes) {
  ASSERT_TRUE(core.Put(1000, kQuarter, /*heat=*/2));
  Fill(2, 1);
  const SegmentId before = core.SegmentOf(1000);
  reclaimer.Step(kSmallSegmentBytes);
  const IndexWord moved = core.Find(1000);  // checks its bytes
  ASSERT_FALSE(moved.empty());
  EXPECT_NE(core.reader.SegmentOf(moved), before);
  EXPECT_EQ(moved.heat(), 1u);
  EXPECT_EQ(Count(Event::kScmSecondChance), 1u);
  EXPECT_FALSE(Resident(1));
}

TEST_F(ReclaimerTest, ARecordHitWhileItIsJudgedIsJudgedAgain) {
  FunctionJudge judge;
  Reclaimer judged(PartsWith(&judge));
  Fill(2);
  std::vector<unsigned> heats;
  judge.spare = [&](const RecordFacts& record) {
    heats.push_back(record.heat);
    if (heats.size() == 1) core.index.Touch(core.index.FindLine(core.index.Hash(record.key), core.Find(0).line()), 1);
    return record.heat > 0;
  };
  judged.Step(64);
  EXPECT_EQ(heats, (std::vector<unsigned>{0, 1}));
  EXPECT_TRUE(Resident(0));
}

TEST_F(ReclaimerTest, NeverSparesMoreThanItsCreditWhateverTheJudgeWants) {
  constexpr size_t kSmall = 4000;  // sixteen fill a segment
  FunctionJudge judge;
  judge.spare = [](const RecordFacts&) { return true; };
  Reclaimer judged(PartsWith(&judge));
  uint64_t key = 0;
  for (int round = 0; round < 100; ++round) {
    while (core.log.space().free_segments() > 1) ASSERT_TRUE(core.Put(key++, kSmall));
    for (int tries = 0; !judged.MakeRoom(); ++tries) ASSERT_LT(tries, 20) << "it gets nowhere";
  }
  EXPECT_GT(Count(Event::kScmSecondChance), 0u);
  EXPECT_LE(Count(Event::kScmSecondChanceBytes) * log_rules::kSurvivorShareDenominator,
            (Count(Event::kScmSegmentReclaimed) + 1) * kSmallSegmentBytes * log_rules::kSurvivorShareNumerator);
  EXPECT_EQ(core.index.blocks() + Count(Event::kScmDropped), key);
}

TEST_F(ReclaimerTest, ACondemnedSegmentIsForgottenUnreadAtTheNextStep) {
  Fill(3);
  const SegmentId bad = core.SegmentOf(4);
  std::memset(core.medium.base() + core.log.FirstRecord(bad), 0xff, kLineBytes);  // would be told if it were read
  ASSERT_TRUE(core.log.Pin(bad));
  for (uint32_t i = 0; i < log_rules::kFaultsOfSegmentMax; ++i) core.log.faults().Note(bad);
  core.log.Unpin(bad);
  const uint64_t free = core.log.space().free_segments();
  reclaimer.Step(64);
  EXPECT_EQ(Count(Event::kScmDropped), 4u);
  EXPECT_EQ(Count(Event::kScmDamagedHeader), 0u);
  EXPECT_EQ(core.log.state(bad), SegmentLog::State::kQuarantined);
  EXPECT_EQ(core.log.space().free_segments(), free);
  EXPECT_TRUE(Resident(0) && Resident(8));
  for (uint64_t key = 4; key < 8; ++key) EXPECT_FALSE(Resident(key));
}

TEST_F(ReclaimerTest, AVictimThatIsCondemnedHalfWayIsGivenUp) {
  Fill(2);
  reclaimer.Step(64);
  ASSERT_TRUE(Resident(1));
  const SegmentId bad = core.SegmentOf(1);
  ASSERT_TRUE(core.log.Pin(bad));
  for (uint32_t i = 0; i < log_rules::kFaultsOfSegmentMax; ++i) core.log.faults().Note(bad);
  core.log.Unpin(bad);
  reclaimer.Quarantine();
  EXPECT_EQ(core.log.state(bad), SegmentLog::State::kQuarantined);
  EXPECT_FALSE(Resident(1) || Resident(2) || Resident(3));
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 0u);
}

TEST_F(ReclaimerTest, ADamagedHeaderCostsTheRestOfItsSegmentAndNoMore) {
  const uint64_t keys = Fill(2);
  core.medium.base()[core.Find(1).line() * kLineBytes + 3] ^= std::byte{4};
  reclaimer.Step(kSmallSegmentBytes);
  EXPECT_EQ(Count(Event::kScmDamagedHeader), 1u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 1u);
  for (uint64_t key = 0; key < 4; ++key) EXPECT_FALSE(Resident(key)) << key;
  for (uint64_t key = 4; key < keys; ++key) EXPECT_TRUE(Resident(key)) << key;
  EXPECT_EQ(core.index.blocks(), keys - 4);
}

TEST_F(ReclaimerTest, AVoidRecordIsWalkedOver) {
  ASSERT_TRUE(core.Put(1000, 100));
  const auto where = core.Reserve(0, layout::RecordBytes(kQuarter));
  ASSERT_TRUE(where);
  EXPECT_FALSE(record::Write(core.medium, where->place, test::Key(1), BlockRole::kData, kQuarter,
                             [](size_t, size_t, std::byte*) { return false; }));
  core.log.Leave(*where);
  ASSERT_TRUE(core.Put(1001, 100, /*heat=*/1));
  Fill(2, 4);
  reclaimer.Step(kSmallSegmentBytes);
  EXPECT_EQ(Count(Event::kScmDamagedHeader), 0u);
  EXPECT_FALSE(Resident(1000));
  EXPECT_TRUE(Resident(1001)) << "it lies behind the void record";
}

TEST_F(ReclaimerTest, AShrinkToNothingForgetsWhatIsPinnedAndTheLastPinGivesItUp) {
  Fill(2);
  const SegmentId pinned = core.SegmentOf(5);
  ASSERT_TRUE(core.log.Pin(pinned));
  reclaimer.ShrinkTo(0);
  EXPECT_EQ(core.index.blocks(), 0u);
  EXPECT_EQ(core.log.space().unused_segments(), kSegments - 1);
  core.log.Unpin(pinned);
  EXPECT_EQ(core.log.space().unused_segments(), kSegments);
  reclaimer.ShrinkTo(kSegments);
  EXPECT_TRUE(core.Put(5, kQuarter));
}

TEST_F(ReclaimerTest, AShrinkSparesNothingAndLeavesTheRest) {
  const uint64_t keys = Fill(1, 0, /*heat=*/3);
  reclaimer.ShrinkTo(4);
  EXPECT_LE(kSegments - core.log.space().unused_segments(), 4u);
  EXPECT_EQ(Count(Event::kScmSecondChance), 0u);
  EXPECT_TRUE(Resident(keys - 1));
  EXPECT_EQ(core.index.blocks() + Count(Event::kScmDropped), keys);
  EXPECT_LE(reclaimer.TakeLongestStay(), 4u) << "the mutex goes round after each victim";
}

TEST_F(ReclaimerTest, MakesRoomWhereAllIsHotAndLiesLoosely) {
  constexpr size_t kMoreThanHalf = 36'000;  // one a segment
  FunctionJudge judge;
  judge.spare = [](const RecordFacts&) { return true; };
  Reclaimer judged(PartsWith(&judge));
  uint64_t key = 0;
  for (int round = 0; round < 20; ++round) {
    while (core.log.space().free_segments() > 1) ASSERT_TRUE(core.Put(key++, kMoreThanHalf));
    ASSERT_TRUE(judged.MakeRoom()) << "round " << round;
  }
  EXPECT_GT(Count(Event::kScmSecondChance), 0u);
}

// --- segments queued again -------------------------------------------------------------------------------------------

class RequeueTest : public ReclaimerTest {
 protected:
  RequeueTest() { reclaimer.SetRequeuePercent(70); }
  // Five sealed segments of the proven with four records each, from key 0 on, all of `heat`, and one that is open.
  void FillProven(unsigned heat) {
    while (core.log.space().free_segments() > 2 || keys_ % 4 != 0)
      ASSERT_TRUE(core.Put(keys_++, kQuarter, heat, core.log.proven_lane()));
  }
  // Walks one victim to its end.
  void Reclaim() { reclaimer.Step(kSmallSegmentBytes); }
  void SetHeat(uint64_t key, unsigned heat) {
    core.index.Touch(core.index.FindLine(core.index.Hash(test::Key(key)), core.Find(key).line()), heat);
  }
  void SetDram(uint64_t key) { core.index.SetDram(core.index.Hash(test::Key(key)), true); }
  void Erase(uint64_t key) {
    const BlockKey block_key = test::Key(key);
    KeyReader reader(core.reader, block_key);
    core.index.Erase(core.index.Hash(block_key), reader, [](IndexWord) {});
  }
  uint64_t keys_ = 0;
};

TEST_F(RequeueTest, HotSegmentsStayAsTheyAreForOneHeatARecord) {
  FillProven(/*heat=*/3);
  SetHeat(2, 0);
  SetDram(3);
  const IndexWord before = core.Find(1);
  SetDram(3);
  SetHeat(3, 2);
  const uint64_t written = Count(Event::kScmWrittenBytes);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 1u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 0u);
  EXPECT_EQ(Count(Event::kScmWrittenBytes), written);
  EXPECT_EQ(Count(Event::kScmDropped), 0u);
  EXPECT_EQ(core.Find(1).raw(), before.with(false, 2).raw()) << "the same place, one heat less";
  EXPECT_EQ(core.Find(2).heat(), 0u) << "there is none to pay";
  EXPECT_EQ(core.Find(3).heat(), 1u);
  EXPECT_EQ(core.Find(4).heat(), 3u) << "another segment's";
}

TEST_F(RequeueTest, TheyStandBehindTheOthersThen) {
  FillProven(3);
  const SegmentId first = core.SegmentOf(0), second = core.SegmentOf(4);
  Reclaim();
  for (SegmentId expected : {second, core.SegmentOf(8), core.SegmentOf(12), core.SegmentOf(16), first}) {
    const auto victim = core.log.TakeVictim();
    ASSERT_EQ(victim.segment, expected);
    EXPECT_EQ(victim.generation, Generation::kProven);
    core.log.Requeue(expected);
  }
}

TEST_F(RequeueTest, FourInARowAtMostThenOneIsEmptied) {
  FillProven(3);
  for (int i = 0; i < 4; ++i) Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 4u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 0u);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 1u);
  EXPECT_EQ(Count(Event::kScmSecondChance), 4u);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 5u) << "the count begins anew";
}

TEST_F(RequeueTest, MakeRoomFindsRoomWhereAllIsHot) {
  FillProven(3);
  while (core.Put(keys_, kQuarter, 3, core.log.proven_lane())) ++keys_;
  ASSERT_EQ(core.log.space().free_segments(), 1u);
  EXPECT_TRUE(reclaimer.MakeRoom());
}

TEST_F(RequeueTest, ThreeOfFourHotRecordsAreEnoughAndTwoAreNot) {
  FillProven(2);
  SetHeat(0, 1);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 1u);
  EXPECT_TRUE(Resident(0)) << "the cold one stays with the others";
  SetHeat(4, 1);
  SetHeat(5, 0);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 1u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 1u);
  EXPECT_TRUE(Resident(4));
  EXPECT_FALSE(Resident(5));
}

TEST_F(RequeueTest, TheDeadAndWhatDramHoldsAreNotHot) {
  FillProven(3);
  Erase(0);
  Erase(1);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u) << "half of it is dead";
  SetDram(4);
  SetDram(5);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u) << "DRAM holds half of it";
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 2u);
}

TEST_F(RequeueTest, TheYoungAreNeverQueuedAgain) {
  Fill(2, 0, /*heat=*/3);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u);
  EXPECT_EQ(Count(Event::kScmSecondChance), 4u);
}

TEST_F(RequeueTest, WhoAsksForNoPercentageGetsNone) {
  reclaimer.SetRequeuePercent(0);
  FillProven(3);
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 1u);
}

TEST_F(RequeueTest, AShrinkQueuesNothingAgainNotEvenWhatIsBeingWeighed) {
  FillProven(3);
  reclaimer.Step(64);
  const SegmentId weighed = core.SegmentOf(0);
  ASSERT_EQ(Count(Event::kScmSegmentRequeued) + Count(Event::kScmSegmentReclaimed), 0u);
  reclaimer.ShrinkTo(6);
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u);
  EXPECT_EQ(Count(Event::kScmDropped), 4u);
  EXPECT_NE(core.log.state(weighed), SegmentLog::State::kSealed);
}

TEST_F(RequeueTest, APinTakenWhileItIsWeighedOutlastsTheQueue) {
  FillProven(3);
  reclaimer.Step(64);
  const SegmentId weighed = core.SegmentOf(0);
  ASSERT_TRUE(core.log.Pin(weighed));
  Reclaim();
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 1u);
  EXPECT_EQ(core.log.pins(weighed), 1u);
  core.log.Unpin(weighed);
  EXPECT_TRUE(Resident(0));
}

TEST_F(RequeueTest, DamageFoundWhileItIsWeighedCostsTheRestAndNoMore) {
  FillProven(3);
  core.medium.base()[core.Find(2).line() * kLineBytes + 3] ^= std::byte{4};
  Reclaim();
  EXPECT_EQ(Count(Event::kScmDamagedHeader), 1u);
  EXPECT_EQ(Count(Event::kScmSegmentReclaimed), 1u);
  for (const uint64_t key : {0, 1}) EXPECT_TRUE(Resident(key)) << key;
  for (const uint64_t key : {2, 3}) EXPECT_FALSE(Resident(key)) << key;
  EXPECT_TRUE(Resident(4));
}

}  // namespace
}  // namespace mezz
