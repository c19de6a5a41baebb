// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace mezz {
namespace {

std::vector<double> Draw(std::mt19937_64* random, size_t windows, double scatter) {
  std::normal_distribution<double> normal(1000, 1000 * scatter);
  std::vector<double> values(windows);
  for (double& value : values) value = normal(*random);
  return values;
}

// The promise itself: of two runs of the same command, medians differ by more than the spread in about one pair of 20.
TEST(Noise, SaysHowFarTheMedianOfARerunMayBe) {
  std::mt19937_64 random(1);
  for (const size_t windows : {5, 15, 40}) {
    int beyond = 0;
    constexpr int kPairs = 4000;
    for (int i = 0; i < kPairs; ++i) {
      const std::vector<double> first = Draw(&random, windows, 0.05);
      const double a = SpreadOf(first).median;
      const double b = SpreadOf(Draw(&random, windows, 0.05)).median;
      if (std::abs(a - b) / a > NoiseOf(first).rerun_spread) ++beyond;
    }
    EXPECT_LT(beyond, kPairs * 0.11) << windows;
    EXPECT_GT(beyond, kPairs * 0.02) << windows;
  }
}

TEST(Noise, IsTooMuchAboveThreePercentAndWithoutWindowsToTell) {
  EXPECT_TRUE(NoiseOf({}).noisy());
  EXPECT_TRUE(NoiseOf({1000, 1000}).noisy());
  EXPECT_FALSE(NoiseOf({1000, 1001, 999, 1000, 1002}).noisy());
  EXPECT_TRUE(NoiseOf({1000, 1100, 900, 1200, 1050}).noisy());
}

uint64_t PerMille(double share) { return static_cast<uint64_t>(share * 1000 + 0.5); }

TEST(HitRatio, HasSettledWhenTwoStepsAreSmall) {
  std::vector<WindowRow> windows;
  const auto add = [&](double dram, double scm) {
    WindowRow row;
    row.tiers = {.hits = PerMille(dram) + PerMille(scm), .second_hits = PerMille(scm)};
    row.tiers.flash_reads = 1000 - row.tiers.hits;
    windows.push_back(row);
    return HitRatioSettled(windows);
  };
  EXPECT_FALSE(add(0.1, 0.0));
  EXPECT_FALSE(add(0.4, 0.1));
  EXPECT_FALSE(add(0.4, 0.102));
  EXPECT_TRUE(add(0.3, 0.204)) << "what moves between the tiers is no matter";
  EXPECT_FALSE(add(0.3, 0.25));
}

TEST(Digest, SharesOfARoleAreOfItsOwnLookups) {
  WindowResult result;
  result.ops = 10;
  result.seconds = 2;
  result.tiers = {.hits = 30, .second_hits = 10, .flash_reads = 7, .read_ahead = 3, .flash_bytes = 40960};
  result.roles[static_cast<size_t>(RoleSlot::kIndex)] = {
      .hits = 8, .second_hits = 2, .flash_reads = 1, .read_ahead = 1};
  WindowRow row = Digest(result);
  EXPECT_EQ(row.tiers.dram_hit(), 0.5);
  EXPECT_EQ(row.tiers.scm_hit(), 0.25);
  EXPECT_EQ(row.per_s(row.tiers.flash_bytes), 20480);
  ASSERT_EQ(row.roles.size(), 1u);
  EXPECT_EQ(row.roles.at("index").hit, 0.8);
  EXPECT_FALSE(row.roles.at("index").dram_hit) << "not every cache tells";
  result.second_hits_by_role = true;
  row = Digest(result);
  EXPECT_DOUBLE_EQ(*row.roles.at("index").dram_hit, 0.6);
  EXPECT_DOUBLE_EQ(*row.roles.at("index").scm_hit, 0.2);
}

}  // namespace
}  // namespace mezz
