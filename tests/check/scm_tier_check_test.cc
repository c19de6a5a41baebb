// SPDX-License-Identifier: Apache-2.0
// The real tier under the model checker: every schedule and every value a load may return, up to a bound.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "tests/support/check/explorer.h"
#include "tests/support/check/tiny_tier.h"
#include "tests/support/tier_fixture.h"

namespace mezz::check {
namespace {

constexpr uint64_t kKey = 1;

// MEZZ_CHECK_DEPTH=1 looks one preemption further and at many more random runs: minutes instead of seconds (label
// long).
bool Deep() { return std::getenv("MEZZ_CHECK_DEPTH") != nullptr; }

void ExpectHolds(Options options, const std::function<void(Trial&)>& scenario) {
  if (Deep()) ++options.preemptions_max;
  options.runs_max = 1'000'000;
  const Result result = Explore(options, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete || Deep()) << "the bounds allow more than " << result.runs << " runs";
  const Result random = Explore({.random_runs = Deep() ? 200'000u : 500u, .seed = test::Seed()}, scenario);
  EXPECT_TRUE(random.ok()) << random.failure;
}

// For short operations; for longer ones or more threads; for long ones.
constexpr Options kShort{.preemptions_max = 2, .stale_max = 1};
constexpr Options kLonger{.preemptions_max = 2, .stale_max = 0};
constexpr Options kLongest{.preemptions_max = 1, .stale_max = 1};

// A tier where the key's record is the second of two in the oldest segment, and where the next put reclaims that: a hot
// record is moved, a cold one dropped. The put after it opens the same segment again. A put of kTiny reclaims the first
// of the two records only: it does not come in the way of the thread that is meant to move the key's.
TinyTier NearlyFull(bool hot, uint32_t segments = 4) {
  TinyTier tier(segments);
  tier.Put(99, 1, kHalf);
  tier.Put(kKey, 1, kHalf);
  if (hot) Require(tier.Find(kKey) == 1, "the key is there");
  for (uint64_t filler = 0; filler + 1 < 2 * (segments - 3); ++filler) tier.Put(100 + filler, 1);
  Require(tier.Contains(kKey), "nothing was reclaimed yet");
  return tier;
}

void PutFillers(TinyTier& tier, uint64_t count) {
  for (uint64_t filler = 0; filler < count; ++filler) tier.Put(200 + filler, 1);
}

void RequireNotTheOldVersion(TinyTier& tier) {
  Require(tier.Find(kKey).value_or(2) == 2, "the old version is not found after a finished put");
}

TEST(CheckedTier, AFoundBlockIsNotReusedWhileItIsPinned) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads(
        {{"writer", [&] { PutFillers(tier, 3); }},
         {"reader", [&] { Require(tier.Find(kKey).value_or(1) == 1, "the version is the one that was put"); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AHotBlockIsNeverLostToReclaim) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }},
                   {"reader", [&] { Require(tier.Find(kKey) == 1, "a moved block is a hit"); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, ContainsSeesABlockThatMoves) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }},
                   {"reader", [&] { Require(tier.Contains(kKey), "a moved block is contained"); }}});
    tier.ExpectSound();
  });
}

// Beside a writer whose put has reclaim reach the key's record.
void EraseBeside(Trial& trial, TinyTier& tier, const std::function<void()>& writer) {
  trial.Threads({{"writer", writer}, {"eraser", [&] {
                                        tier.Erase(kKey);
                                        Require(!tier.Find(kKey), "an erased block is a miss");
                                      }}});
  Require(!tier.Find(kKey), "an erased block stays a miss");
  tier.ExpectSound();
}

TEST(CheckedTier, AnErasedBlockThatMovesIsGone) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    EraseBeside(trial, tier, [&] { PutFillers(tier, 1); });
  });
}

TEST(CheckedTier, APutReplacesABlockThatMoves) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }}, {"owner", [&] {
                                                                if (tier.Put(kKey, 2, kTiny))
                                                                  Require(tier.Find(kKey).value_or(2) == 2,
                                                                          "the old version is gone");
                                                              }}});
    RequireNotTheOldVersion(tier);
    tier.ExpectSound();
  });
}

TEST(CheckedTier, TwoPutsOfOneKeyLeaveOneRecord) {
  for (const bool resident : {false, true}) {
    ExpectHolds(kShort, [=](Trial& trial) {
      TinyTier tier;
      if (resident) tier.Put(kKey, 1, kHalf);
      trial.Threads({{"one", [&] { tier.Put(kKey, 2, kHalf); }}, {"two", [&] { tier.Put(kKey, 3, kHalf); }}});
      Require(tier.Find(kKey).value_or(2) != 1, "the old version is gone");
      tier.ExpectSound();
      tier.Erase(kKey);
      Require(!tier.Find(kKey), "there was one record");
    });
  }
}

// The second sees the stranger's slot taken and uses the next one. Each must see the other's slot after its own put.
TEST(CheckedTier, TwoPutsIntoTwoSlotsLeaveOneRecord) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier;
    tier.Put(99, 1, kTiny);
    trial.Threads(
        {{"one", [&] { tier.Erase(99), tier.Put(kKey, 2, kTiny); }}, {"two", [&] { tier.Put(kKey, 3, kTiny); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AFirstPutIsFoundWholeOrNotAtAll) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier;
    trial.Threads({{"owner", [&] { tier.Put(kKey, 1, kHalf); }},
                   {"reader", [&] { Require(tier.Find(kKey).value_or(1) == 1, "whole"); }}});
    Require(tier.Find(kKey) == 1, "it is there");
    tier.ExpectSound();
  });
}

// Between writing and publishing a record no word protects it from reclaim, only its writer does.
TEST(CheckedTier, AnUnpublishedRecordIsNotReclaimed) {
  ExpectHolds(kLongest, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"owner", [&] { tier.Put(300, 1, kTiny); }}, {"writer", [&] { PutFillers(tier, 4); }}});
    Require(tier.Find(300).value_or(1) == 1, "it is itself");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AHitBesideAPutHidesNeitherVersion) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier;
    tier.Put(kKey, 1, kHalf);
    trial.Threads({{"toucher", [&] { tier.Find(kKey), tier.Find(kKey); }}, {"owner", [&] {
                                                                              tier.Put(kKey, 2, kHalf);
                                                                              Require(tier.Find(kKey) == 2,
                                                                                      "the new version is found");
                                                                            }}});
    Require(tier.Find(kKey) == 2, "the new version stays");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AHitAndAMoveBesideAPutLeaveOneRecord) {
  ExpectHolds(kLonger, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"owner",
                    [&] {
                      if (tier.Put(kKey, 2, kTiny))
                        Require(tier.Find(kKey).value_or(2) == 2, "the old version is gone");
                    }},
                   {"toucher", [&] { tier.Find(kKey); }},
                   {"writer", [&] { PutFillers(tier, 1); }}});
    RequireNotTheOldVersion(tier);
    tier.ExpectSound();
  });
}

// What HybridCache does on Insert: bytes that changed must not come back.
TEST(CheckedTier, AReinsertedBlockThatMovesLeavesNoOldBytes) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }}, {"inserter", [&] {
                                                                if (tier.Contains(kKey)) tier.Erase(kKey);
                                                                Require(!tier.Find(kKey), "an erased block is a miss");
                                                              }}});
    Require(!tier.Find(kKey), "an erased block stays a miss");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AnEraseBesideAHitAndAMoveIsNotLost) {
  ExpectHolds(kLonger, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"eraser",
                    [&] {
                      tier.Erase(kKey);
                      Require(!tier.Find(kKey), "an erased block is a miss");
                    }},
                   {"toucher", [&] { tier.Find(kKey); }},
                   {"writer", [&] { PutFillers(tier, 1); }}});
    Require(!tier.Find(kKey), "an erased block stays a miss");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AnEraseBesideAPutLeavesTheNewVersionOrNone) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier;
    tier.Put(kKey, 1, kTiny);
    trial.Threads({{"eraser", [&] { tier.Erase(kKey); }}, {"owner", [&] { tier.Put(kKey, 2, kTiny); }}});
    RequireNotTheOldVersion(tier);
    tier.ExpectSound();
  });
}

TEST(CheckedTier, WhatWasThereBeforeEraseAllIsGoneAfterIt) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }}, {"eraser", [&] {
                                                                tier->EraseAll();
                                                                Require(!tier.Find(kKey), "an erased block is a miss");
                                                              }}});
    Require(!tier.Find(kKey), "an erased block stays a miss");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, EraseAllBesideAnEraseCountsEachWordOnce) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier;
    tier.Put(kKey, 1, kTiny);
    trial.Threads({{"all", [&] { tier->EraseAll(); }}, {"one", [&] { tier.Erase(kKey); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, TheDramBitLosesNoMoveAndNoPut) {
  for (const bool put : {false, true}) {
    ExpectHolds(kShort, [=](Trial& trial) {
      TinyTier tier = NearlyFull(/*hot=*/true);
      const auto change = [&] {
        if (put) tier.Put(kKey, 2, kTiny);
        if (!put) PutFillers(tier, 1);
      };
      trial.Threads({{"changer", change},
                     {"dram", [&] { Require(tier->NoteDramEviction(TinyTier::Key(kKey)), "it is resident"); }}});
      Require(tier.Find(kKey) == (put ? 2 : 1), "the newest version is found");
      tier.ExpectSound();
    });
  }
}

// A tier where the key's record is the second of two hot ones in the oldest proven segment, and where the next proven
// put weighs that, takes a heat from both and queues it again.
TinyTier NearlyRequeued() {
  TinyTier tier(4);
  tier->SetRequeuePercent(70);
  for (const uint64_t key : {uint64_t{99}, kKey}) {
    tier.Put(key, 1, kHalf, Generation::kProven);
    Require(tier.Find(key) == 1, "the key is there");
  }
  tier.Put(100, 1, kWhole, Generation::kProven);
  Require(tier->counters().Snapshot()[Event::kScmSegmentRequeued] == 0, "nothing was reclaimed yet");
  return tier;
}

TEST(CheckedTier, AHotBlockIsFoundWhileItsSegmentIsQueuedAgain) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyRequeued();
    trial.Threads({{"writer", [&] { tier.Put(200, 1, kWhole, Generation::kProven); }},
                   {"reader", [&] { Require(tier.Find(kKey) == 1, "it is a hit"); }}});
    const uint64_t paid =
        tier->counters().Snapshot()[Event::kScmSegmentRequeued];  // none if the reader's pin was first
    const unsigned heat = tier->Find(TinyTier::Key(kKey), BlockRole::kData, Heat::kKeep).heat();
    Require(heat == 2 - paid || heat == 3 - paid, "two, a hit that may be lost, and what was paid");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AnErasedBlockStaysErasedThoughItsSegmentIsQueuedAgain) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyRequeued();
    EraseBeside(trial, tier, [&] { tier.Put(200, 1, kWhole, Generation::kProven); });
  });
}

TEST(CheckedTier, APutReplacesABlockWhoseSegmentIsQueuedAgain) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyRequeued();
    trial.Threads({{"writer", [&] { tier.Put(200, 1, kWhole, Generation::kProven); }},
                   {"owner", [&] { tier.Put(kKey, 2, kTiny); }}});
    RequireNotTheOldVersion(tier);
    tier.ExpectSound();
  });
}

TEST(CheckedTier, ASwitchedOffTierQueuesNothingAgain) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyRequeued();
    trial.Threads({{"switch", [&] { Require(tier->SetCapacity(0).ok(), "it switches off"); }},
                   {"writer", [&] { tier.Put(200, 1, kWhole, Generation::kProven); }}});
    Require(tier->figures().usage_bytes() == 0, "every segment was given up");
    tier.ExpectSound();
  });
}

// Two writers share a segment, seal it under each other, and reclaim what the other has just left.
TEST(CheckedTier, WritersNeverMeetInAReclaimedSegment) {
  ExpectHolds(kLonger, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"one", [&] { tier.Put(300, 1), tier.Put(301, 1); }}, {"two", [&] { tier.Put(302, 1); }}});
    tier.ExpectSound();
  });
}

// It has read the lane's segment, then others fill, seal and half reclaim that, with room for its small record left.
TEST(CheckedTier, AWriterThatComesLateFindsItsSegmentClosed) {
  ExpectHolds(kLongest, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"late", [&] { tier.Put(300, 1, kTiny); }},
                   {"writer", [&] { PutFillers(tier, 2), tier.Put(250, 1, kTiny); }}});
    for (uint64_t filler = 0; filler < 2; ++filler) tier.Put(400 + filler, 1);
    Require(tier.Find(300).value_or(1) == 1, "it is itself");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, ASourceThatFailsLeavesAWalkableLog) {
  ExpectHolds(kLonger, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"fails",
                    [&] {
                      const auto nothing = [](size_t, size_t, std::byte*) { return false; };
                      tier->Put(TinyTier::Key(300), BlockRole::kData, kHalf, nothing);
                    }},
                   {"writer", [&] { PutFillers(tier, 2); }}});
    PutFillers(tier, 8);  // walks over it
    Require(tier->counters().Snapshot()[Event::kScmDamagedHeader] == 0, "no header is missing");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AFullBucketGivesUpOneWordForAnother) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier(16);
    for (uint64_t key = kKey; key < kKey + 16; ++key) tier.Put(key, 1, kTiny);
    trial.Threads({{"stranger", [&] { tier.Put(300, 1, kTiny); }}, {"owner", [&] {
                                                                      tier.Put(kKey, 2, kTiny);
                                                                      RequireNotTheOldVersion(tier);
                                                                    }}});
    RequireNotTheOldVersion(tier);
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AScrubReadsNoReusedBytes) {
  ExpectHolds(kLonger, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"writer", [&] { PutFillers(tier, 3); }}, {"scrubber", [&] { tier->Scrub(3 * kWhole); }}});
    Require(tier->counters().Snapshot()[Event::kScmChecksumMismatch] == 0, "nothing is damaged");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, APinnedSegmentIsGivenUpWithItsLastPin) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"switch", [&] { Require(tier->SetCapacity(0).ok(), "it switches off"); }},
                   {"reader", [&] { Require(tier.Find(kKey).value_or(1) == 1, "what is pinned stays as it was"); }}});
    Require(tier->figures().usage_bytes() == 0, "every segment was given up");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, ASwitchedOffTierHoldsNothingThoughAPutRan) {
  ExpectHolds(kShort, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads({{"switch", [&] { Require(tier->SetCapacity(0).ok(), "it switches off"); }},
                   {"writer", [&] { PutFillers(tier, 1); }}});
    Require(tier->figures().usage_bytes() == 0, "every segment was given up");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AShrunkTierStaysWithinItsCapacity) {
  constexpr uint32_t kSegments = kSegmentsMin + 2;
  ExpectHolds(kLongest, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false, kSegments);
    trial.Threads(
        {{"resizer", [&] { Require(tier->SetCapacity(kSegmentsMin * kTinySegmentBytes).ok(), "it shrinks"); }},
         {"writer", [&] { PutFillers(tier, 2); }}});
    Require(tier->figures().usage_bytes() <= tier->figures().capacity_bytes(), "no more is used than allowed");
    tier.ExpectSound();
  });
}

}  // namespace
}  // namespace mezz::check
