// SPDX-License-Identifier: Apache-2.0
#include "admission/promotion_feedback.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

constexpr unsigned kHot = 3;
constexpr uint64_t kUsual = uint64_t{1} << 40;  // a key that is no probe

void Evict(PromotionFeedback* feedback, int times, int hit_of_ten) {
  for (int i = 0; i < times; ++i) feedback->OnDuplicateEviction(i % 10 < hit_of_ten);
}

TEST(PromotionFeedback, TrustsPromotionsAtFirst) {
  const PromotionFeedback feedback;
  EXPECT_EQ(feedback.offset(), 0u);
  EXPECT_TRUE(feedback.Promotes(kHot, kHot, kUsual));
  EXPECT_FALSE(feedback.Promotes(kHot - 1, kHot, kUsual));
}

TEST(PromotionFeedback, AsksForMoreWhileFewAreHitAndForLessWhenManyAre) {
  PromotionFeedback feedback;
  Evict(&feedback, 640, 5);
  const unsigned offset = feedback.offset();
  ASSERT_GT(offset, 3u);
  ASSERT_LT(offset, PromotionFeedback::kOffsetMax);
  EXPECT_FALSE(feedback.Promotes(kHot + offset - 1, kHot, kUsual));
  EXPECT_TRUE(feedback.Promotes(kHot + offset, kHot, kUsual));
  Evict(&feedback, 6400, 0);
  EXPECT_EQ(feedback.offset(), PromotionFeedback::kOffsetMax) << "it rises no further";
  Evict(&feedback, 6400, 10);
  EXPECT_EQ(feedback.offset(), 0u);
}

TEST(PromotionFeedback, StaysWhereItIsBetweenTheTargetAndItsSlack) {
  PromotionFeedback feedback;
  Evict(&feedback, 640, 4);
  const auto evict_six_of_seven_hit = [&](int times) {
    for (int i = 0; i < times; ++i) feedback.OnDuplicateEviction(i % 7 != 0);
  };
  evict_six_of_seven_hit(640);  // to find its level
  const unsigned offset = feedback.offset();
  ASSERT_GT(offset, 0u);
  evict_six_of_seven_hit(6400);
  EXPECT_EQ(feedback.offset(), offset) << "above the target of 0.8, by less than a tenth";
}

TEST(PromotionFeedback, A64thOfTheKeysKeepsItAlive) {
  PromotionFeedback feedback;
  Evict(&feedback, 6400, 0);
  int promoted = 0;
  for (uint64_t key = 0; key < 64'000; ++key) promoted += feedback.Promotes(kHot, kHot, key * 0x9e3779b97f4a7c15ull);
  EXPECT_NEAR(promoted, 1000, 150);
}

}  // namespace
}  // namespace mezz
