// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_log.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/core_fixture.h"

namespace mezz {
namespace {

using ::testing::ElementsAre;

using State = SegmentLog::State;
using For = SegmentLog::For;
using test::Core;
using test::kSmallSegmentBytes;

constexpr uint64_t kMost = layout::SegmentPayloadBytes(kSmallSegmentBytes);  // of a record, in any segment
constexpr SegmentId kFirst{0}, kSecond{1};

class SegmentLogTest : public ::testing::Test {
 protected:
  void TearDown() override { core.ExpectSound(); }
  // Opens a segment of the lane for one record of `bytes`.
  SegmentLog::Reservation Open(unsigned lane, uint64_t bytes = kMost) {
    EXPECT_TRUE(log.Advance(lane, bytes, For::kWriter));
    return *log.Reserve(lane, bytes);
  }
  // A sealed segment with nobody in it.
  SegmentId Sealed(unsigned lane) {
    const auto where = Open(lane);
    log.Leave(where);
    log.SealAll();
    return where.segment;
  }
  State StateOf(SegmentId id) const { return log.state(id); }

  Core core{8};
  SegmentLog& log = core.log;
  const unsigned young = 0, proven = core.log.proven_lane();
};

TEST_F(SegmentLogTest, HandsOutSpaceWithoutGapsAndNeverPastTheEnd) {
  uint64_t next = log.FirstRecord(kFirst);
  ASSERT_TRUE(log.Advance(young, 64, For::kWriter));
  for (uint64_t bytes = 64; const auto where = log.Reserve(young, bytes); bytes += 64) {
    EXPECT_EQ(where->segment, kFirst);
    EXPECT_EQ(where->place.offset, next);
    next += bytes;
    EXPECT_LE(next, kSmallSegmentBytes);
    EXPECT_EQ(log.Tail(kFirst), next);
    log.Leave(*where);
  }
  EXPECT_GT(next, kSmallSegmentBytes * 9 / 10);
  EXPECT_EQ(log.pins(kFirst), 0u) << "a refused reservation keeps no pin";
  EXPECT_FALSE(log.Reserve(proven, 64)) << "the lane has no segment";
}

TEST_F(SegmentLogTest, EachFillHasASequenceOfItsOwnAndSaysSoOnTheMedium) {
  std::set<uint64_t> sequences;
  for (int fill = 0; fill < 20; ++fill) {
    const SegmentId id = Sealed(young);
    layout::SegmentHeader header;
    std::memcpy(&header, core.medium.base() + log.FirstRecord(id) - sizeof(header), sizeof(header));
    EXPECT_EQ(header.magic, layout::kSegmentMagic);
    EXPECT_EQ(header.segment, Raw(id));
    EXPECT_EQ(header.sequence, log.Sequence(id));
    EXPECT_TRUE(sequences.empty() || header.sequence > *sequences.rbegin());
    sequences.insert(header.sequence);
    const auto victim = log.TakeVictim();
    ASSERT_EQ(victim.segment, id);
    log.StartDraining(id);
  }
  EXPECT_EQ(sequences.size(), 20u);
}

TEST_F(SegmentLogTest, OnlySegmentsWithRecordsArePinned) {
  EXPECT_FALSE(log.Pin(kFirst)) << "free";
  const auto where = Open(young);
  EXPECT_TRUE(log.Pin(kFirst)) << "open";
  log.Unpin(kFirst);
  log.Leave(where);
  log.SealAll();
  EXPECT_TRUE(log.Pin(kFirst)) << "sealed";
  ASSERT_EQ(log.TakeVictim(/*pinned_too=*/true).segment, kFirst);
  log.StartDraining(kFirst);
  EXPECT_FALSE(log.Pin(kFirst)) << "draining";
  EXPECT_EQ(log.pins(kFirst), 1u) << "a pin that failed is taken back";
  log.Unpin(kFirst);
  EXPECT_EQ(StateOf(kFirst), State::kFree);
}

TEST_F(SegmentLogTest, ADrainingSegmentIsFreeWithItsLastPinAndNoSooner) {
  const SegmentId id = Sealed(young);
  ASSERT_TRUE(log.Pin(id) && log.Pin(id));
  ASSERT_EQ(log.TakeVictim(/*pinned_too=*/true).segment, id);
  log.StartDraining(id);
  const uint32_t free = log.space().free_segments();
  for (int pins = 2; pins > 0; --pins) {
    EXPECT_EQ(StateOf(id), State::kDraining);
    log.space().CollectDrained();
    EXPECT_EQ(StateOf(id), State::kDraining) << pins << " pins are left";
    EXPECT_EQ(log.space().free_segments(), free);
    log.Unpin(id);
  }
  EXPECT_EQ(StateOf(id), State::kFree);
  EXPECT_EQ(log.space().free_segments(), free + 1);
  EXPECT_EQ(log.space().draining_segments(), 0u);
}

TEST_F(SegmentLogTest, AWriterInASealedSegmentBacksOffAndOneWhoWasThereFirstKeepsItFromReclaim) {
  const auto where = Open(young, 64);
  log.SealAll();
  EXPECT_FALSE(log.Reserve(young, 64));
  EXPECT_FALSE(log.TakeVictim().segment);
  EXPECT_FALSE(log.TakeVictim(/*pinned_too=*/true).segment) << "a writer is no reader";
  EXPECT_TRUE(log.HasSealed());
  log.Leave(where);
  EXPECT_EQ(log.TakeVictim().segment, where.segment);
  EXPECT_FALSE(log.HasSealed());
  log.StartDraining(where.segment);
}

TEST_F(SegmentLogTest, SealAllSealsTheLanesOfWritersAndOfTheProven) {
  log.Leave(Open(young));
  log.Leave(Open(proven));
  log.SealAll();
  EXPECT_EQ(StateOf(kFirst), State::kSealed);
  EXPECT_EQ(StateOf(kSecond), State::kSealed);
  EXPECT_FALSE(log.Reserve(young, 64));
  EXPECT_FALSE(log.Reserve(proven, 64));
}

TEST_F(SegmentLogTest, WritersLeaveTheLastFreeSegmentToReclaim) {
  while (log.space().free_segments() > 1) Sealed(young);
  EXPECT_FALSE(log.Advance(young, kMost, For::kWriter));
  EXPECT_TRUE(log.Advance(proven, kMost, For::kReclaim));
  EXPECT_FALSE(log.Advance(young, kMost, For::kReclaim)) << "none is left";
}

// A small tier whose segments are all open or hold tombstones: reclaim would find nothing, for ever.
TEST_F(SegmentLogTest, WhereNothingIsSealedAWriterWhoFindsNoSegmentSealsItsOwn) {
  const auto where = Open(young);
  log.Leave(where);
  while (log.space().free_segments() > 1) ASSERT_TRUE(log.tombstone_segments().Open());
  EXPECT_FALSE(log.HasSealed());
  EXPECT_FALSE(log.Advance(young, kMost, For::kWriter));
  EXPECT_EQ(StateOf(where.segment), State::kSealed);
}

TEST_F(SegmentLogTest, WhatIsLeftBehindIsNotWrittenToAnyMore) {
  const auto old = Open(young);
  log.Leave(old);
  const auto later = Open(proven);
  log.Leave(later);
  log.SealBelow(log.Sequence(later.segment));
  EXPECT_EQ(StateOf(old.segment), State::kSealed);
  EXPECT_EQ(StateOf(later.segment), State::kOpen);
}

TEST_F(SegmentLogTest, AnAdvanceThatAnotherThreadMadeIsNotRepeated) {
  ASSERT_TRUE(log.Advance(young, 64, For::kWriter));
  const uint32_t free = log.space().free_segments();
  EXPECT_TRUE(log.Advance(young, 64, For::kWriter));
  EXPECT_EQ(log.space().free_segments(), free);
}

TEST_F(SegmentLogTest, TheYoungGoFirstWhileTheyHoldMoreThanTheirShareAndTheOldestOfThem) {
  const SegmentId oldest_proven = Sealed(proven);
  const SegmentId oldest_young = Sealed(young);
  const SegmentId younger = Sealed(young);
  log.SetYoungPercent(20);  // of 8 segments: one
  EXPECT_EQ(log.TakeVictim().segment, oldest_young);
  EXPECT_EQ(log.TakeVictim().segment, oldest_proven);
  EXPECT_EQ(log.TakeVictim().segment, younger) << "there is nothing else";
  for (const SegmentId id : {oldest_young, oldest_proven, younger}) log.StartDraining(id);
}

TEST_F(SegmentLogTest, PinnedSegmentsAreSkippedCountedAndTakenLast) {
  const SegmentId pinned = Sealed(young);
  const SegmentId other = Sealed(young);
  ASSERT_TRUE(log.Pin(pinned));
  EXPECT_EQ(log.PinnedSegments(), 1u);
  const auto victim = log.TakeVictim(/*pinned_too=*/true);
  EXPECT_EQ(victim.segment, other);
  EXPECT_EQ(victim.skipped_pinned, 1u);
  EXPECT_FALSE(log.TakeVictim().segment);
  EXPECT_EQ(log.TakeVictim(/*pinned_too=*/true).segment, pinned);
  for (const SegmentId id : {pinned, other}) log.StartDraining(id);
  EXPECT_EQ(log.space().draining_segments(), 1u);
  log.Unpin(pinned);
}

TEST_F(SegmentLogTest, ALimitParksWhatIsFreeAndTellsWhatMustBeReclaimed) {
  const SegmentId one = Sealed(young), two = Sealed(young);
  EXPECT_EQ(log.space().LimitTo(0), 2u);
  EXPECT_EQ(log.space().free_segments(), 0u);
  EXPECT_FALSE(log.Advance(young, 64, For::kWriter)) << "the tier is switched off";
  ASSERT_TRUE(log.Pin(one));
  for (int i = 0; i < 2; ++i) log.StartDraining(*log.TakeVictim(/*pinned_too=*/true).segment);
  EXPECT_EQ(log.space().LimitTo(0), 0u) << "what drains is on its way";
  EXPECT_EQ(StateOf(two), State::kParked);
  EXPECT_EQ(StateOf(one), State::kDraining);
  log.Unpin(one);
  EXPECT_EQ(StateOf(one), State::kParked) << "given up with its last pin";
  EXPECT_EQ(log.space().unused_segments(), 8u);
  EXPECT_EQ(log.space().LimitTo(8), 0u);
  EXPECT_EQ(log.space().free_segments(), 8u);
}

TEST_F(SegmentLogTest, NeverUsesMoreThanItsLimit) {
  EXPECT_EQ(log.space().LimitTo(3), 0u);
  uint32_t opened = 0;
  while (log.Advance(young, kMost, For::kReclaim)) log.Leave(*log.Reserve(young, kMost)), ++opened;
  EXPECT_EQ(opened, 3u);
  EXPECT_EQ(log.segments() - log.space().unused_segments(), 3u);
}

TEST(SegmentLog, UsesOnlyWhatTheMediumHasReady) {
  Core core(8, /*provided=*/2);
  EXPECT_EQ(core.log.space().free_segments(), 2u);
  EXPECT_EQ(core.log.space().unused_segments(), 8u);
  EXPECT_FALSE(core.log.Pin(SegmentId{5}));
  core.log.Provide(1);
  EXPECT_EQ(core.log.space().free_segments(), 2u) << "less than before is nothing";
  EXPECT_EQ(core.log.space().LimitTo(4), 0u);
  core.log.Provide(8);
  EXPECT_EQ(core.log.space().free_segments(), 4u) << "the limit holds for what comes later";
  EXPECT_EQ(core.log.space().LimitTo(8), 0u);
  EXPECT_EQ(core.log.space().free_segments(), 8u);
  core.ExpectSound();
}

// The header's checksum has 16 bits: one in 65,536 damaged headers passes it.
TEST(LogReader, AHeaderThatLeavesItsSegmentIsDamagedThoughItsChecksumHolds) {
  Core core(8);
  ASSERT_TRUE(core.Put(1, 100));
  const IndexWord word = core.Find(1);
  ASSERT_FALSE(word.empty());
  const uint64_t offset = word.line() * kLineBytes;
  const auto sequence = static_cast<uint32_t>(core.log.Sequence(core.reader.SegmentOf(word)));
  const auto fill = [](size_t, size_t bytes, std::byte* to) { return std::memset(to, 0, bytes) != nullptr; };
  ASSERT_TRUE(record::Write(core.medium, {offset, sequence}, test::Key(1), BlockRole::kData, 200, fill));
  EXPECT_TRUE(core.Find(1).empty());
  EXPECT_EQ(core.counters.Snapshot()[Event::kScmDamagedHeader], 1u);
  EXPECT_EQ(core.index.blocks(), 0u);
}

TEST(LogReader, ARecordOfAnEarlierFillIsDamage) {
  Core core(8);
  ASSERT_TRUE(core.Put(1, 100));
  const uint64_t offset = core.Find(1).line() * kLineBytes;
  const auto fill = [](size_t, size_t bytes, std::byte* to) { return std::memset(to, 0, bytes) != nullptr; };
  ASSERT_TRUE(record::Write(core.medium, {offset, /*sequence=*/99}, test::Key(1), BlockRole::kData, 100, fill));
  EXPECT_TRUE(core.Find(1).empty());
}

// --- sparse ----------------------------------------------------------------------------------------------------------

class QuarantineTest : public SegmentLogTest {
 protected:
  // Of a segment that is pinned, or has a writer.
  void Fail(SegmentId id) {
    EXPECT_FALSE(log.faults().IsCondemned(id));
    for (uint32_t i = 0; i < log_rules::kFaultsOfSegmentMax; ++i) {
      EXPECT_FALSE(log.faults().HasCondemned());
      log.faults().Note(id);
    }
    EXPECT_TRUE(log.faults().IsCondemned(id) && log.faults().HasCondemned());
  }
  SegmentId SealedAndFailed() {
    const SegmentId id = Sealed(young);
    EXPECT_TRUE(log.Pin(id));
    Fail(id);
    log.Unpin(id);
    return id;
  }
  // Whatever is opened from now on.
  void ExpectNeverUsedAgain(SegmentId id) {
    EXPECT_EQ(StateOf(id), State::kQuarantined);
    for (int fill = 0; fill < 20; ++fill) {
      ASSERT_NE(Sealed(young), id);
      const auto victim = log.TakeVictim(/*pinned_too=*/true);
      ASSERT_TRUE(victim.segment);
      ASSERT_NE(victim.segment, id);
      log.StartDraining(*victim.segment);
    }
    EXPECT_FALSE(log.Pin(id));
    EXPECT_EQ(StateOf(id), State::kQuarantined);
  }
};

TEST_F(QuarantineTest, WhatFailedTooOftenGoesFirstAndForGood) {
  const SegmentId older = Sealed(young), bad = SealedAndFailed();
  ASSERT_THAT(log.faults().TakeCondemned(), ElementsAre(bad));
  EXPECT_FALSE(log.faults().HasCondemned());
  EXPECT_EQ(StateOf(bad), State::kSealed) << "readable until its words are gone";
  log.StartDraining(bad);
  EXPECT_EQ(log.space().quarantined_segments(), 1u);
  EXPECT_EQ(log.space().usable_segments(), 7u);
  EXPECT_EQ(log.space().unused_segments(), 7u) << "it holds no records";
  EXPECT_TRUE(log.faults().TakeCondemned().empty());
  ASSERT_EQ(log.TakeVictim().segment, older);
  log.StartDraining(older);
  EXPECT_EQ(log.space().free_segments(), 7u);
  ExpectNeverUsedAgain(bad);
}

TEST_F(QuarantineTest, FewerFaultsCostNothing) {
  const SegmentId id = Sealed(young);
  ASSERT_TRUE(log.Pin(id));
  for (uint32_t i = 1; i < log_rules::kFaultsOfSegmentMax; ++i) log.faults().Note(id);
  log.Unpin(id);
  EXPECT_FALSE(log.faults().HasCondemned() || !log.faults().TakeCondemned().empty());
  ASSERT_EQ(log.TakeVictim().segment, id);
  log.StartDraining(id);
  EXPECT_EQ(StateOf(id), State::kFree);
}

TEST_F(QuarantineTest, AnOpenOneIsSealedAndWaitsForItsWriters) {
  const auto where = Open(young, 64);
  Fail(where.segment);
  EXPECT_TRUE(log.faults().TakeCondemned().empty());
  EXPECT_TRUE(log.faults().HasCondemned()) << "to be looked at again";
  EXPECT_EQ(StateOf(where.segment), State::kSealed);
  EXPECT_FALSE(log.Reserve(young, 64));
  log.Leave(where);
  ASSERT_THAT(log.faults().TakeCondemned(), ElementsAre(where.segment));
  log.StartDraining(where.segment);
  ExpectNeverUsedAgain(where.segment);
}

TEST_F(QuarantineTest, APinKeepsTheBytesUntilItIsReleased) {
  const SegmentId bad = SealedAndFailed();
  ASSERT_TRUE(log.Pin(bad));
  ASSERT_THAT(log.faults().TakeCondemned(), ElementsAre(bad));
  log.StartDraining(bad);
  EXPECT_EQ(StateOf(bad), State::kDraining);
  EXPECT_EQ(log.space().quarantined_segments(), 0u);
  log.Unpin(bad);
  ExpectNeverUsedAgain(bad);
}

TEST_F(QuarantineTest, TheVictimAndWhatDrainsGoWithoutBeingTaken) {
  const SegmentId bad = Sealed(young);
  ASSERT_TRUE(log.Pin(bad));
  ASSERT_EQ(log.TakeVictim(/*pinned_too=*/true).segment, bad);
  Fail(bad);
  EXPECT_TRUE(log.faults().TakeCondemned().empty()) << "it is in no queue";
  log.StartDraining(bad);
  EXPECT_TRUE(log.faults().TakeCondemned().empty());
  log.Unpin(bad);
  ExpectNeverUsedAgain(bad);
}

TEST_F(QuarantineTest, AParkedSegmentTakesItsPlace) {
  ASSERT_EQ(log.space().LimitTo(6), 0u);
  EXPECT_EQ(log.space().free_segments(), 6u);
  const SegmentId bad = SealedAndFailed();
  ASSERT_THAT(log.faults().TakeCondemned(), ElementsAre(bad));
  log.StartDraining(bad);
  EXPECT_EQ(log.space().free_segments(), 6u);
  EXPECT_EQ(log.space().usable_segments(), 6u);
}

TEST_F(QuarantineTest, TombstonesLieWhereNothingFailedYet) {
  const SegmentId bad = Sealed(young);
  ASSERT_EQ(bad, kFirst) << "the lowest";
  ASSERT_TRUE(log.Pin(bad));
  log.faults().Note(bad);
  log.Unpin(bad);
  ASSERT_EQ(log.TakeVictim().segment, bad);
  log.StartDraining(bad);
  ASSERT_EQ(log.tombstone_segments().Open(), kSecond);
  for (int i = 0; i < 6; ++i) ASSERT_NE(log.tombstone_segments().Open(), bad);
}

// Nobody reads them, so nothing is lost that their writer does not know of.
TEST_F(QuarantineTest, ThatOfTombstonesWaitsUntilTheyAreClosed) {
  const SegmentId bad = *log.tombstone_segments().Open();
  Fail(bad);
  EXPECT_TRUE(log.faults().TakeCondemned().empty());
  EXPECT_EQ(StateOf(bad), State::kTombstones);
  log.tombstone_segments().Close(bad);
  EXPECT_EQ(log.space().quarantined_segments(), 1u);
  EXPECT_EQ(log.tombstone_segments().count(), 0u);
  ExpectNeverUsedAgain(bad);
}

TEST(Quarantine, WhatIsKnownAtOpenIsNeverProvided) {
  Core core(8, /*provided=*/0);
  core.log.space().Quarantine(kSecond);
  core.log.Provide(4);
  EXPECT_EQ(core.log.space().free_segments(), 3u);
  core.log.Provide(8);
  EXPECT_EQ(core.log.space().free_segments(), 7u);
  EXPECT_EQ(core.log.space().usable_segments(), 7u);
  EXPECT_EQ(core.log.state(kSecond), State::kQuarantined);
  core.ExpectSound();
}

class SparseTest : public SegmentLogTest {
 protected:
  void NoteDead(SegmentId id, uint64_t percent) {
    ASSERT_TRUE(log.Pin(id));
    log.NoteDead(id, kSmallSegmentBytes * percent / 100);
    log.Unpin(id);
  }
  uint64_t Sparse() { return core.counters.Snapshot()[Event::kScmSegmentSparse]; }
};

TEST_F(SparseTest, TheMarkIsCrossedOnceAndTheSegmentGoesFirst) {
  const SegmentId old = Sealed(young), sparse = Sealed(proven);
  NoteDead(sparse, 50);
  EXPECT_EQ(Sparse(), 0u);
  NoteDead(sparse, 30);
  NoteDead(sparse, 10);
  EXPECT_EQ(Sparse(), 1u);
  EXPECT_EQ(log.sparse_segments(), 1u);
  const auto victim = log.TakeVictim();
  EXPECT_EQ(log.sparse_segments(), 0u);
  EXPECT_EQ(victim.segment, sparse);
  EXPECT_TRUE(victim.sparse);
  EXPECT_EQ(victim.generation, Generation::kProven);
  EXPECT_EQ(victim.sealed, 2u);
  log.StartDraining(sparse);
  const auto next = log.TakeVictim();
  EXPECT_EQ(next.segment, old);
  EXPECT_FALSE(next.sparse);
  log.StartDraining(old);
}

TEST_F(SparseTest, AnOpenSegmentIsQueuedWhenItIsSealedAndTheNextFillBeginsAnew) {
  const auto where = Open(young);
  NoteDead(where.segment, 80);
  EXPECT_EQ(Sparse(), 0u);
  log.Leave(where);
  log.SealAll();
  EXPECT_EQ(Sparse(), 1u);
  EXPECT_TRUE(log.HasSealed());
  EXPECT_TRUE(log.TakeVictim().sparse);
  log.StartDraining(where.segment);
  EXPECT_EQ(Sealed(young), where.segment);
  EXPECT_FALSE(log.TakeVictim().sparse);
  log.StartDraining(where.segment);
}

TEST_F(SparseTest, APinnedOneWaits) {
  const SegmentId sparse = Sealed(young), other = Sealed(young);
  NoteDead(sparse, 80);
  ASSERT_TRUE(log.Pin(sparse));
  EXPECT_EQ(log.TakeVictim().segment, other);
  log.StartDraining(other);
  EXPECT_FALSE(log.TakeVictim().segment);
  EXPECT_EQ(log.TakeVictim(/*pinned_too=*/true).segment, sparse);
  log.StartDraining(sparse);
  log.Unpin(sparse);
}

}  // namespace
}  // namespace mezz
