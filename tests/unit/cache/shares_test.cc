// SPDX-License-Identifier: Apache-2.0
// Shares of a tier: who may lose segments to whom, on the log alone and on a tier under load.
#include "cache/shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cache/reserved_fills.h"
#include "tests/support/core_fixture.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Core;
using test::Key;
using test::kSmallSegmentBytes;
using test::Payload;

class SharesOfALogTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kMost = layout::SegmentPayloadBytes(kSmallSegmentBytes);  // of a record, in any segment

  void TearDown() override { core.ExpectSound(); }
  ShareId Add(std::string_view name, const ShareLimits& limits) {
    ShareId id = kNoShare;
    EXPECT_EQ(log.owners().AddShare(name, limits, &id).message(), "");
    return id;
  }
  // Fills a segment for the share. False: none is to be had.
  bool Fill(ShareId share, Generation generation = Generation::kYoung) {
    const unsigned lane = log.LaneOf(share, generation);
    if (!log.Advance(lane, kMost, SegmentLog::For::kWriter)) return false;
    log.Leave(*log.Reserve(lane, kMost));
    return true;
  }
  // The share of the next victim, which is emptied. Empty: there is none.
  std::optional<ShareId> Reclaim(ShareId needs) {
    const auto victim = log.TakeVictim(/*pinned_too=*/false, needs);
    if (!victim.segment) return std::nullopt;
    log.StartDraining(*victim.segment);
    return victim.share;
  }
  uint32_t Held(ShareId share) const { return log.owners().UseOf(share).held; }

  Core core{40};
  SegmentLog& log = core.log;
};

TEST_F(SharesOfALogTest, AreCountedBySegments) {
  const ShareId a = Add("a", {}), b = Add("b", {});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Fill(a));
  ASSERT_TRUE(Fill(a, Generation::kProven));
  ASSERT_TRUE(Fill(b));
  ASSERT_TRUE(Fill(kNoShare));
  EXPECT_EQ(Held(a), 6u);
  EXPECT_EQ(Held(b), 1u);
  EXPECT_EQ(Held(kNoShare), 1u);
  EXPECT_EQ(log.owners().UseOf(a).max, 40u);
  log.SealAll();
  EXPECT_EQ(Held(a), 6u);
  while (Reclaim(kNoShare)) continue;
  EXPECT_EQ(Held(a) + Held(b) + Held(kNoShare), 0u);
}

TEST_F(SharesOfALogTest, ASegmentBelowAReserveIsNeverTakenForOthers) {
  const ShareId kept = Add("kept", {.reserved_percent = 25}), scan = Add("scan", {});
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(Fill(kept));
  for (int i = 0; i < 200; ++i) {
    while (!Fill(scan)) ASSERT_TRUE(Reclaim(scan));
    EXPECT_GE(Held(kept), 10u);
  }
  EXPECT_EQ(Held(kept), 10u) << "what is above the reserve goes";
}

TEST_F(SharesOfALogTest, TheOwnerOfAReserveTakesHisOwnWhereAllOthersAreAtTheirs) {
  const ShareId a = Add("a", {.reserved_percent = 45}), b = Add("b", {.reserved_percent = 45});
  while (Fill(a) && Held(a) < 18) continue;
  while (Fill(b)) continue;
  for (int i = 0; i < 100; ++i) {
    while (!Fill(a)) ASSERT_TRUE(Reclaim(a));
    while (!Fill(b)) ASSERT_TRUE(Reclaim(b));
  }
  EXPECT_GE(Held(a), 18u - 1) << "the one that is being replaced";
  EXPECT_GE(Held(b), 18u - 1);
}

TEST_F(SharesOfALogTest, AFullShareTakesItsOwnAlsoWhereSpaceIsFree) {
  const ShareId few = Add("few", {.max_percent = 20}), other = Add("other", {});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Fill(other));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(Fill(few));
  EXPECT_TRUE(log.owners().IsFull(few));
  EXPECT_FALSE(Fill(few));
  EXPECT_GT(log.space().free_segments(), 20u);
  EXPECT_TRUE(log.Advance(log.LaneOf(few, Generation::kProven), kMost, SegmentLog::For::kReclaim)) << "survivors go on";
  EXPECT_EQ(Reclaim(few), few);
  EXPECT_EQ(Reclaim(few), few);
  EXPECT_TRUE(Fill(few));
  EXPECT_EQ(Held(other), 3u);
}

TEST_F(SharesOfALogTest, WhereAllSegmentsOfAFullShareAreOpenItsOwnIsSealed) {
  const ShareId few = Add("few", {.max_percent = 10});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Fill(few));
  ASSERT_TRUE(Fill(few, Generation::kProven));
  ASSERT_FALSE(Fill(few)) << "full";
  ASSERT_EQ(Reclaim(few), few);
  ASSERT_EQ(Reclaim(few), few);
  ASSERT_TRUE(log.owners().ChangeShare(few, {.max_percent = 10}).ok());
  ASSERT_TRUE(log.space().LimitTo(10) == 0);  // of which it may hold the least, 4
  ASSERT_TRUE(Fill(few) && Fill(few));
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Reclaim(few), few);
  EXPECT_EQ(Held(few), 2u) << "both open";
}

TEST_F(SharesOfALogTest, LowPriorityGoesFirstAndHighLast) {
  const ShareId low = Add("low", {.reserved_percent = 5, .priority = SharePriority::kLow}),
                high = Add("high", {.priority = SharePriority::kHigh}), normal = Add("normal", {});
  for (const ShareId share : {high, normal, low, high, normal, low, low}) ASSERT_TRUE(Fill(share));
  log.SealAll();
  std::vector<ShareId> order;
  while (const auto taken = Reclaim(normal)) order.push_back(*taken);
  EXPECT_EQ(order, (std::vector{low, normal, normal, high, high})) << "two of low are its reserve";
  EXPECT_EQ(Reclaim(low), low) << "the owner may";
}

TEST_F(SharesOfALogTest, ATierThatShrinksTakesReservesInTheEnd) {
  const ShareId kept = Add("kept", {.reserved_percent = 90});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Fill(kept));
  log.SealAll();
  EXPECT_FALSE(log.TakeVictim(/*pinned_too=*/false).segment);
  const auto victim = log.TakeVictim(/*pinned_too=*/true);
  ASSERT_TRUE(victim.segment);
  EXPECT_EQ(victim.share, kept);
  log.StartDraining(*victim.segment);
}

TEST_F(SharesOfALogTest, LimitsFollowTheCapacityInUse) {
  const ShareId share = Add("share", {.reserved_percent = 50, .max_percent = 75});
  EXPECT_EQ(log.owners().UseOf(share).reserved, 20u);
  EXPECT_EQ(log.owners().UseOf(share).max, 30u);
  log.space().LimitTo(20);
  EXPECT_EQ(log.owners().UseOf(share).reserved, 10u);
  EXPECT_EQ(log.owners().UseOf(share).max, 15u);
  log.space().LimitTo(0);
  EXPECT_EQ(log.owners().UseOf(share).reserved, 0u);
  log.space().LimitTo(40);
  EXPECT_EQ(log.owners().UseOf(share).max, 30u);
}

TEST_F(SharesOfALogTest, AreRefusedWithTheNameAndWhatToDo) {
  ShareId id = kNoShare;
  const auto why = [&](std::string_view name, const ShareLimits& limits) {
    const Status status = log.owners().AddShare(name, limits, &id);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(id, kNoShare);
    return std::string(status.message());
  };
  EXPECT_EQ(why("", {}), "share= has no name: give each database one of its own");
  for (const char* const name : {"a\nb", "(rest)", "\x01"})
    EXPECT_NE(why(name, {}).find("no control"), std::string::npos);
  EXPECT_EQ(why("a", {.max_percent = 101}),
            "share=a: max=101% is not a percentage from 1 to 100: give one, or leave it out");
  EXPECT_EQ(why("a", {.max_percent = 0}),
            "share=a: max=0% is not a percentage from 1 to 100: give one, or leave it out");
  EXPECT_EQ(why("a", {.reserved_percent = 50, .max_percent = 40}),
            "share=a: reserve=50% is more than max=40%: lower the reserve");
  EXPECT_EQ(why("a", {.reserved_percent = 95}),
            "share=a: reserve=95% makes the reserves of all shares 95%, and 90% is the most: lower one");
  EXPECT_EQ(why("a", {.max_percent = 9}),
            "share=a: max=9% is 3 of 40 segments, and 4 are the least: raise it, or make segment_bytes smaller");
  const ShareId b = Add("b", {.reserved_percent = 60});
  EXPECT_EQ(why("a", {.reserved_percent = 31}),
            "share=a: reserve=31% makes the reserves of all shares 91%, and 90% is the most: lower one");
  EXPECT_EQ(why("b", {}),
            "share=b: another database of this cache has that name: use another, or close that one's cache first");
  const ShareId c = Add("c", {});
  ASSERT_TRUE(log.owners().ChangeShare(b, {.reserved_percent = 90}).ok());
  EXPECT_EQ(why("d", {}),
            "share=d: reserves leave 4 of 40 segments to 3 shares, which have two open each: lower one, or make "
            "segment_bytes smaller");
  log.owners().RemoveShare(c);
  ASSERT_TRUE(log.owners().ChangeShare(b, {}).ok());
  for (int i = 0; i < 9; ++i) Add("more " + std::to_string(i), {});
  EXPECT_EQ(why("a", {}), "share=a: 40 segments are too few for 11 shares: raise scm, or make segment_bytes smaller");
}

TEST_F(SharesOfALogTest, WhatIsRemovedHasNoLimitsAndItsNameComesBackToItsSegments) {
  const ShareId first = Add("db", {.reserved_percent = 50, .max_percent = 60});
  ASSERT_TRUE(Fill(first) && Fill(first));
  log.owners().RemoveShare(first);
  EXPECT_EQ(log.owners().UseOf(first).reserved, 0u);
  EXPECT_EQ(log.owners().UseOf(first).max, 40u);
  EXPECT_EQ(log.owners().UseOf(kNoShare).held, 2u) << "what it left is the rest's";
  const ShareId other = Add("other", {.reserved_percent = 90});
  EXPECT_NE(other, first);
  log.owners().RemoveShare(other);
  EXPECT_EQ(Add("db", {.reserved_percent = 70}), first);
  EXPECT_EQ(Held(first), 2u);
  EXPECT_TRUE(log.owners().ChangeShare(first, {.reserved_percent = 20}).ok());
  EXPECT_EQ(log.owners().UseOf(first).reserved, 8u);
  EXPECT_FALSE(log.owners().ChangeShare(first, {.reserved_percent = 91}).ok());
  EXPECT_EQ(log.owners().UseOf(first).reserved, 8u) << "as before";
}

TEST_F(SharesOfALogTest, AShareThatIsRemovedKeepsNothingOpenAndItsNumberIsAnothers) {
  for (int i = 0; i < 200; ++i) {
    const ShareId share = Add("name " + std::to_string(i), {});
    ASSERT_TRUE(Fill(share) && Fill(share, Generation::kProven));
    log.owners().RemoveShare(share);
    EXPECT_EQ(log.LaneOf(share, Generation::kProven), log.proven_lane()) << "its late records are the rest's";
    while (Reclaim(kNoShare)) continue;
    ASSERT_EQ(Held(share), 0u);
  }
  EXPECT_EQ(log.space().free_segments(), 40u);
}

TEST_F(SharesOfALogTest, WhatAnotherReservesStaysOpen) {
  const ShareId kept = Add("kept", {.reserved_percent = 85}), other = Add("other", {});
  while (Held(kept) < 33) ASSERT_TRUE(Fill(kept));
  const unsigned lane = log.LaneOf(kept, Generation::kYoung);
  ASSERT_TRUE(log.Advance(lane, kMost, SegmentLog::For::kWriter));
  const SegmentLog::Reservation few = *log.Reserve(lane, kLineBytes);
  log.Leave(few);
  ASSERT_TRUE(Fill(other));
  while (log.space().free_segments() > 1) ASSERT_TRUE(log.tombstone_segments().Open());
  EXPECT_FALSE(Fill(other));
  EXPECT_EQ(log.state(few.segment), SegmentLog::State::kOpen) << "the other could not take it";
  EXPECT_EQ(Reclaim(other), other);
}

TEST_F(SharesOfALogTest, WhereAllThatMayGoIsOpenTheWritersOwnIsSealed) {
  const ShareId kept = Add("kept", {.reserved_percent = 85}), a = Add("a", {}), b = Add("b", {});
  while (Held(kept) < 34) ASSERT_TRUE(Fill(kept));
  for (int i = 0; i < 50; ++i) {
    for (const ShareId share : {a, b}) {
      for (int tries = 0; !Fill(share); ++tries) {
        ASSERT_LT(tries, 3) << "round " << i;
        (void)Reclaim(share);
      }
    }
  }
  EXPECT_EQ(Held(kept), 34u);
}

// Of 40 segments each share keeps as many as it had reserved when it opened its youngest.
TEST_F(SharesOfALogTest, OfAReserveNothingIsGivenUpWhereSharesHaveNoLimits) {
  const ShareId more = Add("more", {.reserved_percent = 5}), less = Add("less", {.reserved_percent = 45});
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(Fill(more) && Fill(less));
  ASSERT_TRUE(log.owners().ChangeShare(less, {.reserved_percent = 5}).ok());
  ASSERT_TRUE(log.owners().ChangeShare(more, {.reserved_percent = 25}).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Fill(more) && Fill(less) && Fill(kNoShare));
  log.SealAll();
  for (const ShareId share : {more, less}) log.owners().RemoveShare(share);
  const std::vector<SegmentLog::Fill> fills = log.Fills();
  ReservedFills reserved(log, fills);
  std::map<uint64_t, int> kept;
  for (const SegmentLog::Fill& fill : fills)
    kept[log.headers().ReadOwner(fill.segment).tag] += reserved.GiveUp(fill.segment) ? 0 : 1;
  EXPECT_EQ(kept, (std::map<uint64_t, int>{{0, 0}, {Shares::TagOf("more"), 10}, {Shares::TagOf("less"), 2}}));
}

class SharesOfATierTest : public ::testing::Test {
 protected:
  static constexpr size_t kBytes = 4000;

  void TearDown() override {
    if (tier != nullptr) test::ExpectSound(*tier);
  }
  ShareId Add(std::string_view name, const ShareLimits& limits) {
    ShareId id = kNoShare;
    EXPECT_EQ(tier->shares().Add(name, limits, &id).message(), "");
    return id;
  }
  PutResult Put(uint64_t key, ShareId share, Generation generation = Generation::kYoung) {
    return tier->Put(Key(key), BlockRole::kData, Payload(key, 0, kBytes), generation, Form::kRaw, PackedBy::kStage,
                     share);
  }
  uint64_t Resident(uint64_t from, uint64_t end) {
    uint64_t count = 0;
    for (uint64_t key = from; key < end; ++key) count += tier->Contains(Key(key)) ? 1 : 0;
    return count;
  }

  // All but what was passed over, because a key that was put meanwhile has the same tag (TagNotes).
  void ExpectRecovered(uint64_t from, uint64_t end) {
    const uint64_t resident = Resident(from, end);
    EXPECT_GE(resident + tier->recovery().passed_over, end - from);
    EXPECT_GE(resident, (end - from) * 99 / 100);
  }

  std::unique_ptr<ScmTier> tier;
};

TEST_F(SharesOfATierTest, AScanTakesNoBlockBelowAReserveWhateverItWrites) {
  tier = test::OpenOrDie(test::AnonymousOptions(16 << 20));
  const ShareId kept = Add("kept", {.reserved_percent = 30}), scan = Add("scan", {});
  const uint64_t fits = (16 << 20) * 25 / 100 / 4096;
  for (uint64_t key = 0; key < fits; ++key) ASSERT_EQ(Put(key, kept), PutResult::kStored);
  for (uint64_t key = 0; key < 12000; ++key) ASSERT_EQ(Put(100'000 + key, scan), PutResult::kStored);
  EXPECT_EQ(Resident(0, fits), fits);
}

TEST_F(SharesOfATierTest, APutWhosePlacesInTheIndexAreAllReservedIsForgotten) {
  tier = test::OpenOrDie(test::AnonymousOptions(16 << 20));
  const ShareId kept = Add("kept", {.reserved_percent = 85});
  const std::vector<std::byte> block(200);
  const auto put = [&](uint64_t key, ShareId share) {
    return tier->Put(Key(key), BlockRole::kData, block, Generation::kYoung, Form::kRaw, PackedBy::kStage, share);
  };
  for (uint64_t key = 0; key < 20'000; ++key) ASSERT_EQ(put(key, kept), PutResult::kStored);
  const uint64_t before = Resident(0, 20'000);
  for (uint64_t key = 0; key < 5000; ++key) ASSERT_EQ(put(100'000 + key, kNoShare), PutResult::kStored);
  EXPECT_EQ(Resident(0, 20'000), before);
  EXPECT_LT(Resident(100'000, 105'000), 5000u);
}

TEST_F(SharesOfATierTest, ASmallerTierIsSmallerWhateverSharesHaveOpen) {
  tier = test::OpenOrDie(test::AnonymousOptions(32 << 20));
  for (int i = 0; i < 20; ++i) {
    const ShareId share = Add(std::to_string(i), {});
    for (uint64_t key = 0; key < 10; ++key) ASSERT_EQ(Put(1000 * i + key, share), PutResult::kStored);
    for (uint64_t key = 10; key < 20; ++key)
      ASSERT_EQ(Put(1000 * i + key, share, Generation::kProven), PutResult::kStored);
  }
  ASSERT_TRUE(tier->SetCapacity(10 * kSegmentBytesMin).ok());
  EXPECT_LE(tier->figures().usage_bytes(), 10 * kSegmentBytesMin);
}

TEST_F(SharesOfATierTest, AMaximumThatIsLoweredIsKeptBeforeTheNextSegment) {
  tier = test::OpenOrDie(test::AnonymousOptions(32 << 20));
  const ShareId share = Add("share", {});
  for (uint64_t key = 0; key < 7000; ++key) ASSERT_EQ(Put(key, share), PutResult::kStored);
  ASSERT_TRUE(tier->shares().Change(share, {.max_percent = 10}).ok());
  for (uint64_t key = 10'000; key < 10'100; ++key) ASSERT_EQ(Put(key, share), PutResult::kStored);
  EXPECT_LE(tier->shares().UseOf(share).bytes, tier->shares().UseOf(share).max_bytes);
}

TEST_F(SharesOfATierTest, ARecoveryKeepsReservesAndMaxima) {
  const test::ScratchFile file;
  const ScmOptions options = test::WarmOptions(file.path(), 16 << 20);
  tier = test::OpenOrDie(options);
  const ShareId first = Add("kept", {}), second = Add("large", {});
  for (uint64_t key = 1; key < 1500; ++key) {
    ASSERT_EQ(Put(key, first), PutResult::kStored);
    ASSERT_EQ(Put(100'000 + key, second), PutResult::kStored);
  }
  test::Kill(file, &tier);
  tier.reset();
  tier = test::OpenOrDie(options);
  Add("kept", {.reserved_percent = 60});
  const ShareId large = Add("large", {.max_percent = 20});
  const ShareId scan = Add("scan", {});
  for (uint64_t key = 200'000; key < 210'000; ++key) (void)Put(key, scan);
  tier->WaitUntilRecovered();
  ExpectRecovered(1, 1500);
  EXPECT_LE(tier->shares().UseOf(large).bytes, tier->shares().UseOf(large).max_bytes);
}

#ifdef MEZZ_TEST_HOOKS
// Writers have taken every place in the index before the recovery begins.
TEST_F(SharesOfATierTest, ARecoveryTakesPlacesInTheIndexForWhatIsReserved) {
  static std::atomic<bool> written;
  const std::vector<std::byte> block(200);
  const std::pair<bool, PackMode> kLives[] = {{true, PackMode::kOff}, {false, PackMode::kOff}, {true, PackMode::kLz4}};
  for (const auto& [killed, pack] : kLives) {  // where a tier packs, its index grows
    const test::ScratchFile file;
    ScmOptions options = test::WarmOptions(file.path(), 16 << 20);
    options.pack = pack;
    const auto put = [&](uint64_t key, ShareId share) {
      return tier->Put(Key(key), BlockRole::kData, block, Generation::kYoung, Form::kRaw, PackedBy::kStage, share);
    };
    tier = test::OpenOrDie(options);
    const ShareId kept = Add("kept", {.reserved_percent = 40});
    for (uint64_t key = 1; key <= 2000; ++key) ASSERT_EQ(put(key, kept), PutResult::kStored);
    if (killed) test::Kill(file, &tier);
    tier.reset();
    written.store(false);
    g_test_point_hook.store(
        [](const char* name) {
          if (std::string_view(name) == "recovery.begins") written.wait(false);
        },
        std::memory_order_release);
    tier = test::OpenOrDie(options);
    Add("kept", {.reserved_percent = 40});
    const ShareId scan = Add("scan", {});
    for (uint64_t key = 100'000; key < 150'000; ++key) (void)put(key, scan);
    written.store(true);
    written.notify_all();
    for (uint64_t key = 150'000; key < 160'000; ++key) (void)put(key, scan);
    tier->WaitUntilRecovered();
    g_test_point_hook.store(nullptr, std::memory_order_release);
    EXPECT_EQ(tier->recovery().from_snapshot, !killed);
    ExpectRecovered(1, 2001);
    test::ExpectSound(*tier);
    tier.reset();
  }
}
#endif

// Which needs room to write before it knows its shares, and for the snapshot of its index after they have gone.
TEST_F(SharesOfATierTest, ARestartOfAFullTierGivesUpNothingThatIsReserved) {
  for (const bool killed : {false, true}) {
    const test::ScratchFile file;
    const ScmOptions options = test::WarmOptions(file.path(), 16 << 20);
    tier = test::OpenOrDie(options);
    const ShareId kept = Add("kept", {.reserved_percent = 50}), scan = Add("scan", {});
    for (uint64_t key = 1; key < 1500; ++key) ASSERT_EQ(Put(key, kept), PutResult::kStored);
    for (uint64_t key = 0; key < 6000; ++key) ASSERT_EQ(Put(100'000 + key, scan), PutResult::kStored);
    ASSERT_EQ(Resident(1, 1500), 1499u);
    const uint64_t scanned = Resident(100'000, 106'000);
    if (killed) {
      test::Kill(file, &tier);
    } else {
      tier->shares().Remove(kept);
      tier->shares().Remove(scan);
    }
    tier.reset();
    tier = test::OpenOrDie(options);
    tier->WaitUntilRecovered();
    EXPECT_EQ(tier->recovery().from_snapshot, !killed);
    EXPECT_EQ(Resident(1, 1500), 1499u) << (killed ? "killed" : "closed");
    EXPECT_LT(Resident(100'000, 106'000), scanned);
    test::ExpectSound(*tier);
    tier.reset();
  }
}

TEST_F(SharesOfATierTest, WhatReclaimSparesStaysInItsShare) {
  tier = test::OpenOrDie(test::AnonymousOptions(16 << 20));
  const ShareId mine = Add("mine", {.max_percent = 25});
  for (uint64_t key = 0; key < 6000; ++key) ASSERT_EQ(Put(key, mine, Generation::kProven), PutResult::kStored);
  EXPECT_GT(tier->counters().Snapshot()[Event::kScmSecondChance], 100u);
  EXPECT_EQ(tier->shares().UseOf(kNoShare).bytes, 0u);
}

TEST_F(SharesOfATierTest, ARestartGivesEachNameItsBlocksInWhateverOrderTheyCome) {
  for (const bool killed : {false, true}) {
    const test::ScratchFile file;
    const ScmOptions options = test::WarmOptions(file.path(), 16 << 20);
    tier = test::OpenOrDie(options);
    const ShareId a = Add("a", {}), b = Add("b", {});
    for (uint64_t key = 1; key < 100; ++key) ASSERT_EQ(Put(key, a), PutResult::kStored);
    for (uint64_t key = 1000; key < 1200; ++key) ASSERT_EQ(Put(key, b), PutResult::kStored);
    const uint64_t of_a = tier->shares().UseOf(a).bytes, of_b = tier->shares().UseOf(b).bytes;
    EXPECT_LT(of_a, of_b);
    if (killed) test::Kill(file, &tier);
    tier.reset();
    tier = test::OpenOrDie(options);
    const ShareId early = Add("b", {.reserved_percent = 20});
    tier->WaitUntilRecovered();
    EXPECT_EQ(tier->shares().UseOf(early).bytes, of_b) << (killed ? "killed" : "closed");
    EXPECT_EQ(tier->shares().UseOf(kNoShare).bytes, of_a) << "nobody has claimed it";
    const ShareId late = Add("a", {});
    EXPECT_EQ(tier->shares().UseOf(late).bytes, of_a);
    EXPECT_EQ(tier->shares().UseOf(kNoShare).bytes, 0u);
    EXPECT_EQ(Resident(1, 100) + Resident(1000, 1200), 299u);
    test::ExpectSound(*tier);
    tier.reset();
  }
}

TEST_F(SharesOfATierTest, ManyThreadsKeepEachShareWithinItsLimits) {
  tier = test::OpenOrDie(test::AnonymousOptions(16 << 20));
  const ShareId kept = Add("kept", {.reserved_percent = 30}), few = Add("few", {.max_percent = 20}),
                low = Add("low", {.priority = SharePriority::kLow});
  const uint64_t fits = (16 << 20) * 25 / 100 / 4096;
  for (uint64_t key = 0; key < fits; ++key) ASSERT_EQ(Put(key, kept), PutResult::kStored);
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  for (const ShareId share : {few, low, kNoShare}) {
    threads.emplace_back([&, share] {
      for (uint64_t key = 0; key < 9000; ++key) (void)Put(1'000'000ull * (Raw(share) + 1) + key, share);
    });
  }
  threads.emplace_back([&] {
    for (unsigned percent = 20; !stop.load(); percent = percent == 20 ? 40 : 20)
      EXPECT_TRUE(tier->shares().Change(few, {.max_percent = percent}).ok());
  });
  for (size_t i = 0; i < 3; ++i) threads[i].join();
  stop.store(true);
  threads.back().join();
  EXPECT_EQ(Resident(0, fits), fits);
}

}  // namespace
}  // namespace mezz
