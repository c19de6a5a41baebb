// SPDX-License-Identifier: Apache-2.0
// One of several media is made smaller, emptied and used again while the tier serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/core_fixture.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/seed.h"
#include "tests/support/several_media.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;
using test::kMiB;
using ::testing::AllOf;
using ::testing::HasSubstr;

// 12 MiB hold some 2,000 blocks.
constexpr uint64_t kFew = 600, kSome = 1200, kMany = 6000;

class MemberCapacityTest : public test::SeveralMediaTest {
 protected:
  void Resize(size_t member, uint64_t bytes) {
    const Status status = tier_->SetMemberCapacity(member, bytes);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void ExpectRefused(size_t member, uint64_t bytes, const ::testing::Matcher<std::string>& why) {
    const uint64_t capacity = tier_->figures().capacity_bytes();
    const Status status = tier_->SetMemberCapacity(member, bytes);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), why);
    EXPECT_EQ(tier_->figures().capacity_bytes(), capacity);
  }
  // What lies on one of the media behind its superblock.
  std::string BytesOf(size_t member) const {
    return test::Contents(files_[member].path()).substr(layout::kSuperblockSpace);
  }
  PutResult PutFor(ShareId share, uint64_t n) {
    return tier_->Put(Key(1 + n), BlockRole::kData, test::Payload(n, 0, kBlock), Generation::kYoung, Form::kRaw,
                      PackedBy::kStage, share);
  }
  uint64_t Count(Event event) const { return tier_->counters().Snapshot()[event]; }
};

TEST_F(MemberCapacityTest, WhatLayOnAnEmptiedOneIsOnTheOther) {
  for (const size_t emptied : {0, 1}) {
    SCOPED_TRACE(emptied);
    UseFiles(8 * kMiB, 8 * kMiB);
    options_.recovery = Recovery::kDiscard;
    Open();
    PutAll(0, kFew);
    ASSERT_GT(UsedOf(emptied), kMiB);
    Resize(emptied, 0);
    EXPECT_EQ(UsedOf(emptied), 0u);
    EXPECT_EQ(Found(0, kFew), kFew);
    EXPECT_EQ(tier_->figures().capacity_bytes(), 8 * kMiB);
    EXPECT_EQ(tier_->figures().MembersNow()[emptied].bytes, 0u);
    const std::string left = BytesOf(emptied);
    PutAll(kFew, kMany);
    EXPECT_EQ(UsedOf(emptied), 0u);
    EXPECT_TRUE(BytesOf(emptied) == left) << "nothing is written there any more";
    EXPECT_GT(Found(0, kMany), 1100u);
    Resize(emptied, 8 * kMiB);
    EXPECT_EQ(tier_->figures().capacity_bytes(), 16 * kMiB);
    PutAll(kMany, 2 * kMany);
    EXPECT_GE(UsedOf(emptied), 8 * kMiB - 3 * kSegment);
    EXPECT_GT(Found(0, 2 * kMany), 2300u);
    EXPECT_EQ(trouble_, "");
    test::ExpectSound(*tier_);
  }
}

TEST_F(MemberCapacityTest, WhatIsStillOpenMovesToo) {
  UseFiles(8 * kMiB, 8 * kMiB);
  Open();
  PutAll(0, 10);
  for (const size_t emptied : {0, 1}) {
    Resize(emptied, 0);
    EXPECT_EQ(UsedOf(emptied), 0u);
    EXPECT_EQ(Found(0, 10), 10u);
    Resize(emptied, 8 * kMiB);
  }
}

TEST_F(MemberCapacityTest, OfAFullTierTheHotBlocksMove) {
  UseFiles(8 * kMiB, 8 * kMiB);
  Open();
  for (uint64_t n = 0; n < kMany; n += 100) {
    PutAll(n, n + 100);
    EXPECT_EQ(Found(0, 200), std::min<uint64_t>(200, n + 100)) << "the hot ones";
  }
  Resize(1, 0);
  EXPECT_EQ(UsedOf(1), 0u);
  EXPECT_GE(UsedOf(0), 8 * kMiB - 3 * kSegment);
  EXPECT_GT(Found(0, 200), 190u);
  EXPECT_GT(Found(200, kMany), 800u);
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, WhatAShareReservesMovesToo) {
  UseFiles(8 * kMiB, 8 * kMiB);
  Open();
  ShareId share{};
  ASSERT_TRUE(tier_->shares().Add("a", {.reserved_percent = 40}, &share).ok());
  constexpr uint64_t kOfShare = 480;  // 12 segments: 40 % of those that are left
  Resize(1, 0);
  for (uint64_t n = 0; n < kOfShare; ++n) ASSERT_EQ(PutFor(share, n), PutResult::kStored);
  Resize(1, 8 * kMiB);
  PutAll(kOfShare, kMany);
  Resize(0, 0);
  EXPECT_EQ(UsedOf(0), 0u);
  EXPECT_EQ(Found(0, kOfShare), kOfShare);
  test::ExpectSound(*tier_);
}

// Its maximum is half as many segments, and what is hot fits them.
TEST_F(MemberCapacityTest, AShareWithAMaximumKeepsWhatIsHot) {
  UseFiles(8 * kMiB, 8 * kMiB);
  Open();
  ShareId share{};
  ASSERT_TRUE(tier_->shares().Add("a", {.max_percent = 40}, &share).ok());
  for (uint64_t n = 0; n < 1000; ++n) {
    ASSERT_EQ(PutFor(share, n), PutResult::kStored);
    for (int hit = 0; n % 5 == 0 && hit < 3; ++hit) EXPECT_EQ(Found(n, n + 1), 1u);
  }
  Resize(0, 0);
  uint64_t hot = 0;
  for (uint64_t n = 0; n < 1000; n += 5) hot += Found(n, n + 1);
  EXPECT_GT(hot, 190u);
  test::ExpectSound(*tier_);
}

// Puts and durable erases wait for the reclaimer's mutex.
TEST_F(MemberCapacityTest, WhoWaitsWaitsForOneSegment) {
  UseFiles(16 * kMiB, 16 * kMiB);
  Open();
  for (uint64_t n = 0; n < 5000; ++n) {
    ASSERT_EQ(Put(n), PutResult::kStored);
    for (int hit = 0; hit < 3; ++hit) (void)tier_->Find(Key(1 + n));
  }
  (void)tier_->figures().TakeLongestReclaim();
  const uint64_t before = Count(Event::kScmSecondChanceBytes);
  Resize(1, 0);
  EXPECT_LE(tier_->figures().TakeLongestReclaim(), kSegment / kBlock);
  EXPECT_LT(Count(Event::kScmSecondChanceBytes) - before, 64 * kMiB) << "a few others' for each segment that moves";
  EXPECT_GT(Found(0, 5000), 2300u);
}

TEST_F(MemberCapacityTest, LevelsShareTheWholeTiersLimitAnew) {
  options_.members[1].level = Level::kSlow;
  Open();
  Resize(0, 0);
  EXPECT_TRUE(tier_->SetCapacity(12 * kMiB).ok());
  Resize(0, 4 * kMiB);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 12 * kMiB);
  Resize(1, 0);
  EXPECT_TRUE(tier_->SetCapacity(3 * kMiB).ok());
  EXPECT_EQ(tier_->figures().capacity_bytes(), 3 * kMiB) << "all of the fast one's";
  Resize(1, 8 * kMiB);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 3 * kMiB);
  EXPECT_TRUE(tier_->SetCapacity(6 * kMiB).ok());
  Resize(0, 0);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 6 * kMiB) << "all of the slow one's";
  PutAll(0, kSome);
  EXPECT_GT(Found(0, kSome), 850u);
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, APartOfOneIsKept) {
  Open();
  PutAll(0, kMany);
  Resize(1, 3 * kMiB);
  EXPECT_LE(UsedOf(1), 3 * kMiB);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 7 * kMiB);
  PutAll(kMany, 2 * kMany);
  EXPECT_LE(UsedOf(1), 3 * kMiB);
  EXPECT_GE(UsedOf(1), 3 * kMiB - 3 * kSegment);
  EXPECT_GT(Found(kMany, 2 * kMany), 900u);
  // The whole tier's size still counts, in either order.
  EXPECT_TRUE(tier_->SetCapacity(5 * kMiB).ok());
  EXPECT_EQ(tier_->figures().capacity_bytes(), 5 * kMiB);
  EXPECT_LE(tier_->figures().usage_bytes(), 5 * kMiB);
  Resize(1, 8 * kMiB);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 5 * kMiB);
  EXPECT_TRUE(tier_->SetCapacity(0).ok());
  EXPECT_EQ(tier_->figures().usage_bytes(), 0u);
  Resize(1, 0);
  EXPECT_TRUE(tier_->SetCapacity(12 * kMiB).ok());
  EXPECT_EQ(tier_->figures().capacity_bytes(), 4 * kMiB);
  PutAll(0, kFew);
  EXPECT_EQ(UsedOf(1), 0u);
  EXPECT_GT(Found(0, kFew), 500u);
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, WhatCannotBeIsRefused) {
  Open();
  PutAll(0, kFew);
  ExpectRefused(2, 0, AllOf(HasSubstr("medium 3"), HasSubstr("has 2: count from 1")));
  ExpectRefused(SIZE_MAX, 0, HasSubstr("medium 0"));
  ExpectRefused(0, 4 * kMiB + kSegment, AllOf(HasSubstr("medium 1"), HasSubstr("opened with 4194304")));
  ExpectRefused(0, kSegment - 1, AllOf(HasSubstr("less than a segment"), HasSubstr("0 to empty it")));
  EXPECT_THAT(std::string(tier_->SetCapacity(kSegment - 1).message()), HasSubstr("use 0 to switch it off"));
  Resize(0, 2 * kSegment);
  ExpectRefused(1, 5 * kSegment, AllOf(HasSubstr("leaves the tier 7 segments"), HasSubstr("8 are the least")));
  Resize(1, 6 * kSegment);
  Resize(1, 8 * kMiB);
  Resize(0, 0);
  ExpectRefused(1, 0, HasSubstr("keep more of one of its media"));
  test::ExpectSound(*tier_);

  options_.members[1].level = Level::kSlow;
  options_.recovery = Recovery::kDiscard;
  Open();
  ExpectRefused(0, 3 * kSegment, AllOf(HasSubstr("its level 3 segments"), HasSubstr("keep more, or nothing")));
  Resize(0, 4 * kSegment);
  Resize(0, 0);
}

TEST_F(MemberCapacityTest, AFailedOneIsRefused) {
  options_.bus_errors = BusErrorMode::kContain;
  Open(/*faulty=*/true);
  PutAll(0, kFew);
  FaultyMedium::Active().LoseMember(1);
  (void)Found(0, kFew);
  PutAll(kFew, 2 * kFew);
  ASSERT_TRUE(tier_->figures().MembersNow()[1].is_out);
  ExpectRefused(1, 0, AllOf(HasSubstr("has failed"), HasSubstr("reopen")));
  ExpectRefused(0, 0, HasSubstr("leaves the tier 0 segments"));
  Resize(0, 3 * kMiB);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 3 * kMiB);
  PutAll(0, kFew);
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, WhatIsQuarantinedIsNotLeft) {
  UseFiles(8 * kMiB, 8 * kMiB);
  options_.bus_errors = BusErrorMode::kContain;
  options_.faults_max = 1000;
  Open(/*faulty=*/true);
  PutAll(0, kMany);
  for (uint64_t segment = 1; segment < 7; ++segment) FaultyMedium::Active().LosePage(segment * kSegment + 8192);
  (void)Found(0, kMany);
  PutAll(0, kSome);
  ASSERT_GE(tier_->figures().quarantined_bytes(), 6 * kSegment);
  Resize(1, 0);
  ExpectRefused(0, 8 * kSegment, HasSubstr("leaves the tier 2 segments"));
}

TEST_F(MemberCapacityTest, OneThatFailsWhileItIsEmptiedLosesWhatItHeld) {
  UseFiles(8 * kMiB, 8 * kMiB);
  options_.bus_errors = BusErrorMode::kContain;
  Open(/*faulty=*/true);
  constexpr uint64_t kAll = 2000;
  PutAll(0, kAll);
  std::vector<PinnedBlock> pinned;  // so that not all of it is quarantined at once
  for (uint64_t n = 0; n < kAll; n += 200) pinned.push_back(tier_->Find(Key(1 + n)));
  FaultyMedium::Active().LoseMember(0);
  (void)tier_->SetMemberCapacity(0, 0);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 8 * kMiB);
  pinned.clear();
  EXPECT_THAT(trouble_, HasSubstr("goes on with the others"));
  PutAll(kAll, kAll + 10);
  EXPECT_NEAR(static_cast<double>(Found(0, kAll)), kAll / 2., kAll / 10.);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 8 * kMiB);
  EXPECT_FALSE(tier_->figures().is_closed());
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, WithoutTheLastOneInUseNothingIsStoredUntilAnotherIs) {
  UseFiles(8 * kMiB, 8 * kMiB);
  options_.bus_errors = BusErrorMode::kContain;
  Open(/*faulty=*/true);
  PutAll(0, kFew);
  Resize(0, 0);
  FaultyMedium::Active().LoseMember(1);
  (void)Found(0, kFew);
  EXPECT_EQ(Put(0), PutResult::kNoSpace) << "no reader is in the way";
  EXPECT_THAT(trouble_, HasSubstr("the last of its media in use"));
  EXPECT_EQ(tier_->figures().MembersNow()[1].bytes, 0u);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 0u);
  Resize(0, 8 * kMiB);
  PutAll(0, 10);
  EXPECT_EQ(Found(0, 10), 10u);
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, WhatReadersHoldStays) {
  UseFiles(8 * kMiB, 8 * kMiB);
  Open();
  PutAll(0, kFew);
  std::vector<PinnedBlock> pinned;
  for (uint64_t n = 0; n < kFew; n += 10) pinned.push_back(tier_->Find(Key(1 + n)));
  Resize(0, 0);
  EXPECT_GT(UsedOf(0), 0u) << "until they are released";
  EXPECT_EQ(Found(0, kFew), kFew) << "their copies, too";
  PutAll(kFew, kMany);
  for (uint64_t i = 0; i < pinned.size(); ++i)
    EXPECT_TRUE(test::Same(*pinned[i].SteadyBytes(), test::Payload(10 * i, 0, kBlock))) << i;
  pinned.clear();
  EXPECT_EQ(UsedOf(0), 0u);
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, ARestartFindsWhatMoved) {
  UseFiles(8 * kMiB, 8 * kMiB);
  enum class End { kClosed, kKilled, kReplaced };
  for (const size_t emptied : {0, 1}) {
    for (const End end : {End::kClosed, End::kKilled, End::kReplaced}) {
      SCOPED_TRACE(testing::Message() << emptied << " " << static_cast<int>(end));
      options_.recovery = Recovery::kDiscard;
      Open();
      options_.recovery = Recovery::kRequire;
      test::Kill(files_, &tier_);
      Open();
      PutAll(0, kFew);
      Resize(emptied, 0);
      for (uint64_t n = 0; n < kFew; n += 3) ASSERT_EQ(Put(n, 1), PutResult::kStored);
      const std::string left = BytesOf(emptied);
      end == End::kKilled ? test::Kill(files_, &tier_) : tier_.reset();
      EXPECT_TRUE(BytesOf(emptied) == left) << "no snapshot, either";
      if (end == End::kReplaced) std::filesystem::remove(files_[emptied].path());
      options_.recovery = end == End::kReplaced ? Recovery::kWarm : Recovery::kRequire;
      Open();
      EXPECT_EQ(tier_->recovery().from_snapshot, end == End::kClosed);
      EXPECT_EQ(tier_->figures().capacity_bytes(), 16 * kMiB) << "all of it again";
      uint64_t found = 0;
      for (uint64_t n = 0; n < kFew; ++n) found += Found(n, n + 1, n % 3 == 0 ? 1 : 0);
      EXPECT_EQ(found, kFew);
      PutAll(kFew, 2 * kFew);
      EXPECT_GT(UsedOf(emptied), 0u);
      test::ExpectSound(*tier_);
    }
  }
}

TEST_F(MemberCapacityTest, NoTombstoneIsWrittenToAnEmptiedOne) {
  UseFiles(8 * kMiB, 8 * kMiB);
  options_.erase = EraseMode::kDurable;
  Open();
  PutAll(0, kFew);
  for (uint64_t n = 0; n < 10; ++n) tier_->Erase(Key(1 + n));
  ASSERT_TRUE(tier_->SetCapacity(0).ok()) << "there is no room for others";
  Resize(0, 0);
  ASSERT_TRUE(tier_->SetCapacity(16 * kMiB).ok());
  PutAll(0, kFew);
  const std::string left = BytesOf(0);
  for (uint64_t n = 0; n < kFew; n += 2) tier_->Erase(Key(1 + n));
  EXPECT_TRUE(BytesOf(0) == left);
  options_.recovery = Recovery::kRequire;
  test::Kill(files_, &tier_);
  Open();
  for (uint64_t n = 0; n < kFew; ++n) EXPECT_EQ(tier_->Contains(Key(1 + n)), n % 2 == 1) << n;
  test::ExpectSound(*tier_);
}

TEST_F(MemberCapacityTest, WhatWasErasedNeverComesBack) {
  constexpr uint64_t kKeys = 700;
  std::mt19937_64 random(test::Seed());
  for (const Level level : {Level::kFast, Level::kSlow}) {
    UseFiles((2 + random() % 3) * kMiB, (2 + random() % 3) * kMiB);
    options_.members[1].level = level;
    options_.recovery = Recovery::kDiscard;
    options_.erase = EraseMode::kDurable;
    Open();
    options_.recovery = Recovery::kRequire;
    std::vector<uint64_t> version(kKeys, 0);
    std::vector<bool> erased(kKeys, true);
    for (int life = 0; life < 6; ++life) {
      for (int step = 0; step < 2000; ++step) {
        const uint64_t n = random() % kKeys;
        if (random() % 4 == 0) {
          tier_->Erase(Key(1 + n));
          erased[n] = true;
        } else if (erased[n]) {
          erased[n] = Put(n, ++version[n]) != PutResult::kStored;
        }
        if (random() % 150 == 0) (void)tier_->SetMemberCapacity(random() % 2, random() % 3 * 2 * kMiB);
        if (random() % 1000 == 0) (void)tier_->SetCapacity(random() % (4 * kMiB));
      }
      random() % 2 == 0 ? test::Kill(files_, &tier_) : tier_.reset();
      Open();
      for (uint64_t n = 0; n < kKeys; ++n) {
        ASSERT_FALSE(erased[n] && tier_->Contains(Key(1 + n))) << n;
        (void)Found(n, n + 1, version[n]);
      }
      test::ExpectSound(*tier_);
    }
  }
}

class DroppingJudge : public SurvivorJudge {
  Fate Judge(const RecordFacts&) override { return Fate::kDrop; }
};

TEST_F(MemberCapacityTest, AFastOneMovesToTheSlowWhateverTheJudgeSays) {
  options_.members[1].level = Level::kSlow;
  DroppingJudge judge;
  ASSERT_TRUE(ScmTier::Open(options_, &tier_, &judge).ok());
  PutAll(0, kFew / 2);
  Resize(0, 0);
  EXPECT_EQ(Found(0, kFew / 2), kFew / 2) << "there is room";
  tier_.reset();
}

TEST_F(MemberCapacityTest, ASlowOneMovesToTheFast) {
  UseFiles(8 * kMiB, 4 * kMiB);
  options_.members[1].level = Level::kSlow;
  Open();
  PutAll(0, kSome + 100);
  ASSERT_GT(UsedOf(1), 0u);
  tier_->EraseAll();
  PutAll(kSome, kSome + 100);
  PutAll(0, kSome);
  for (uint64_t n = 0; n < kSome / 2; ++n) tier_->Erase(Key(1 + n));
  const uint64_t before = Found(0, kSome + 100);
  Resize(1, 0);
  EXPECT_EQ(UsedOf(1), 0u);
  EXPECT_GT(Found(0, kSome + 100), before * 9 / 10);
  PutAll(kSome, kMany);
  EXPECT_EQ(UsedOf(1), 0u);
  test::ExpectSound(*tier_);
}

// Two media of eight segments each.
TEST(LimitedLogTest, WithdrawnSegmentsAreNobodysVictims) {
  constexpr uint32_t kSegments = 16;
  const test::HeapMedium medium(kSegments * test::kSmallSegmentBytes, {0, kSegments / 2 * test::kSmallSegmentBytes});
  Counters counters;
  const ForkGuard guard;
  SegmentLog log(medium, medium.bytes(), test::kSmallSegmentBytes, /*format_id=*/7, &counters, guard);
  for (const size_t member : {0, 1}) log.Provide(kSegments / 2, member);
  for (uint32_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(log.Advance(0, layout::SegmentPayloadBytes(test::kSmallSegmentBytes), SegmentLog::For::kWriter));
    log.Leave(*log.Reserve(0, layout::SegmentPayloadBytes(test::kSmallSegmentBytes)));
  }
  log.SealAll();
  EXPECT_EQ(log.space().usable_segments(), kSegments);
  log.space().LimitMember(0, 1);
  EXPECT_EQ(log.space().usable_segments(), kSegments / 2 + 1);
  std::vector<SegmentId> victims, withdrawn;
  while (const auto victim = log.TakeVictim(/*pinned_too=*/true).segment) victims.push_back(*victim);
  EXPECT_EQ(victims.size(), 4u) << "three of one, and the first of the other";
  for (const SegmentId id : victims) EXPECT_FALSE(log.space().IsWithdrawn(id));
  EXPECT_TRUE(log.space().HasWithdrawn(Level::kFast));
  while (const auto victim = log.TakeWithdrawn(Level::kFast).segment) withdrawn.push_back(*victim);
  EXPECT_EQ(withdrawn.size(), 2u);
  EXPECT_FALSE(log.space().HasWithdrawn(Level::kFast));
  log.StartDraining(victims);
  log.StartDraining(withdrawn);
  EXPECT_EQ(log.space().free_segments(), kSegments / 2 + 1);
  log.space().LimitMember(0, kSegments / 2);
  EXPECT_EQ(log.space().free_segments(), kSegments);
  std::vector<std::string> violations;
  log.Audit(&violations);
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST_F(MemberCapacityTest, WhileThreadsPutAndFind) {
  for (const Level level : {Level::kFast, Level::kSlow}) {
    SCOPED_TRACE(static_cast<int>(level));
    UseFiles(6 * kMiB, 6 * kMiB);
    options_.members[1].level = level;
    options_.recovery = Recovery::kDiscard;
    Open();
    constexpr uint64_t kKeys = 1500;
    constexpr int kSteps = 8000;
    std::atomic<bool> stop{false};
    std::jthread resizer([&] {
      std::mt19937_64 random(test::Seed());
      while (!stop.load()) {
        const size_t member = random() % 2;
        EXPECT_EQ(tier_->SetMemberCapacity(member, random() % 2 == 0 ? 0 : 2 * kMiB).message(), "");
        EXPECT_EQ(tier_->SetMemberCapacity(member, 6 * kMiB).message(), "");
        if (random() % 8 == 0) tier_->EraseAll();
      }
    });
    std::jthread sizer([&] {
      for (int turn = 0; !stop.load(); ++turn) {
        if (turn % 64 == 0) {
          EXPECT_EQ(tier_->SetCapacity(turn % 128 == 0 ? 7 * kMiB : 12 * kMiB).message(), "");
        }
        std::this_thread::yield();
      }
      EXPECT_EQ(tier_->SetCapacity(12 * kMiB).message(), "");
    });
    std::vector<std::jthread> threads;
    for (uint64_t thread = 0; thread < 3; ++thread)
      threads.emplace_back([this, thread] { UseOwnKeys(thread, kKeys, kSteps, /*may_refuse=*/true); });
    threads.clear();
    stop.store(true);
    resizer.join();
    sizer.join();
    EXPECT_GT(Count(Event::kScmSecondChance), 100u);
    EXPECT_EQ(tier_->figures().capacity_bytes(), 12 * kMiB);
    test::ExpectSound(*tier_);
  }
}

}  // namespace
}  // namespace mezz
