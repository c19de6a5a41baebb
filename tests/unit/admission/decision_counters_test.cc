// SPDX-License-Identifier: Apache-2.0
#include "admission/decision_counters.h"

#include <gtest/gtest.h>

#include <array>

#include "cache/base/stripe.h"
#include "tests/support/in_threads.h"

namespace mezz {
namespace {

constexpr std::array kPoints = {DecisionPoint::kMiss,    DecisionPoint::kDramEviction, DecisionPoint::kScmHit,
                                DecisionPoint::kReclaim, DecisionPoint::kForm,         DecisionPoint::kWarm};

// Every pair of an answer and a reason, `times` plus the reason's number; far more than a stripe has rows for.
void CountAll(DecisionCounters* counters, unsigned times) {
  for (const DecisionPoint point : kPoints) {
    for (uint8_t action = 0; action < static_cast<uint8_t>(Action::kCount); ++action) {
      for (uint8_t reason = 0; reason < kReasons; ++reason) {
        const Decision decision{static_cast<Action>(action), static_cast<Reason>(reason)};
        if (!IsAllowed(point, decision.action)) continue;
        for (unsigned i = 0; i < times + reason; ++i) counters->Add(point, decision, BlockRole::kData);
      }
    }
  }
}

void ExpectAll(const DecisionSnapshot& counted, uint64_t times, uint64_t times_reason) {
  unsigned pairs = 0;
  for (const DecisionPoint point : kPoints) {
    for (uint8_t action = 0; action < static_cast<uint8_t>(Action::kCount); ++action) {
      if (!IsAllowed(point, static_cast<Action>(action))) continue;
      for (uint8_t reason = 0; reason < kReasons; ++reason, ++pairs) {
        const uint64_t expected = times + times_reason * reason;
        ASSERT_EQ(counted.of(point, static_cast<Action>(action), static_cast<Reason>(reason), BlockRole::kData),
                  expected);
        ASSERT_EQ(counted.of(point, static_cast<Action>(action), static_cast<Reason>(reason)), expected);
      }
    }
  }
  EXPECT_EQ(pairs, (kAnswers - 1) * kReasons);
  EXPECT_EQ(counted.invalid(), 0u);
}

TEST(DecisionCounters, CountEveryAnswerHoweverManyOneThreadGives) {
  DecisionCounters counters;
  CountAll(&counters, 1);
  CountAll(&counters, 2);
  ExpectAll(counters.Snapshot(), 3, 2);
}

// Those that share a stripe too.
TEST(DecisionCounters, CountWhatAllThreadsGive) {
  constexpr unsigned kThreads = kStripes + 2;
  DecisionCounters counters;
  test::InThreads(kThreads, [&](unsigned) { CountAll(&counters, 20); });
  ExpectAll(counters.Snapshot(), uint64_t{20} * kThreads, kThreads);
}

TEST(DecisionCounters, WhatIsGivenElsewhereIsTold) {
  DecisionCounters counters;
  ASSERT_FALSE(IsAllowed(DecisionPoint::kMiss, Action::kSpare));
  counters.Add(DecisionPoint::kMiss, {Action::kSpare, Reason::kHit}, BlockRole::kIndex);
  EXPECT_EQ(counters.Snapshot().invalid(), 1u);
}

// A table of all pairs for each stripe would take 192 KB: 2.4 bytes a block of 64 + 256 MiB.
TEST(DecisionCounters, TakeLittleForWhatNobodyGives) { EXPECT_LT(DecisionCounters::dram_bytes(), 43u << 10); }

}  // namespace
}  // namespace mezz
