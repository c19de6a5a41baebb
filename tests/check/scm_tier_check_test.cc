// SPDX-License-Identifier: Apache-2.0
// The real tier under the model checker: every schedule and every value a load may return, up to a bound.
#include <gtest/gtest.h>

#include "tests/support/check/explorer.h"
#include "tests/support/check/tiny_tier.h"

namespace mezz::check {
namespace {

constexpr uint64_t kKey = 1;

void ExpectHolds(const Options& options, const std::function<void(Trial&)>& scenario) {
  const Result result = Explore(options, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(result.complete || options.random_runs != 0) << "not all of it in " << result.runs << " runs";
  ::testing::Test::RecordProperty("runs", std::to_string(result.runs));
  std::fprintf(stderr, "%llu runs\n", static_cast<unsigned long long>(result.runs));
}

// A tier where the key's record is the second of two in the oldest segment, and where the next put reclaims that: a hot
// record is moved, a cold one dropped. The put after it opens the same segment again. A put of kTiny reclaims the first
// of the two records only: it does not come in the way of the thread that is meant to move the key's.
TinyTier NearlyFull(bool hot, uint32_t segments = kSegmentsMin) {
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

TEST(CheckedTier, AFoundBlockIsNotReusedWhileItIsPinned) {
  ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/false);
    trial.Threads(
        {{"writer", [&] { PutFillers(tier, 3); }},
         {"reader", [&] { Require(tier.Find(kKey).value_or(1) == 1, "the version is the one that was put"); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AHotBlockIsNeverLostToReclaim) {
  ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }},
                   {"reader", [&] { Require(tier.Find(kKey) == 1, "a moved block is a hit"); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, ContainsSeesABlockThatMoves) {
  ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }},
                   {"reader", [&] { Require(tier.Contains(kKey), "a moved block is contained"); }}});
    tier.ExpectSound();
  });
}

TEST(CheckedTier, AnErasedBlockThatMovesIsGone) {
  ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }}, {"eraser", [&] {
                                                                tier.Erase(kKey);
                                                                Require(!tier.Find(kKey), "an erased block is a miss");
                                                              }}});
    Require(!tier.Find(kKey), "an erased block stays a miss");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, APutReplacesABlockThatMoves) {
  ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"writer", [&] { PutFillers(tier, 1); }}, {"owner", [&] {
                                                                if (tier.Put(kKey, 2, kTiny))
                                                                  Require(tier.Find(kKey).value_or(2) == 2,
                                                                          "the old version is gone");
                                                              }}});
    Require(tier.Find(kKey).value_or(2) == 2, "the old version stays away");
    tier.ExpectSound();
  });
}

TEST(CheckedTier, TwoPutsOfOneKeyLeaveOneRecord) {
  for (const bool resident : {false, true}) {
    ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [=](Trial& trial) {
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

TEST(CheckedTier, AHitBesideAPutHidesNeitherVersion) {
  ExpectHolds({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
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
  ExpectHolds({.preemptions_max = 2, .stale_max = 0}, [](Trial& trial) {
    TinyTier tier = NearlyFull(/*hot=*/true);
    trial.Threads({{"owner",
                    [&] {
                      if (tier.Put(kKey, 2, kTiny))
                        Require(tier.Find(kKey).value_or(2) == 2, "the old version is gone");
                    }},
                   {"toucher", [&] { tier.Find(kKey); }},
                   {"writer", [&] { PutFillers(tier, 1); }}});
    Require(tier.Find(kKey).value_or(2) == 2, "the old version stays away");
    tier.ExpectSound();
  });
}

}  // namespace
}  // namespace mezz::check
