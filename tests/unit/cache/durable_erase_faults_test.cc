// SPDX-License-Identifier: Apache-2.0
// erase=durable on memory that fails: what was erased stays so, if need be by losing all that a restart would find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "cache/header_checksum.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultRates;
using test::FaultyMedium;
using test::Key;
using test::Payload;
using ::testing::HasSubstr;

constexpr uint64_t kSegment = kSegmentBytesMin, kSegments = 16;
constexpr size_t kBytes = 4000;

class DurableEraseFaults : public testing::Test {
 protected:
  DurableEraseFaults() {
    options_.erase = EraseMode::kDurable;
    options_.verify = VerifyMode::kAlways;
  }
  void Open(std::vector<BadRange> bad = {}) {
    tier_.reset();
    const Status status = ScmTier::Open(options_, &tier_, /*judge=*/nullptr, FaultyMedium::Wrap({}, 0, std::move(bad)));
    ASSERT_TRUE(status.ok()) << status.message();
    tier_->WaitUntilRecovered();
    test::ExpectSound(*tier_);
  }
  void KillAndOpen(std::vector<BadRange> bad = {}) {
    test::Kill(file_, &tier_);
    Open(std::move(bad));
  }
  void Put(uint64_t begin, uint64_t end) {
    for (uint64_t n = begin; n < end; ++n)
      ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes)), PutResult::kStored);
  }
  bool Serves(uint64_t n) {
    const PinnedBlock block = tier_->Find(Key(n));
    if (!block) return false;
    EXPECT_TRUE(test::Same(block.payload(), Payload(n, 0, kBytes))) << n;
    return true;
  }
  // A payload, where it lies.
  void Damage(uint64_t n) { const_cast<std::byte&>(tier_->Find(Key(n)).payload()[7]) ^= std::byte{1}; }
  void EraseWhileStoresFail(FaultRates rates, uint64_t n, uint64_t stores = UINT64_MAX) {
    FaultyMedium::Active().Fail(rates, stores);
    EXPECT_TRUE(tier_->Erase(Key(n)));
    FaultyMedium::Active().Fail({});
  }
  // Of the one segment of tombstones.
  uint64_t TombstonesAt() const {
    const std::string all = test::Contents(file_.path());
    for (uint64_t at = kSegment; at < all.size(); at += kSegment) {
      if (std::memcmp(&all[at], &layout::kTombstonesMagic, sizeof(layout::kTombstonesMagic)) == 0) return at;
    }
    ADD_FAILURE() << "there is none";
    return 0;
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), kSegments* kSegment);
  std::unique_ptr<ScmTier> tier_;
};

TEST_F(DurableEraseFaults, BadBlocksUnderTombstonesCostAllThatAnEarlierLifeHeld) {
  Open();
  Put(1, 300);
  EXPECT_TRUE(tier_->Erase(Key(1)));
  test::Kill(file_, &tier_);
  const uint64_t at = TombstonesAt();
  Open({{at, at + 4096}});
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  EXPECT_THAT(tier_->recovery().why, HasSubstr("lost tombstones"));
  Put(1, 100);
  EXPECT_TRUE(tier_->Erase(Key(5)));
  KillAndOpen({{at, at + 4096}});
  EXPECT_FALSE(Serves(5));
  EXPECT_TRUE(Serves(6)) << "its tombstones lie elsewhere";
}

TEST_F(DurableEraseFaults, BadBlocksElsewhereCostWhatLiesThere) {
  Open();
  Put(1, 600);
  for (uint64_t n = 1; n < 600; n += 2) EXPECT_TRUE(tier_->Erase(Key(n)));
  test::Kill(file_, &tier_);
  const uint64_t at = TombstonesAt() == 3 * kSegment ? 4 * kSegment : 3 * kSegment;
  Open({{at, at + 4096}});
  uint64_t served = 0;
  for (uint64_t n = 1; n < 600; ++n) served += Serves(n) ? 1 : 0;
  EXPECT_GT(served, 250u);
  for (uint64_t n = 1; n < 600; n += 2) EXPECT_FALSE(Serves(n));
}

// Whoever was killed between opening a segment of tombstones and telling the superblock left one more than it counts.
TEST_F(DurableEraseFaults, ASegmentWithoutTombstonesDoesNotStandForOneOnBadBlocks) {
  Open();
  Put(1, 100);
  EXPECT_TRUE(tier_->Erase(Key(1)));
  test::Kill(file_, &tier_);
  const uint64_t at = TombstonesAt();
  {
    layout::SegmentHeader header;
    std::memcpy(&header, test::Contents(file_.path()).data() + at, sizeof(header));
    ++header.sequence;
    header.segment = kSegments - 1;
    header.checksum = record::SegmentHeaderChecksum(header);
    test::Overwrite(file_.path(), (kSegments - 1) * kSegment, {reinterpret_cast<const char*>(&header), sizeof(header)});
  }
  Open({{at, at + 4096}});
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

TEST_F(DurableEraseFaults, ATombstoneThatTheMemoryDoesNotHoldCostsTheRestartAllThereIs) {
  for (const FaultRates rates : {FaultRates{.dropped = 1}, FaultRates{.torn = 1}, FaultRates{.flipped = 1}}) {
    for (const bool first : {true, false}) {  // then its segment's header fails as well
      SCOPED_TRACE(testing::Message() << rates.dropped << rates.torn << rates.flipped << first);
      Open();
      tier_->EraseAll();
      Put(1, 20);
      if (!first) {
        EXPECT_TRUE(tier_->Erase(Key(1)));
      }
      EraseWhileStoresFail(rates, 2);
      EXPECT_EQ(tier_->figures().faults(), 1u);
      EXPECT_TRUE(Serves(3)) << "in this life";
      Put(30, 40);
      EXPECT_TRUE(tier_->Erase(Key(30)));
      KillAndOpen();
      EXPECT_EQ(tier_->recovery().outcome, RecoveryReport::Outcome::kRecovered);
      for (uint64_t n = 1; n < 20; ++n) EXPECT_FALSE(Serves(n)) << n;
      EXPECT_FALSE(Serves(30));
      EXPECT_TRUE(Serves(31));
    }
  }
}

// Only the header fails, which alone tells the next life that there is such a segment.
TEST_F(DurableEraseFaults, ASegmentHeaderThatTheMemoryDoesNotHoldIsNoticedByTheFirstErase) {
  Open();
  Put(1, 20);
  EraseWhileStoresFail({.dropped = 1}, 1, /*stores=*/1);
  EXPECT_EQ(FaultyMedium::Active().failed_stores(), 1u);
  EXPECT_EQ(tier_->figures().faults(), 1u);
  KillAndOpen();
  EXPECT_EQ(tier_->recovery().outcome, RecoveryReport::Outcome::kRecovered) << "it is known what was erased: all";
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

TEST_F(DurableEraseFaults, WhereNoTombstoneHoldsTheTierClosesItself) {
  Open();
  for (uint64_t n = 1; n <= options_.faults_max; ++n) {
    EXPECT_FALSE(tier_->figures().is_closed());
    Put(n, n + 1);
    EraseWhileStoresFail({.flipped = 1}, n);
  }
  EXPECT_TRUE(tier_->figures().is_closed());
  test::ExpectSound(*tier_);
  KillAndOpen();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

TEST_F(DurableEraseFaults, AfterATierThatClosedItselfTheNextBeginsCold) {
  options_.faults_max = 1;
  for (const bool killed : {true, false}) {
    Open();
    Put(1, 100);
    EXPECT_TRUE(tier_->Erase(Key(7)));
    Damage(50);
    EXPECT_FALSE(Serves(50));
    EXPECT_TRUE(tier_->figures().is_closed());
    const uint64_t written = tier_->figures().tombstones_written();
    EXPECT_FALSE(tier_->Erase(Key(8)));
    EXPECT_EQ(tier_->figures().tombstones_written(), written) << "nothing is left to be named";
    if (killed) test::Kill(file_, &tier_);
    Open();
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
    EXPECT_FALSE(tier_->figures().is_closed());
  }
}

// A thread of the tier's own meets the last fault, and nobody comes by afterwards.
TEST_F(DurableEraseFaults, AfterATierThatItsScrubFoundBrokenTheNextBeginsCold) {
  options_.faults_max = 1;
  options_.scrub_bytes_per_second = uint64_t{1} << 30;
  ASSERT_TRUE(ScmTier::Open(options_, &tier_).ok());
  Put(1, 100);
  EXPECT_TRUE(tier_->Erase(Key(7)));
  const std::vector<std::byte> payload = Payload(50, 0, kBytes);
  const size_t at = test::Contents(file_.path()).find({reinterpret_cast<const char*>(payload.data()), kBytes});
  ASSERT_NE(at, std::string::npos);
  test::Overwrite(file_.path(), at + 7, std::string(1, static_cast<char>(~payload[7])));  // the scrub reads meanwhile
  while (!tier_->figures().is_closed()) std::this_thread::yield();                        // ctest has the last word
  options_.scrub_bytes_per_second = 0;
  Open();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

TEST_F(DurableEraseFaults, AnEraseThatClosesTheTierHoldsNoLock) {
  options_.faults_max = 1;
  int told = 0;
  options_.on_trouble = [&](std::string_view) {
    ++told;
    EXPECT_FALSE(tier_->Erase(Key(2)));
    tier_->EraseAll();
  };
  Open();
  Put(1, 10);
  std::memset(const_cast<std::byte*>(tier_->Find(Key(1)).payload().data()) - sizeof(layout::RecordHeader), 0xff, 16);
  EXPECT_FALSE(tier_->Erase(Key(1)));
  EXPECT_TRUE(tier_->figures().is_closed());
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace mezz
