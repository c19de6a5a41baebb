// SPDX-License-Identifier: Apache-2.0
// A superblock that takes no store, which nobody is told of: what could not be said by it is not relied on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cache/header_checksum.h"
#include "cache/superblock.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;
using test::Payload;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kSegment = kSegmentBytesMin, kSegments = 16;
constexpr size_t kBytes = 4000;
constexpr FaultyMedium::SuperblockFails kBoth{.first = true, .second = true};

class LostSuperblockTest : public testing::Test {
 protected:
  LostSuperblockTest() {
    options_.on_trouble = [this](std::string_view what) { told_.emplace_back(what); };
  }
  Status TryOpen(FaultyMedium::SuperblockFails fails) {
    tier_.reset();
    return ScmTier::Open(options_, &tier_, /*judge=*/nullptr, [fails](std::unique_ptr<Medium> medium) {
      auto wrapped = FaultyMedium::Wrap({}, 0)(std::move(medium));
      FaultyMedium::Active().FailSuperblock(fails);
      return wrapped;
    });
  }
  void Open(FaultyMedium::SuperblockFails fails = {}) {
    ASSERT_EQ(TryOpen(fails).message(), "");
    tier_->WaitUntilRecovered();
    test::ExpectSound(*tier_);
  }
  void KillAndOpen() {
    test::Kill(file_, &tier_);
    Open();
  }
  static void Lose() { FaultyMedium::Active().FailSuperblock(kBoth); }
  PutResult Put(uint64_t n) { return tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes)); }
  void PutAll(uint64_t begin, uint64_t end) {
    for (uint64_t n = begin; n < end; ++n) ASSERT_EQ(Put(n), PutResult::kStored) << n;
  }
  uint64_t Served(uint64_t begin, uint64_t end) {
    uint64_t served = 0;
    for (uint64_t n = begin; n < end; ++n) {
      const PinnedBlock block = tier_->Find(Key(n));
      if (!block) continue;
      ++served;
      EXPECT_TRUE(test::Same(block.payload(), Payload(n, 0, kBytes))) << n;
    }
    return served;
  }
  void ExpectClosed() {
    EXPECT_TRUE(tier_->figures().is_closed());
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_THAT(told_[0], HasSubstr("superblock"));
    EXPECT_EQ(Put(1'000'000), PutResult::kNoSpace);
    test::ExpectSound(*tier_);
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), kSegments* kSegment);
  std::unique_ptr<ScmTier> tier_;
  std::vector<std::string> told_;
};

TEST_F(LostSuperblockTest, RefusesToOpenAndLeavesTheMediumAsItIs) {
  Open();
  PutAll(1, 100);
  tier_.reset();
  const std::string before = test::Contents(file_.path());
  // As if it were there again at once: what is refused does not write any more.
  const Status status = TryOpen({.first = true, .second = true, .stores = 2});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(file_.path()));
  EXPECT_THAT(status.message(), HasSubstr("superblock"));
  EXPECT_THAT(status.message(), HasSubstr("use another medium"));
  EXPECT_TRUE(before == test::Contents(file_.path()));
  Open();
  EXPECT_TRUE(tier_->recovery().from_snapshot);
  EXPECT_EQ(Served(1, 100), 99u);
}

TEST_F(LostSuperblockTest, OneCopyIsEnough) {
  for (const bool first : {false, true}) {
    for (const bool torn : {false, true}) {
      SCOPED_TRACE(testing::Message() << first << torn);
      Open({.first = first, .second = !first, .torn = torn});
      PutAll(1, 100);
      tier_->EraseAll();
      PutAll(200, 300);
      EXPECT_FALSE(tier_->figures().is_closed());
      KillAndOpen();
      EXPECT_EQ(Served(1, 100), 0u);
      EXPECT_EQ(Served(200, 300), 100u);
    }
  }
  EXPECT_THAT(told_, IsEmpty());
}

// Also what lies in segments that hold no records any more, and would be found again.
TEST_F(LostSuperblockTest, WhatIsErasedWithAllStaysErased) {
  for (const bool killed : {false, true}) {
    for (const uint64_t blocks : {100, 5000}) {
      SCOPED_TRACE(testing::Message() << killed << blocks);
      told_.clear();
      Open();
      PutAll(1, blocks);
      Lose();
      tier_->EraseAll();
      ExpectClosed();
      if (killed) test::Kill(file_, &tier_);
      Open();
      EXPECT_EQ(tier_->recovery().records, 0u);
      EXPECT_EQ(Served(1, blocks), 0u);
      PutAll(1, 100);
      EXPECT_EQ(Served(1, 100), 99u);
    }
  }
}

// A device behind a page cache that fails as it writes back: what a process reads says nothing of what a cut leaves.
TEST_F(LostSuperblockTest, WhatIsNotWrittenBackIsNotReliedOn) {
  constexpr FaultyMedium::SuperblockFails kUnwritten{.first = true, .second = true, .unwritten = true};
  const Status status = TryOpen(kUnwritten);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("superblock"));
  Open({.first = true, .unwritten = true});  // one of the two lasts
  PutAll(1, 100);
  FaultyMedium::Active().FailSuperblock(kUnwritten);
  tier_->EraseAll();
  ExpectClosed();
  KillAndOpen();
  EXPECT_EQ(Served(1, 100), 0u);
}

// 4096 segments are opened with what is reserved once. No later one may be: another life would be given its number.
TEST_F(LostSuperblockTest, NoSegmentIsOpenedWithASequenceThatIsReservedNowhere) {
  Open();
  Lose();
  const auto large = Payload(1, 0, tier_->figures().max_block_bytes());
  uint64_t stored = 0;
  while (tier_->Put(Key(2 + stored), BlockRole::kData, large) == PutResult::kStored) ++stored;
  EXPECT_GE(stored, SuperblockKeeper::kSequencesAtOnce / 2);
  ExpectClosed();
  const std::string all = test::Contents(file_.path());
  const FoundSuperblock found =
      FindSuperblock({reinterpret_cast<const std::byte*>(all.data()), layout::kSuperblockSpace});
  ASSERT_EQ(found.what, FoundSuperblock::What::kWhole);
  for (uint64_t id = 0; id < kSegments; ++id) {
    layout::SegmentHeader header;
    std::memcpy(&header, &all[id == 0 ? layout::kSuperblockSpace : id * kSegment], sizeof(header));
    EXPECT_LT(header.sequence, found.superblock.sequence_end) << id;
  }
  KillAndOpen();
  EXPECT_GT(tier_->recovery().records, 0u) << "what was stored before is whole";
  EXPECT_EQ(tier_->Put(Key(1), BlockRole::kData, large), PutResult::kStored);
}

// From whichever change of the superblock on: segments of tombstones are opened, and the oldest make way.
TEST_F(LostSuperblockTest, WhatIsErasedDurablyStaysErased) {
  options_.erase = EraseMode::kDurable;
  constexpr uint64_t kBlocks = 200, kErasesASegment = kSegment / sizeof(layout::Tombstone);
  for (uint64_t erases = 0; erases < 4 * kErasesASegment; erases += kErasesASegment / 2) {
    for (const bool resized : {false, true}) {
      SCOPED_TRACE(testing::Message() << erases << resized);
      told_.clear();
      Open();
      PutAll(1, 1 + kBlocks);
      for (uint64_t n = 0; n < erases; ++n) tier_->Erase(Key(100'000 + n));
      Lose();
      uint64_t n = 1;
      for (; n <= kBlocks / 2; ++n) {
        tier_->Erase(Key(n));
        for (int i = 0; i < 20; ++i) tier_->Erase(Key(200'000 + n));
      }
      if (resized) (void)tier_->SetCapacity(kSegment * kSegmentsMin);
      test::ExpectSound(*tier_);
      KillAndOpen();
      EXPECT_EQ(Served(1, n), 0u);
      tier_->EraseAll();
    }
  }
}

// Its header may be damaged later, and then nobody misses it.
TEST_F(LostSuperblockTest, ATombstoneThatNobodyCountsCostsAllThatIsStored) {
  options_.erase = EraseMode::kDurable;
  Open();
  PutAll(1, 101);
  tier_->Erase(Key(1));
  for (uint64_t n = 0; n < kSegment / sizeof(layout::Tombstone) - 2; ++n) tier_->Erase(Key(100'000 + n));
  EXPECT_EQ(Served(1, 101), 99u);
  Lose();
  tier_->Erase(Key(2));
  FaultyMedium::Active().FailSuperblock({});
  ExpectClosed();
  test::Kill(file_, &tier_);
  Open();
  EXPECT_EQ(tier_->recovery().records, 0u);
}

}  // namespace
}  // namespace mezz
