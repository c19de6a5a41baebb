// SPDX-License-Identifier: Apache-2.0
#include "admission/promotion_threshold.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random.h"

namespace mezz {
namespace {

using test::Mix;  // keys are numbered; what is told must be well mixed

constexpr uint64_t kDramBlocks = 200;
constexpr double kGain = 0.05;

// 1: every key is sampled; 64: DRAM is so much larger.
class PromotionThresholdTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  // Each block is dropped, and missed again when `later` others were; of the look-ups these misses are one in
  // `one_in`.
  void Return(uint64_t later, uint64_t one_in, uint64_t misses) {
    for (uint64_t i = 0; i < misses; ++i) {
      const uint64_t key = next_++;
      promotion_threshold_.OnEviction(Mix(key));
      promotion_threshold_.OnDrop(Mix(key));
      if (key >= later) promotion_threshold_.OnMiss(Mix(key - later));
      promotion_threshold_.OnLookups(one_in);
    }
  }
  double Frequency() const { return promotion_threshold_.Frequency(10 * blocks_, kGain); }
  // While blocks return. A window sees some sixteen of a sample.
  double MeanFrequency(uint64_t later, uint64_t one_in, uint64_t misses) {
    constexpr int kLooks = 50;
    Return(later, one_in, misses);
    double sum = 0;
    for (int look = 0; look < kLooks; ++look) {
      Return(later, one_in, misses / 20);
      sum += Frequency();
    }
    return sum / kLooks;
  }

  const uint64_t blocks_ = kDramBlocks * GetParam();
  PromotionThreshold promotion_threshold_{blocks_};
  uint64_t next_ = 0;
};

TEST_P(PromotionThresholdTest, NothingPaysBeforeSomethingIsKnown) {
  EXPECT_TRUE(std::isinf(Frequency()));
  promotion_threshold_.OnLookups(std::max(PromotionThreshold::kTurns * blocks_, PromotionThreshold::kLookupsMin) - 1);
  EXPECT_TRUE(std::isinf(Frequency()));
  promotion_threshold_.OnLookups(1);
  EXPECT_EQ(Frequency(), 0) << "nothing returned";
}

// One look-up in 50 misses what twice the room would have kept: a block needs as many hits as that costs.
TEST_P(PromotionThresholdTest, FollowsWhatReturns) {
  const double mean = MeanFrequency(/*later=*/blocks_ / 2, /*one_in=*/50, /*misses=*/10 * blocks_);
  const double expected = 1.5 * 10 * static_cast<double>(blocks_) / 50 / (static_cast<double>(blocks_) * kGain);
  EXPECT_NEAR(mean, expected, 0.15 * expected);
  EXPECT_NEAR(promotion_threshold_.Frequency(10 * blocks_, 2 * kGain), Frequency() / 2, 1e-6);
  EXPECT_NEAR(promotion_threshold_.Frequency(20 * blocks_, kGain), Frequency() * 2, 1e-6);
}

TEST_P(PromotionThresholdTest, WhatReturnsLaterThanTwiceTheRoomWouldKeepCostsNothing) {
  Return(/*later=*/2 * blocks_, /*one_in=*/5, /*misses=*/10 * blocks_);
  EXPECT_LT(Frequency(), 0.5);
}

TEST_P(PromotionThresholdTest, WhatWasNotDroppedIsNoReturn) {
  for (uint64_t i = 0; i < 10 * blocks_; ++i) {
    promotion_threshold_.OnEviction(Mix(i));
    promotion_threshold_.OnMiss(Mix(i));
    promotion_threshold_.OnLookups(5);
  }
  EXPECT_EQ(Frequency(), 0);
}

// Also where hardly anything is missed any more.
TEST_P(PromotionThresholdTest, ForgetsWhatUsedToReturn) {
  Return(blocks_ / 2, /*one_in=*/5, 10 * blocks_);
  const double before = Frequency();
  for (int windows = 0; windows < 20; ++windows)
    promotion_threshold_.OnLookups(std::max(PromotionThreshold::kTurns * blocks_, PromotionThreshold::kLookupsMin));
  EXPECT_LT(Frequency(), before / 100);
}

TEST_P(PromotionThresholdTest, FollowsTheSizeOfDram) {
  promotion_threshold_.SetCapacity(4 * blocks_);
  const double mean = MeanFrequency(2 * blocks_, /*one_in=*/50, 40 * blocks_);
  const double expected = 1.5 * 10 * static_cast<double>(blocks_) / 50 / (4 * static_cast<double>(blocks_) * kGain);
  EXPECT_NEAR(mean, expected, 0.15 * expected);
}
INSTANTIATE_TEST_SUITE_P(Scale, PromotionThresholdTest, ::testing::Values(1, 64));

TEST(PromotionThreshold, WorksForOneBlockAndForNone) {
  for (const uint64_t blocks : {0, 1}) {
    PromotionThreshold threshold(blocks);
    for (int i = 0; i < 5000; ++i) {
      threshold.OnEviction(Mix(7));
      threshold.OnDrop(Mix(7));
      threshold.OnMiss(Mix(7));
      threshold.OnLookups(1);
    }
    EXPECT_GT(threshold.Frequency(10, kGain), 100) << "the one block returns at each look-up";
  }
}

}  // namespace
}  // namespace mezz
