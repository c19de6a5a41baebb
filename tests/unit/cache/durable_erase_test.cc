// SPDX-License-Identifier: Apache-2.0
// erase=durable: what was erased stays so, however the process ends; what was put since comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "cache/inspection.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::BytesOf;
using test::Key;
using test::Payload;
using test::Same;
using ::testing::HasSubstr;
using Outcome = RecoveryReport::Outcome;

constexpr size_t kBytes = 4000;
constexpr uint64_t kPerSegment = 62;
constexpr uint32_t kSegments = 16;
constexpr uint64_t kTombstonesPerSegment = kSegmentBytesMin / kLineBytes - 1;

enum class End { kKilled, kClosed, kClosedAndTheSnapshotIsLost };

class DurableErase : public ::testing::TestWithParam<End> {
 protected:
  DurableErase() { options_.erase = EraseMode::kDurable; }

  void Open() {
    tier_.reset();
    tier_ = test::OpenOrDie(options_);
    ASSERT_NE(tier_, nullptr);
    tier_->WaitUntilRecovered();
  }
  // The life ends, and the next one begins.
  void Reopen() {
    EndLife();
    Open();
    EXPECT_EQ(tier_->recovery().outcome, Outcome::kRecovered) << tier_->recovery().ToString();
    EXPECT_EQ(tier_->recovery().from_snapshot, GetParam() == End::kClosed);
    test::ExpectSound(*tier_);
  }
  void EndLife() {
    if (GetParam() == End::kKilled) test::Kill(file_, &tier_);
    tier_.reset();
    if (GetParam() != End::kClosedAndTheSnapshotIsLost) return;
    const layout::Superblock superblock = Superblock();
    ASSERT_NE(superblock.snapshot_segment, 0u);
    Flip(superblock.snapshot_segment * kSegmentBytesMin + 100);
  }
  void Put(uint64_t key, uint64_t version = 0, Generation generation = Generation::kYoung) {
    ASSERT_EQ(tier_->Put(Key(key), BlockRole::kData, Payload(key, version, kBytes), generation), PutResult::kStored);
  }
  bool Serves(uint64_t key, uint64_t version = 0) {
    const PinnedBlock block = tier_->Find(Key(key));
    if (!block) return false;
    EXPECT_TRUE(Same(BytesOf(block), Payload(key, version, kBytes))) << key;
    return true;
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }

  layout::Superblock Superblock() const {
    const std::string all = test::Contents(file_.path());
    return FindSuperblock(std::as_bytes(std::span(all))).superblock;
  }
  void Flip(size_t at) {
    const char byte = test::Contents(file_.path())[at];
    test::Overwrite(file_.path(), at, std::string(1, static_cast<char>(byte ^ 1)));
  }
  // Of the segment of tombstones that begins first.
  size_t TombstonesAt() const {
    const uint64_t magic = layout::kTombstonesMagic;
    return test::Contents(file_.path()).find(std::string(reinterpret_cast<const char*>(&magic), sizeof(magic)));
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), uint64_t{kSegments} * kSegmentBytesMin);
  std::unique_ptr<ScmTier> tier_;
};

TEST_P(DurableErase, OutlivesTheProcessAndWhatWasPutSinceDoesToo) {
  Open();
  for (uint64_t n = 1; n <= 300; ++n) Put(n);
  for (uint64_t n = 1; n <= 300; n += 3) EXPECT_TRUE(tier_->Erase(Key(n)));
  for (uint64_t n = 1; n <= 300; n += 6) Put(n, 1);
  for (int life = 0; life < 4; ++life) {
    Reopen();
    for (uint64_t n = 1; n <= 300; ++n) EXPECT_EQ(Serves(n, n % 6 == 1 ? 1 : 0), n % 6 != 4) << n << " life " << life;
    Put(static_cast<uint64_t>(1000 + life));  // opens a segment
  }
}

// Older records of the key lie on the medium that no index knows: replaced ones, and one that was reclaimed.
TEST_P(DurableErase, FindsRecordsThatTheIndexHasForgotten) {
  Open();
  for (uint64_t version = 0; version < 5; ++version) Put(1, version);
  EXPECT_TRUE(tier_->Erase(Key(1)));
  EXPECT_FALSE(tier_->Erase(Key(1)));
  Reopen();
  EXPECT_FALSE(Serves(1));
  Put(2);
  for (uint64_t n = 10; Count(Event::kScmDropped) == 0; ++n) Put(n);
  ASSERT_FALSE(tier_->Contains(Key(2))) << "the oldest goes first";
  EXPECT_FALSE(tier_->Erase(Key(2)));
  Reopen();
  EXPECT_FALSE(Serves(2));
}

// The key's tombstone lies in no order of age with its records: they are written by lanes of their own.
TEST_P(DurableErase, CoversWhatAnyLaneHoldsAndNothingThatCameLater) {
  Open();
  Put(1, 0, Generation::kYoung);   // opens a segment
  Put(2, 0, Generation::kProven);  // a younger one
  Put(3, 0, Generation::kProven);
  EXPECT_TRUE(tier_->Erase(Key(3)));
  Put(3, 1, Generation::kYoung);  // into the older one
  EXPECT_TRUE(tier_->Erase(Key(1)));
  Put(1, 1, Generation::kProven);
  EXPECT_TRUE(tier_->Erase(Key(2)));
  Reopen();
  EXPECT_TRUE(Serves(3, 1));
  EXPECT_TRUE(Serves(1, 1));
  EXPECT_FALSE(Serves(2));
}

TEST_P(DurableErase, OfAKeyThatIsErasedAgainTheLatestCounts) {
  Open();
  for (const uint64_t n : {1, 2}) {
    Put(n);
    EXPECT_TRUE(tier_->Erase(Key(n)));
  }
  for (uint64_t n = 100; n < 100 + 2 * kPerSegment; ++n) Put(n);  // to later segments
  for (const uint64_t n : {1, 2}) Put(n, 1);
  EXPECT_TRUE(tier_->Erase(Key(2)));
  Reopen();
  EXPECT_TRUE(Serves(1, 1));
  EXPECT_FALSE(Serves(2));
}

TEST_P(DurableErase, HoldsForKeysThatHaveNotComeBackYet) {
  options_.erase = EraseMode::kVolatile;
  Open();
  for (uint64_t n = 1; n <= 200; ++n) Put(n);
  EXPECT_TRUE(tier_->Erase(Key(200)));
  EndLife();
  options_.erase = EraseMode::kDurable;
  tier_ = test::OpenOrDie(options_);
  for (uint64_t n = 1; n <= 100; ++n) tier_->Erase(Key(n));
  tier_->WaitUntilRecovered();
  for (uint64_t n = 1; n <= 100; ++n) EXPECT_FALSE(Serves(n)) << n;
  Reopen();
  for (uint64_t n = 1; n <= 100; ++n) EXPECT_FALSE(Serves(n)) << n;
  for (uint64_t n = 101; n < 200; ++n) EXPECT_TRUE(Serves(n)) << n;
}

TEST_P(DurableErase, IsKeptByATierThatErasesVolatilely) {
  Open();
  Put(1);
  Put(2);
  EXPECT_TRUE(tier_->Erase(Key(1)));
  options_.erase = EraseMode::kVolatile;
  for (int life = 0; life < 3; ++life) {
    Reopen();
    EXPECT_FALSE(Serves(1));
    EXPECT_TRUE(Serves(2));
  }
  EXPECT_TRUE(tier_->Erase(Key(2)));
  EXPECT_EQ(tier_->figures().tombstones_written(), 0u);
}

TEST_P(DurableErase, OfAllNeedsNoTombstones) {
  Open();
  for (uint64_t n = 1; n <= 100; ++n) Put(n);
  for (uint64_t n = 1; n <= 100; n += 2) tier_->Erase(Key(n));
  tier_->EraseAll();
  const uint64_t tombstones = tier_->figures().tombstones_written();
  EXPECT_FALSE(tier_->Erase(Key(1)));
  EXPECT_EQ(tier_->figures().tombstones_written(), tombstones) << "nothing was put since";
  Put(1, 1);
  Put(2, 1);
  EXPECT_TRUE(tier_->Erase(Key(2)));
  EXPECT_EQ(tier_->figures().tombstones_written(), tombstones + 1);
  Reopen();
  EXPECT_TRUE(Serves(1, 1));
  for (uint64_t n = 2; n <= 100; ++n) EXPECT_FALSE(Serves(n)) << n;
}

// Tombstones that are too many make way for others: then what is as old as they are is not found again, erased or not.
TEST_P(DurableErase, GivesUpTheOldestSegmentsWhereThereAreTooManyTombstones) {
  Open();
  for (uint64_t n = 1; n <= 10; ++n) Put(n);
  EXPECT_TRUE(tier_->Erase(Key(3)));  // whose tombstone goes
  for (uint64_t n = 0; n < 5 * kTombstonesPerSegment; ++n) tier_->Erase(Key(5 + n % 2));
  EXPECT_TRUE(Serves(1)) << "in this life";
  EXPECT_LE(tier_->figures().usage_bytes(), 4 * kSegmentBytesMin) << "two segments of tombstones at most";
  Put(11);
  Reopen();
  for (const uint64_t n : {3, 5, 6}) EXPECT_FALSE(Serves(n)) << n;
}

// There is no room for a tombstone, and none to be made: the restart forgets all there is.
TEST_P(DurableErase, WithoutRoomTheRestartForgetsAll) {
  Open();
  std::vector<PinnedBlock> pins;
  for (uint64_t n = 1;; ++n) {
    const PutResult result = tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes));
    if (result != PutResult::kStored) break;
    if (n % 20 == 0) pins.push_back(tier_->Find(Key(n)));
  }
  EXPECT_TRUE(tier_->Erase(Key(20)));
  EXPECT_TRUE(tier_->Erase(Key(40)));
  EXPECT_EQ(tier_->figures().tombstones_written(), 0u);
  EXPECT_TRUE(Serves(60)) << "in this life";
  pins.clear();
  EndLife();
  Open();
  EXPECT_FALSE(Serves(20));
  EXPECT_FALSE(Serves(40));
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

TEST_P(DurableErase, OfAMediumMadeSmallerIsNotForgotten) {
  Open();
  for (uint64_t n = 1; n <= 5 * kPerSegment; ++n) Put(n);
  for (uint64_t n = 1; n <= 5 * kPerSegment; n += 2) tier_->Erase(Key(n));
  EndLife();
  options_.capacity_bytes = kSegments / 2 * kSegmentBytesMin;
  Open();
  for (uint64_t n = 1; n <= 5 * kPerSegment; n += 2) EXPECT_FALSE(Serves(n)) << n;
}

// Whoever cannot tell any more what was erased finds nothing.
TEST_P(DurableErase, LostTombstonesLoseAll) {
  const std::function<size_t(size_t)> damages[] = {
      [](size_t at) { return at; },                    // the segment's header
      [](size_t at) { return at + kLineBytes + 20; },  // the first of some
      [](size_t at) { return at + 3 * kLineBytes + 5; },
  };
  for (const auto& damage : damages) {
    options_.recovery = Recovery::kDiscard;
    Open();
    options_.recovery = Recovery::kWarm;
    Open();
    for (uint64_t n = 1; n <= 20; ++n) Put(n);
    for (uint64_t n = 1; n <= 10; ++n) tier_->Erase(Key(n));
    EndLife();
    Flip(damage(TombstonesAt()));
    const std::string all = test::Contents(file_.path());
    EXPECT_TRUE(Inspect(std::as_bytes(std::span(all)), /*verify=*/true).tombstones.lost);
    options_.recovery = Recovery::kRequire;
    std::unique_ptr<ScmTier> refused;
    const Status status = ScmTier::Open(options_, &refused);
    EXPECT_EQ(status.code(), Status::Code::kNotSupported);
    EXPECT_THAT(status.message(), HasSubstr("tombstones"));
    EXPECT_EQ(test::Contents(file_.path()), all) << "left as it is";
    options_.recovery = Recovery::kWarm;
    Open();
    EXPECT_EQ(tier_->recovery().outcome, Outcome::kDiscarded);
    EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("nobody knows what was erased"));
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
    Put(1);
    tier_->Erase(Key(1));
    Put(2);
    Reopen();
    EXPECT_FALSE(Serves(1));
    EXPECT_TRUE(Serves(2));
  }
}

TEST_P(DurableErase, IsCountedByTheInspection) {
  Open();
  for (uint64_t n = 1; n <= 20; ++n) Put(n);
  for (uint64_t n = 1; n <= 10; ++n) tier_->Erase(Key(n));
  EndLife();
  const std::string all = test::Contents(file_.path());
  const Inspection found = Inspect(std::as_bytes(std::span(all)), /*verify=*/true);
  EXPECT_EQ(found.tombstones.segments, 1u);
  EXPECT_EQ(found.tombstones.tombstones, 10u);
  EXPECT_FALSE(found.tombstones.lost);
  EXPECT_EQ(found.young + found.proven + found.empty + found.snapshot.segments + 1, found.segments);
}

INSTANTIATE_TEST_SUITE_P(Ends, DurableErase,
                         ::testing::Values(End::kKilled, End::kClosed, End::kClosedAndTheSnapshotIsLost),
                         [](const auto& end) {
                           return std::string(end.param == End::kKilled   ? "killed"
                                              : end.param == End::kClosed ? "closed"
                                                                          : "closed_without_snapshot");
                         });

TEST(EraseModes, VolatileWritesNothing) {
  const test::ScratchFile file;
  const auto tier = test::OpenOrDie(test::WarmOptions(file.path(), uint64_t{kSegments} * kSegmentBytesMin));
  ASSERT_EQ(tier->Put(Key(1), BlockRole::kData, Payload(1, 0, kBytes)), PutResult::kStored);
  const uint64_t written = tier->counters().Snapshot()[Event::kScmWrittenBytes];
  EXPECT_TRUE(tier->Erase(Key(1)));
  EXPECT_EQ(tier->counters().Snapshot()[Event::kScmWrittenBytes], written);
}

TEST(EraseModes, AMediumThatForgetsNeedsNoTombstones) {
  ScmOptions options = test::AnonymousOptions(uint64_t{kSegments} * kSegmentBytesMin);
  options.erase = EraseMode::kDurable;
  const auto tier = test::OpenOrDie(options);
  ASSERT_EQ(tier->Put(Key(1), BlockRole::kData, Payload(1, 0, kBytes)), PutResult::kStored);
  EXPECT_TRUE(tier->Erase(Key(1)));
  EXPECT_EQ(tier->figures().tombstones_written(), 0u);
  options.erase = static_cast<EraseMode>(7);
  EXPECT_THAT(options.Validate().message(), HasSubstr("erase=7"));
}

}  // namespace
}  // namespace mezz
