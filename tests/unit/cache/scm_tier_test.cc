// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_tier.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>

#include "cache/layout.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::Payload;

class ScmTierTest : public testing::Test {
 protected:
  void Open(const ScmOptions& options, SurvivorJudge* judge = nullptr) { tier_ = test::OpenOrDie(options, judge); }
  void TearDown() override {
    if (tier_ != nullptr) test::ExpectSound(*tier_);
  }
  PutResult Put(uint64_t n, size_t bytes) { return tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, bytes)); }
  bool Serves(uint64_t n, size_t bytes) {
    const PinnedBlock block = tier_->Find(Key(n));
    return block && test::Same(block.payload(), Payload(n, 0, bytes));
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }

  std::unique_ptr<ScmTier> tier_;
};

TEST_F(ScmTierTest, ServesEverySizeFromNothingToAWholeSegmentAndNotAByteMore) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  std::vector<size_t> sizes = {0, 1, 31, 32, 33, 63, 64, 65, 4095, 4096, 8192 - 32, 8192 + 64 - 32, 8192 + 64 - 31};
  for (size_t bytes = 8000; bytes < 8400; ++bytes) sizes.push_back(bytes);
  sizes.push_back(tier_->figures().max_block_bytes());
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(Put(i, sizes[i]), PutResult::kStored) << sizes[i];
    ASSERT_TRUE(Serves(i, sizes[i])) << sizes[i];
  }
  EXPECT_EQ(Put(9999, tier_->figures().max_block_bytes() + 1), PutResult::kTooLarge);
  EXPECT_EQ(Count(Event::kRefusedTooLarge), 1u);
  EXPECT_FALSE(tier_->Find(Key(9999)));
}

TEST_F(ScmTierTest, LastPutWinsAndErasedKeysStayAway) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  for (uint64_t version = 0; version < 5; ++version)
    ASSERT_EQ(tier_->Put(Key(1), BlockRole::kIndex, Payload(1, version, 1000 + version)), PutResult::kStored);
  {
    const PinnedBlock block = tier_->Find(Key(1));
    ASSERT_TRUE(block);
    EXPECT_TRUE(test::Same(block.payload(), Payload(1, 4, 1004)));
    EXPECT_EQ(block.role(), BlockRole::kIndex);
    EXPECT_TRUE(tier_->Erase(Key(1)));
    EXPECT_TRUE(test::Same(block.payload(), Payload(1, 4, 1004))) << "pinned bytes changed under an erase";
  }
  EXPECT_FALSE(tier_->Find(Key(1)));
  EXPECT_FALSE(tier_->Contains(Key(1)));
  EXPECT_FALSE(tier_->Erase(Key(1)));
  EXPECT_EQ(Count(Event::kScmReplaced), 4u);
}

// Sixteen blocks a file.
BlockKey KeyInFile(uint64_t file, uint64_t n) {
  BlockKey key;
  key.words[0] = file;
  key.words[1] = file * 1000 + n;
  return key;
}

TEST_F(ScmTierTest, PutsOfAForgottenFileAreRefusedUntilALookUpMissesABlockOfIt) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  const auto put = [&](uint64_t n) { return tier_->Put(KeyInFile(1, n), BlockRole::kData, Payload(n, 0, 500)); };
  ASSERT_EQ(put(1), PutResult::kStored);
  tier_->ForgetFile(FileId{1});
  EXPECT_TRUE(tier_->IsForgotten(FileId{1}));
  EXPECT_EQ(put(2), PutResult::kDeadFile);
  EXPECT_EQ(Count(Event::kRefusedDeadFile), 1u);
  EXPECT_TRUE(tier_->Find(KeyInFile(1, 1))) << "what is still here is served";
  EXPECT_FALSE(tier_->Contains(KeyInFile(1, 2)));
  EXPECT_TRUE(tier_->IsForgotten(FileId{1})) << "nobody missed anything";
  EXPECT_FALSE(tier_->Find(KeyInFile(1, 2)));
  EXPECT_FALSE(tier_->IsForgotten(FileId{1})) << "it is read, so it is not gone";
  EXPECT_EQ(put(2), PutResult::kStored);
  EXPECT_TRUE(tier_->Find(KeyInFile(1, 2)));
}

TEST_F(ScmTierTest, ForgottenFilesMakeRoomForTheLiving) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  constexpr size_t kBytes = 4000;
  const uint64_t per_tier = 16 * kSegmentBytesMin / layout::RecordBytes(kBytes);
  const uint64_t files = per_tier / 16;
  const auto put = [&](uint64_t file, uint64_t n) {
    ASSERT_EQ(tier_->Put(KeyInFile(file, n), BlockRole::kData, Payload(file, n, kBytes)), PutResult::kStored);
  };
  for (uint64_t file = 1; file <= files / 2; ++file) {  // live and cold: the first to be reclaimed
    for (uint64_t n = 0; n < 16; ++n) put(file, n);
  }
  for (uint64_t file = files / 2 + 1; file <= files * 15 / 16; ++file) {
    for (uint64_t n = 0; n < 16; ++n) put(file, n);
  }
  for (uint64_t file = files / 2 + 1; file <= files * 15 / 16; ++file) tier_->ForgetFile(FileId{file});
  for (uint64_t file = files + 1; file <= files + files * 3 / 8; ++file) {
    for (uint64_t n = 0; n < 16; ++n) put(file, n);
  }
  uint64_t dead = 0;
  tier_->figures().ForEach(
      [&](const BlockKey& key, size_t, BlockRole) { dead += tier_->IsForgotten(key.file()) ? 1 : 0; });
  EXPECT_EQ(dead, 0u);
  EXPECT_GT(Count(Event::kScmSegmentSparse), 0u);
  uint64_t kept = 0;
  for (uint64_t file = 1; file <= files / 2; ++file) kept += tier_->Contains(KeyInFile(file, 0)) ? 1 : 0;
  EXPECT_GE(kept, files / 4) << "of " << files / 2 << ": the dead were to go first";
}

TEST_F(ScmTierTest, ReclaimSparesWhatWasHitAndDropsTheRestOldestFirst) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  constexpr size_t kBytes = 4000;
  const uint64_t per_tier = 16 * kSegmentBytesMin / layout::RecordBytes(kBytes);
  const uint64_t hot = per_tier / 10;
  for (uint64_t n = 0; n < 3 * per_tier; ++n) {
    ASSERT_EQ(Put(n, kBytes), PutResult::kStored);
    for (uint64_t h = 0; n % 8 == 0 && h < std::min(n, hot); ++h) {
      ASSERT_TRUE(Serves(h, kBytes)) << "block " << h << " after " << n;
    }
  }
  EXPECT_TRUE(Serves(3 * per_tier - 1, kBytes));
  EXPECT_FALSE(Serves(per_tier, kBytes)) << "a cold, old block outlived two turns of the log";
  EXPECT_GT(Count(Event::kScmSecondChance), 0u);
  EXPECT_GT(Count(Event::kScmDropped), per_tier);
}

TEST_F(ScmTierTest, BlockInDramIsSparedOnceDramGoes) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  constexpr size_t kBytes = 4000;
  const uint64_t per_tier = 16 * kSegmentBytesMin / layout::RecordBytes(kBytes);
  for (uint64_t n = 0; n < 50; ++n) {
    ASSERT_EQ(Put(n, kBytes), PutResult::kStored);
    EXPECT_TRUE(tier_->NotePromoted(Key(n)));
  }
  EXPECT_FALSE(tier_->NotePromoted(Key(50))) << "it has no record";
  tier_->NoteDramGoes();
  for (uint64_t n = 50; n < 2 * per_tier; ++n) ASSERT_EQ(Put(n, kBytes), PutResult::kStored);
  for (uint64_t n = 0; n < 50; ++n) EXPECT_TRUE(Serves(n, kBytes)) << n;
  EXPECT_FALSE(Serves(50, kBytes)) << "nothing was reclaimed, and the test shows nothing";
}

// Spares by key, and keeps what it was told.
class Juror final : public SurvivorJudge {
 public:
  explicit Juror(std::function<bool(const RecordFacts&)> rule) : rule_(std::move(rule)) {}
  Fate Judge(const RecordFacts& record) override {
    ++asked_[record.key.words[1]];
    last_[record.key.words[1]] = record;
    return rule_(record) ? Fate::kSpare : Fate::kDrop;
  }
  int asked(uint64_t n) { return asked_[n]; }
  const RecordFacts& last(uint64_t n) { return last_[n]; }

 private:
  std::function<bool(const RecordFacts&)> rule_;
  std::map<uint64_t, int> asked_;
  std::map<uint64_t, RecordFacts> last_;
};

TEST_F(ScmTierTest, JudgeDecidesWhatSurvivesAndIsToldTheFacts) {
  constexpr size_t kBytes = 4000;
  const uint64_t per_tier = 16 * kSegmentBytesMin / layout::RecordBytes(kBytes);
  Juror judge([](const RecordFacts& record) { return record.key.words[1] == 7; });  // cold, and wanted all the same
  Open(test::AnonymousOptions(16 * kSegmentBytesMin), &judge);
  for (uint64_t n = 0; n < 3 * per_tier; ++n) {
    ASSERT_EQ(Put(n, kBytes), PutResult::kStored);
    if (n == 20) {
      ASSERT_TRUE(Serves(8, kBytes));
      ASSERT_TRUE(Serves(8, kBytes));
      tier_->NotePromoted(Key(9));
    }
  }
  EXPECT_TRUE(Serves(7, kBytes));
  EXPECT_FALSE(Serves(8, kBytes)) << "the judge said no to a hot block";
  EXPECT_GE(judge.asked(7), 1);
  EXPECT_EQ(judge.asked(8), 1);
  EXPECT_EQ(judge.last(8).heat, 2);
  EXPECT_FALSE(judge.last(8).in_dram);
  EXPECT_EQ(judge.last(8).payload_bytes, kBytes);
  EXPECT_EQ(judge.last(8).role, BlockRole::kData);
  EXPECT_TRUE(judge.last(9).in_dram);
  EXPECT_EQ(Count(Event::kScmSecondChance), static_cast<uint64_t>(judge.asked(7)));
  tier_.reset();  // before its judge
}

TEST_F(ScmTierTest, JudgeThatSparesEverythingStopsNothingAndSavesNoBlockThatIsInDram) {
  constexpr size_t kBytes = 4000;
  const uint64_t per_tier = 16 * kSegmentBytesMin / layout::RecordBytes(kBytes);
  Juror judge([](const RecordFacts&) { return true; });
  Open(test::AnonymousOptions(16 * kSegmentBytesMin), &judge);
  for (uint64_t n = 0; n < 10 * per_tier; ++n) {
    ASSERT_EQ(Put(n, kBytes), PutResult::kStored) << "reclaim makes no room";
    if (n == 0) tier_->NotePromoted(Key(0));
  }
  EXPECT_FALSE(tier_->NoteDramEviction(Key(0)));
  EXPECT_EQ(judge.asked(0), 1);
  const CounterSnapshot counts = tier_->counters().Snapshot();
  EXPECT_LE(counts[Event::kScmSecondChanceBytes],
            15 * counts[Event::kScmPut] * layout::RecordBytes(kBytes) + (4u << 20));
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u) << "the judge was asked while the tier shrank";
  tier_.reset();
}

TEST_F(ScmTierTest, WhatCameBackStartsWithOneHeat) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  for (const auto generation : {Generation::kYoung, Generation::kProven}) {
    ASSERT_EQ(tier_->Put(Key(1), BlockRole::kData, Payload(1, 0, 4000), generation), PutResult::kStored);
    EXPECT_EQ(tier_->Find(Key(1), BlockRole::kData, Heat::kKeep).heat(), generation == Generation::kProven ? 1 : 0);
  }
}

TEST_F(ScmTierTest, HitThatHandsTheHeatOverTellsItAndLeavesNone) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  ASSERT_EQ(Put(1, 4000), PutResult::kStored);
  for (int i = 0; i < 2; ++i) tier_->Find(Key(1));
  EXPECT_EQ(tier_->Find(Key(1), BlockRole::kData, Heat::kKeep).heat(), 2) << "it is no evidence";
  EXPECT_EQ(tier_->Find(Key(1), BlockRole::kData, Heat::kHandOver).heat(), 2);
  EXPECT_EQ(tier_->Find(Key(1), BlockRole::kData, Heat::kKeep).heat(), 0);
  EXPECT_EQ(tier_->Find(Key(1)).heat(), 1) << "it can be hit again";
}

TEST_F(ScmTierTest, DramEvictionIsCleanWhileTheRecordLives) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  EXPECT_FALSE(tier_->NoteDramEviction(Key(5)));
  ASSERT_EQ(Put(5, 100), PutResult::kStored);
  tier_->NotePromoted(Key(5));
  EXPECT_TRUE(tier_->NoteDramEviction(Key(5)));
  EXPECT_TRUE(tier_->Erase(Key(5)));
  EXPECT_FALSE(tier_->NoteDramEviction(Key(5)));
}

TEST_F(ScmTierTest, RefusesWhenEverySegmentIsPinnedAndRecoversAfterwards) {
  Open(test::AnonymousOptions(8 * kSegmentBytesMin));
  std::deque<PinnedBlock> pins;
  PutResult result = PutResult::kStored;
  uint64_t n = 0;
  for (; n < 1000 && result == PutResult::kStored; ++n) {
    result = Put(n, 60'000);
    if (result == PutResult::kStored) pins.push_back(tier_->Find(Key(n)));
  }
  EXPECT_EQ(result, PutResult::kAllPinned);
  EXPECT_TRUE(tier_->PinPressure());
  EXPECT_GT(Count(Event::kRefusedAllPinned), 0u);
  EXPECT_GT(tier_->figures().pinned_bytes(), 0u);
  for (uint64_t i = 0; i < pins.size(); ++i)
    ASSERT_TRUE(test::Same(pins[i].payload(), Payload(i, 0, 60'000))) << "pinned bytes were overwritten";
  pins.clear();
  int asked = 0;
  while (tier_->PinPressure() && asked < 5000) ++asked;
  EXPECT_LT(asked, 5000) << "pin pressure outlives the pins where nothing is written";
  EXPECT_EQ(Put(n, 60'000), PutResult::kStored);
  EXPECT_FALSE(tier_->PinPressure());
  EXPECT_EQ(tier_->figures().pinned_bytes(), 0u);
}

TEST_F(ScmTierTest, SourceThatFailsLeavesNoTraceAndTheLogStaysWalkable) {
  Open(test::AnonymousOptions(8 * kSegmentBytesMin));
  for (uint64_t n = 0; n < 500; ++n) {
    const auto fails = [n](size_t offset, size_t, std::byte*) { return n % 3 != 0 && offset < 8192; };
    EXPECT_EQ(tier_->Put(Key(1'000'000 + n), BlockRole::kData, 20'000, fails), PutResult::kFillFailed);
    EXPECT_FALSE(tier_->Contains(Key(1'000'000 + n)));
    ASSERT_EQ(Put(n, 5000), PutResult::kStored);
  }
  EXPECT_EQ(Count(Event::kRefusedFillFailed), 500u);
  EXPECT_EQ(Count(Event::kScmDamagedHeader), 0u);
  EXPECT_TRUE(Serves(499, 5000));
}

TEST_F(ScmTierTest, CapacityShrinksGrowsAndGoesToZeroAndBack) {
  Open(test::AnonymousOptions(32 * kSegmentBytesMin));
  const auto fill = [&] {
    for (uint64_t n = 0; n < 4000; ++n) Put(n, 4000);
  };
  fill();
  ASSERT_TRUE(tier_->SetCapacity(10 * kSegmentBytesMin).ok());
  EXPECT_LE(tier_->figures().usage_bytes(), 10 * kSegmentBytesMin);
  fill();
  EXPECT_LE(tier_->figures().usage_bytes(), 10 * kSegmentBytesMin);
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  EXPECT_EQ(tier_->figures().usage_bytes(), 0u);
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  EXPECT_EQ(Put(1, 4000), PutResult::kNoSpace);
  ASSERT_TRUE(tier_->SetCapacity(32 * kSegmentBytesMin).ok());
  fill();
  EXPECT_GT(tier_->figures().usage_bytes(), 28 * kSegmentBytesMin);
  EXPECT_TRUE(Serves(3999, 4000));
  EXPECT_FALSE(tier_->SetCapacity(33 * kSegmentBytesMin).ok());
  EXPECT_FALSE(tier_->SetCapacity(kSegmentBytesMin).ok());
}

TEST_F(ScmTierTest, EraseAllForgetsEverythingAndTheSpaceComesBack) {
  Open(test::AnonymousOptions(8 * kSegmentBytesMin));
  for (uint64_t n = 0; n < 2000; ++n) Put(n, 4000);
  tier_->EraseAll();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  for (uint64_t n = 0; n < 2000; ++n) ASSERT_FALSE(tier_->Find(Key(n)));
  for (uint64_t n = 0; n < 2000; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);
}

TEST_F(ScmTierTest, DamagedPayloadIsAMissWhenHitsAreVerified) {
  ScmOptions options = test::AnonymousOptions(8 * kSegmentBytesMin);
  options.verify = VerifyMode::kAlways;
  Open(options);
  Put(1, 4000);
  Put(2, 4000);
  {
    const PinnedBlock block = tier_->Find(Key(1));
    ASSERT_TRUE(block);
    const_cast<std::byte&>(block.payload()[3999]) ^= std::byte{1};
  }
  EXPECT_FALSE(tier_->Find(Key(1)));
  EXPECT_FALSE(tier_->Contains(Key(1))) << "the damaged record was kept";
  EXPECT_TRUE(Serves(2, 4000));
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
}

// Every bit of a record's header, length and role and flags included: none may change what a hit serves.
TEST_F(ScmTierTest, AFlippedBitInAHeaderIsACountedMiss) {
  ScmOptions options = test::AnonymousOptions(64 * kSegmentBytesMin);
  options.faults_max = 0;  // a fault costs what it hit
  Open(options);
  for (uint64_t bit = 0; bit < sizeof(layout::RecordHeader) * 8; ++bit) {
    ASSERT_EQ(Put(bit, 4000), PutResult::kStored);
    {
      const PinnedBlock block = tier_->Find(Key(bit));
      ASSERT_TRUE(block);
      std::byte* const header = const_cast<std::byte*>(block.payload().data()) - sizeof(layout::RecordHeader);
      header[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    ASSERT_FALSE(tier_->Find(Key(bit))) << "bit " << bit;
    ASSERT_EQ(Count(Event::kScmDamagedHeader), bit + 1) << "bit " << bit;
    ASSERT_EQ(tier_->figures().resident_blocks(), 0u) << "the damaged record was kept";
  }
}

// Memory that fails again and again in one place.
TEST_F(ScmTierTest, AThirdFaultCostsTheSegmentForGoodAndTheTierGoesOn) {
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.verify = VerifyMode::kAlways;
  Open(options);
  uint64_t next = 0;
  for (; next < 50; ++next) ASSERT_EQ(Put(next, 4000), PutResult::kStored);
  PinnedBlock held = tier_->Find(Key(40));
  const std::byte* const end =  // of the segment, the first one
      tier_->Find(Key(0)).payload().data() - sizeof(layout::RecordHeader) - sizeof(layout::SegmentHeader) -
      layout::kSuperblockSpace + kSegmentBytesMin;
  for (uint64_t n = 0; n < 3; ++n) {
    const_cast<std::byte&>(tier_->Find(Key(n)).payload()[99]) ^= std::byte{1};
    EXPECT_FALSE(tier_->Find(Key(n)));
    EXPECT_EQ(tier_->figures().faults(), n + 1);
    Put(next++, 4000);
    EXPECT_EQ(Serves(30, 4000), n < 2) << "the put after the third gives the segment up";
  }
  EXPECT_EQ(tier_->figures().resident_blocks(), 1u) << "what was put since";
  EXPECT_EQ(tier_->figures().quarantined_bytes(), 0u) << "it is pinned";
  EXPECT_EQ(test::BytesOf(held), test::Payload(40, 0, 4000));
  held.Release();
  EXPECT_EQ(tier_->figures().quarantined_bytes(), kSegmentBytesMin);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 15 * kSegmentBytesMin);
  for (; next < 3000; ++next) {
    ASSERT_EQ(Put(next, 4000), PutResult::kStored);
    const PinnedBlock block = tier_->Find(Key(next));
    ASSERT_TRUE(block && block.payload().data() >= end);
  }
  EXPECT_GT(tier_->figures().resident_blocks(), 12 * 60u);
  EXPECT_LE(tier_->figures().usage_bytes(), 15 * kSegmentBytesMin);
  EXPECT_EQ(tier_->figures().quarantined_bytes(), kSegmentBytesMin);
}

TEST_F(ScmTierTest, AfterTooManyFaultsItClosesForGood) {
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.verify = VerifyMode::kAlways;
  options.faults_max = 3;
  std::string why;
  int told = 0;
  options.on_trouble = [&](std::string_view text) { why = text, ++told; };
  Open(options);
  for (uint64_t n = 0; n < 500; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);
  const PinnedBlock held = tier_->Find(Key(40));
  for (uint64_t n = 0; n < 300; n += 100) {
    EXPECT_FALSE(tier_->figures().is_closed());
    EXPECT_TRUE(Serves(n + 1, 4000));
    const_cast<std::byte&>(tier_->Find(Key(n)).payload()[99]) ^= std::byte{1};
    EXPECT_FALSE(tier_->Find(Key(n)));
  }
  EXPECT_TRUE(tier_->figures().is_closed());
  EXPECT_EQ(told, 1);
  EXPECT_NE(why.find("failed 3 times"), std::string::npos) << why;
  for (uint64_t n = 0; n < 500; ++n) ASSERT_FALSE(tier_->Find(Key(n)) || tier_->Contains(Key(n)));
  EXPECT_EQ(tier_->figures().resident_blocks() + tier_->figures().capacity_bytes() + tier_->figures().usage_bytes(),
            0u);
  EXPECT_EQ(Put(1, 4000), PutResult::kNoSpace);
  EXPECT_EQ(Count(Event::kRefusedNoSpace), 1u);
  EXPECT_EQ(test::BytesOf(held), test::Payload(40, 0, 4000)) << "a pin holds its bytes";
  EXPECT_EQ(tier_->SetCapacity(options.capacity_bytes).code(), Status::Code::kNotSupported);
  EXPECT_FALSE(tier_->Find(Key(1)));
  EXPECT_EQ(told, 1);
}

TEST_F(ScmTierTest, WhoeverMeetsTheLastFaultClosesIt) {
  const std::function<void()> calls[] = {
      [&] { EXPECT_FALSE(tier_->Contains(Key(1))); }, [&] { EXPECT_FALSE(tier_->Erase(Key(1))); },
      [&] { EXPECT_EQ(tier_->Compare(Key(1), 4000, SpanSource{Payload(1, 0, 4000)}), Held::kNothing); },
      [&] { EXPECT_EQ(Put(1, 4000), PutResult::kStored); }};
  for (const auto& call : calls) {
    ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
    options.faults_max = 1;
    Open(options);
    ASSERT_EQ(Put(1, 4000), PutResult::kStored);
    ASSERT_EQ(Put(2, 4000), PutResult::kStored);
    std::memset(const_cast<std::byte*>(tier_->Find(Key(1)).payload().data()) - sizeof(layout::RecordHeader), 0xff, 16);
    EXPECT_TRUE(Serves(2, 4000));
    call();
    EXPECT_FALSE(tier_->Find(Key(2)));
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  }
}

TEST_F(ScmTierTest, WithTooFewSegmentsLeftItClosesForGood) {
  ScmOptions options = test::AnonymousOptions(kSegmentsMin * kSegmentBytesMin);
  options.verify = VerifyMode::kAlways;
  Open(options);
  for (uint64_t n = 0; n < 50; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);
  for (uint64_t n = 0; n < 3; ++n) {
    const_cast<std::byte&>(tier_->Find(Key(n)).payload()[99]) ^= std::byte{1};
    EXPECT_FALSE(tier_->Find(Key(n)));
  }
  EXPECT_TRUE(Serves(10, 4000));
  Put(100, 4000);
  EXPECT_TRUE(tier_->figures().is_closed());
  EXPECT_FALSE(tier_->Find(Key(100)) || tier_->Find(Key(10)));
}

TEST_F(ScmTierTest, WithoutALimitFaultsCostWhatTheyHit) {
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.verify = VerifyMode::kAlways;
  options.faults_max = 0;
  Open(options);
  for (uint64_t n = 0; n < 50; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);
  for (uint64_t n = 0; n < 40; ++n) {
    const_cast<std::byte&>(tier_->Find(Key(n)).payload()[99]) ^= std::byte{1};
    EXPECT_FALSE(tier_->Find(Key(n)));
  }
  Put(100, 4000);
  EXPECT_TRUE(Serves(45, 4000) && Serves(100, 4000));
  EXPECT_EQ(tier_->figures().faults(), 40u);
  EXPECT_EQ(tier_->figures().quarantined_bytes(), 0u);
}

TEST_F(ScmTierTest, SampledVerificationFindsDamageThatPersists) {
  Open(test::AnonymousOptions(8 * kSegmentBytesMin));
  ASSERT_EQ(tier_->options().verify, VerifyMode::kSampled);
  Put(1, 4000);
  const_cast<std::byte&>(tier_->Find(Key(1)).payload()[17]) ^= std::byte{4};
  constexpr int kHitsMax = 1024 * 40;  // that none of them is drawn: e^-40
  int hits = 0;
  while (hits < kHitsMax && tier_->Find(Key(1))) ++hits;
  EXPECT_LT(hits, kHitsMax);
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

TEST_F(ScmTierTest, AScrubFindsWhatNoHitMet) {
  ScmOptions options = test::AnonymousOptions(8 * kSegmentBytesMin);
  options.verify = VerifyMode::kOff;
  Open(options);
  for (uint64_t n = 0; n < 100; ++n) Put(n, 1000);
  for (const uint64_t n : {17, 42}) const_cast<std::byte&>(tier_->Find(Key(n)).payload()[999]) ^= std::byte{1};
  EXPECT_EQ(tier_->Scrub(100 * 1000), 100'000u) << "every record once";
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 2u);
  EXPECT_EQ(tier_->figures().resident_blocks(), 98u);
  EXPECT_FALSE(tier_->Contains(Key(17)));
  EXPECT_EQ(tier_->Scrub(1 << 20), 98'000u) << "no more than all of it at once";
}

// What a source leaves half-done, by a false or by an exception, costs neither pin nor segment.
TEST_F(ScmTierTest, ASourceThatThrowsIsARefusedPut) {
  Open(test::AnonymousOptions(8 * kSegmentBytesMin));
  for (uint64_t n = 0; n < 1000; ++n) {
    const auto source = [&](size_t, size_t, std::byte*) -> bool { throw std::runtime_error("no block here"); };
    ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, 9000 + n % 3, source), PutResult::kFillFailed);
  }
  EXPECT_EQ(Count(Event::kRefusedFillFailed), 1000u);
  EXPECT_EQ(tier_->figures().pinned_bytes(), 0u);
  for (uint64_t n = 0; n < 2000; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);
}

TEST_F(ScmTierTest, CapacityZeroGivesUpPinnedSegmentsWithTheirLastPin) {
  Open(test::AnonymousOptions(16 * kSegmentBytesMin));
  for (uint64_t n = 0; n < 500; ++n) Put(n, 4000);
  std::vector<PinnedBlock> held;
  for (const uint64_t n : {0, 200, 499}) held.push_back(tier_->Find(Key(n)));
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  EXPECT_EQ(tier_->figures().usage_bytes(), 3 * kSegmentBytesMin) << "the pinned segments";
  EXPECT_TRUE(test::Same(held[1].payload(), Payload(200, 0, 4000))) << "pinned bytes must stay";
  held.clear();
  EXPECT_EQ(tier_->figures().usage_bytes(), 0u) << "a released segment was kept";
  ASSERT_TRUE(tier_->SetCapacity(16 * kSegmentBytesMin).ok());
  for (uint64_t n = 0; n < 2000; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);
}

// A put that runs into a shrinking tier waits for one victim's worth of work, not for the whole of it.
TEST_F(ScmTierTest, AShrinkIsDoneVictimByVictim) {
  Open(test::AnonymousOptions(200 * kSegmentBytesMin));
  for (uint64_t n = 0; n < 12'000; ++n) Put(n, 4000);
  (void)tier_->figures().TakeLongestReclaim();
  ASSERT_TRUE(tier_->SetCapacity(8 * kSegmentBytesMin).ok());
  const uint64_t records_in_a_segment = kSegmentBytesMin / 4032;
  EXPECT_GT(tier_->figures().TakeLongestReclaim(), 0u);
  EXPECT_LE(tier_->figures().usage_bytes(), 8 * kSegmentBytesMin);
  ASSERT_TRUE(tier_->SetCapacity(200 * kSegmentBytesMin).ok());
  for (uint64_t n = 0; n < 12'000; ++n) Put(n, 4000);
  (void)tier_->figures().TakeLongestReclaim();
  std::jthread shrink([&] { EXPECT_TRUE(tier_->SetCapacity(8 * kSegmentBytesMin).ok()); });
  for (uint64_t n = 0; n < 5000; ++n) Put(n, 4000);
  shrink.join();
  EXPECT_LE(tier_->figures().TakeLongestReclaim(), 2 * records_in_a_segment)
      << "others waited for more than two victims";
}

// A child shares the medium and has only a copy of the index: it must neither read nor write what the parent goes on to
// use, and the parent must not notice it.
TEST_F(ScmTierTest, AForkedChildFindsNothingAndChangesNothing) {
  const test::ScratchFile file;
  ScmOptions options = test::AnonymousOptions(8 * kSegmentBytesMin);
  test::UseFile(file.path(), &options);
  options.scrub_bytes_per_second = uint64_t{1} << 40;  // a thread that the child does not have, and its lock
  Open(options);
  for (uint64_t n = 0; n < 100; ++n) Put(n, 4000);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    for (uint64_t n = 0; n < 3000; ++n) wrong += Put(1000 + n, 4000) != PutResult::kNoSpace;
    for (uint64_t n = 0; n < 100; ++n) wrong += static_cast<bool>(tier_->Find(Key(n)));
    wrong += tier_->SetCapacity(0).ok();
    tier_->EraseAll();
    wrong += tier_->Scrub(1) != 0;
    tier_.reset();  // must not wait for threads that are not here
    _exit(wrong == 0 ? 0 : 1);
  }
  for (uint64_t n = 100; n < 3000; ++n) ASSERT_EQ(Put(n, 4000), PutResult::kStored);  // beside the child's
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  for (uint64_t n = 2900; n < 3000; ++n) ASSERT_TRUE(Serves(n, 4000)) << n;
}

TEST_F(ScmTierTest, WhatIsOnTheMediumDescribesItself) {
  const test::ScratchFile file;
  ScmOptions options = test::AnonymousOptions(8 * kSegmentBytesMin);
  test::UseFile(file.path(), &options);
  options.host_version = 11'008'001;
  Open(options);
  Put(1, 4000);
  Put(2, 100);
  const std::string bytes = test::Contents(file.path());
  layout::Superblock superblock;
  std::memcpy(&superblock, bytes.data(), sizeof(superblock));
  EXPECT_EQ(std::memcmp(superblock.magic, layout::kMagic, sizeof(layout::kMagic)), 0);
  EXPECT_EQ(superblock.host_version, 11'008'001u);
  layout::SegmentHeader segment;
  std::memcpy(&segment, bytes.data() + layout::kSuperblockSpace, sizeof(segment));
  EXPECT_EQ(segment.magic, layout::kSegmentMagic);
  EXPECT_EQ(segment.format_id, superblock.format_id);
  const char* record = bytes.data() + layout::kSuperblockSpace + sizeof(segment);
  layout::RecordHeader header;
  std::memcpy(&header, record, sizeof(header));
  EXPECT_EQ(header.key, Key(1));
  EXPECT_EQ(header.payload_bytes, 4000u);
  EXPECT_EQ(std::memcmp(record + sizeof(header), Payload(1, 0, 4000).data(), 4000), 0);
  std::memcpy(&header, record + layout::RecordBytes(4000), sizeof(header));
  EXPECT_EQ(header.key, Key(2)) << "records do not follow one another without gaps";
}

TEST_F(ScmTierTest, WritesNoMoreThanTwoPercentAbovePayload) {
  Open(test::AnonymousOptions(64 * kSegmentBytesMin));
  for (uint64_t n = 0; n < 10'000; ++n) ASSERT_EQ(Put(n, 4096), PutResult::kStored);
  const CounterSnapshot counts = tier_->counters().Snapshot();
  EXPECT_EQ(counts[Event::kScmSecondChance], 0u);
  EXPECT_LE(static_cast<double>(counts[Event::kScmWrittenBytes]),
            1.02 * static_cast<double>(counts[Event::kScmPutBytes]));
}

}  // namespace
}  // namespace mezz
