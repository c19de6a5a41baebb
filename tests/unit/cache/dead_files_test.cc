// SPDX-License-Identifier: Apache-2.0
#include "cache/dead_files.h"

#include <gtest/gtest.h>

#include "cache/reclaimer.h"
#include "tests/support/core_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::kSmallSegmentBytes;

class NoJudge : public SurvivorJudge {
 public:
  Fate Judge(const RecordFacts& record) override {
    asked.push_back(record.key);
    return Fate::kSpare;
  }
  std::vector<BlockKey> asked;
};

// Each key is a file of its own (test::Key), but for 0, which is none.
class DeadFilesTest : public test::CoreTest {
 protected:
  void Forget(uint64_t key) { dead.Add(Key(key).file()); }
  bool Forgotten(uint64_t key) const { return dead.Has(Key(key).file()); }
  void WalkOnce() {
    for (uint64_t slot = 0; slot < core.index.slots(); slot += Index::kSlotsPerBucket) dead.Step(1);
  }
  // Keys from `first`, four a segment, so many segments.
  void Fill(uint32_t segments, uint64_t first, unsigned heat = 0, unsigned lane = 0) {
    for (uint64_t key = first; key < first + 4 * segments; ++key) ASSERT_TRUE(core.Put(key, kQuarter, heat, lane));
  }

  DeadFiles dead{&core.index, core.reader, &core.log, &core.counters, nullptr};
  NoJudge judge;
  Reclaimer reclaimer{{.medium = core.medium,
                       .log = &core.log,
                       .index = &core.index,
                       .counters = &core.counters,
                       .judge = &judge,
                       .dead = &dead}};
};

TEST_F(DeadFilesTest, OneRoundOfTheWalkTakesOutTheForgottenAndNothingElse) {
  Fill(3, 1);
  for (uint64_t key = 1; key <= 12; key += 2) Forget(key);
  EXPECT_TRUE(Resident(1)) << "a hint by itself removes nothing";
  WalkOnce();
  for (uint64_t key = 1; key <= 12; ++key) EXPECT_EQ(Resident(key), key % 2 == 0) << key;
  EXPECT_EQ(Count(Event::kScmDeadDropped), 6u);
  EXPECT_EQ(Count(Event::kScmDeadDroppedBytes), 6 * kQuarter);
  EXPECT_EQ(Count(Event::kScmFileForgotten), 6u);
}

TEST_F(DeadFilesTest, ARoundEndsWithinAnEighthOfATurnOfTheLogHoweverLargeTheBlocks) {
  for (const uint64_t bytes : {kQuarter / 8, kQuarter, kSegments * kSmallSegmentBytes / 8}) {
    Fill(1, 1);
    for (uint64_t key = 1; key <= 4; ++key) Forget(key);
    for (uint64_t put = 0; put < kSegments * kSmallSegmentBytes / 8; put += bytes) dead.Step(bytes);
    EXPECT_EQ(core.index.blocks(), 0u) << bytes;
    for (uint64_t key = 1; key <= 4; ++key) dead.Revive(Key(key).file());
  }
}

TEST_F(DeadFilesTest, AHintInTheMiddleOfARoundGetsAWholeOne) {
  Fill(3, 1);
  Forget(100);
  for (uint64_t slot = 0; slot < core.index.slots() / 2; slot += Index::kSlotsPerBucket) dead.Step(1);
  for (uint64_t key = 1; key <= 12; ++key) Forget(key);
  WalkOnce();
  EXPECT_EQ(core.index.blocks(), 0u);
}

TEST_F(DeadFilesTest, TheSameHintAgainIsNoNews) {
  Fill(1, 1);
  Forget(1);
  WalkOnce();
  Forget(1);
  EXPECT_EQ(Count(Event::kScmFileForgotten), 1u);
  ASSERT_TRUE(core.Put(1, 100));
  WalkOnce();
  EXPECT_TRUE(Resident(1)) << "the walk was over; reclaim has it";
}

TEST_F(DeadFilesTest, ARevivedFileIsLeftAlone) {
  Fill(1, 1);
  Forget(1);
  Forget(2);
  dead.Revive(Key(1).file());
  dead.Revive(Key(3).file());  // never forgotten
  EXPECT_FALSE(Forgotten(1));
  WalkOnce();
  EXPECT_TRUE(Resident(1));
  EXPECT_FALSE(Resident(2));
  EXPECT_EQ(Count(Event::kScmFileRevived), 1u);
}

TEST_F(DeadFilesTest, WhatBelongsToNoFileIsNotForgotten) {
  dead.Add(FileId{0});
  EXPECT_FALSE(dead.Has(FileId{0}));
  Forget(1);
  EXPECT_FALSE(dead.Has(FileId{0})) << "an empty word is no file";
}

TEST_F(DeadFilesTest, TheOldestHintsGiveWay) {
  constexpr uint64_t kHints = 5000;
  for (uint64_t key = 1; key <= kHints; ++key) Forget(key);
  uint64_t kept = 0;
  for (uint64_t key = 1; key <= kHints; ++key) kept += Forgotten(key) ? 1 : 0;
  EXPECT_GT(kept, 1000u);
  EXPECT_LE(kept, 1024u);
  for (uint64_t key = kHints - 200; key <= kHints; ++key) EXPECT_TRUE(Forgotten(key)) << key;
  for (uint64_t key = 1; key <= kHints; ++key) dead.Revive(Key(key).file());
  for (uint64_t key = 1; key <= kHints; ++key) EXPECT_FALSE(Forgotten(key)) << key;
}

TEST_F(DeadFilesTest, ReclaimSparesNoDeadRecordAndAsksNobody) {
  Fill(6, 1, /*heat=*/3);
  Forget(1);
  Forget(3);
  reclaimer.Step(kSmallSegmentBytes);
  EXPECT_FALSE(Resident(1));
  EXPECT_FALSE(Resident(3));
  EXPECT_TRUE(Resident(2));
  EXPECT_EQ(Count(Event::kScmDeadDropped), 2u);
  EXPECT_EQ(Count(Event::kScmDropped), 0u);
  for (const BlockKey& key : judge.asked) EXPECT_FALSE(dead.Has(key.file()));
  EXPECT_FALSE(judge.asked.empty());
}

TEST_F(DeadFilesTest, ASparseSegmentIsTheNextVictimWhateverItsAgeAndGeneration) {
  Fill(4, 1);
  Fill(2, 100, /*heat=*/3, core.log.proven_lane());
  reclaimer.SetRequeuePercent(1);  // any hot record would keep its segment
  const SegmentId full = core.SegmentOf(100);
  for (uint64_t key = 100; key < 104; ++key) Forget(key);
  WalkOnce();
  EXPECT_EQ(Count(Event::kScmSegmentSparse), 1u);
  reclaimer.Step(kSmallSegmentBytes);
  EXPECT_EQ(core.log.state(full), SegmentLog::State::kFree);
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u);
  EXPECT_TRUE(Resident(1)) << "the oldest has gained a turn";
}

TEST_F(DeadFilesTest, TheHotButDeadDoNotKeepASegment) {
  Fill(1, 1);
  Fill(5, 100, /*heat=*/3, core.log.proven_lane());
  core.log.SetYoungPercent(100);
  reclaimer.SetRequeuePercent(80);
  Forget(101);  // three of four are left: 75 %
  reclaimer.Step(kSmallSegmentBytes);
  EXPECT_EQ(Count(Event::kScmSegmentRequeued), 0u);
  EXPECT_FALSE(Resident(101));
}

}  // namespace
}  // namespace mezz
