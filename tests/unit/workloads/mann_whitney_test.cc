// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/mann_whitney.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace mezz {
namespace {

using Sample = std::vector<double>;

// U from its definition: pairs, not ranks.
double PairsWon(const Sample& a, const Sample& b) {
  double u = 0;
  for (const double x : a) {
    for (const double y : b) u += x > y ? 1 : x == y ? 0.5 : 0;
  }
  return u;
}

struct Enumerated {
  double p = 0;
  double p_min = 0;
};

// Every way to choose which of the values are a's, one by one.
Enumerated ByEnumeration(const Sample& a, const Sample& b) {
  Sample all = a;
  all.insert(all.end(), b.begin(), b.end());
  const double mean = static_cast<double>(a.size() * b.size()) / 2;
  const double observed = std::abs(PairsWon(a, b) - mean);
  std::vector<double> distances;
  for (uint32_t chosen = 0; chosen < 1U << all.size(); ++chosen) {
    if (static_cast<size_t>(std::popcount(chosen)) != a.size()) continue;
    Sample first;
    Sample second;
    for (size_t i = 0; i < all.size(); ++i) ((chosen >> i & 1) != 0 ? first : second).push_back(all[i]);
    distances.push_back(std::abs(PairsWon(first, second) - mean));
  }
  const double most = *std::max_element(distances.begin(), distances.end());
  Enumerated result;
  for (const double distance : distances) {
    result.p += distance >= observed ? 1 : 0;
    result.p_min += distance == most ? 1 : 0;
  }
  result.p /= static_cast<double>(distances.size());
  result.p_min /= static_cast<double>(distances.size());
  return result;
}

TEST(MannWhitney, EqualsTheEnumerationOfEveryWayToShareOutTheValues) {
  std::mt19937 random(20261121);
  for (size_t n = 1; n <= 6; ++n) {
    for (size_t m = 1; m <= 6; ++m) {
      for (const int values : {1, 2, 5, 1000}) {  // from all tied to hardly any
        Sample a(n);
        Sample b(m);
        std::uniform_int_distribution<int> any(1, values);
        for (double& x : a) x = any(random);
        for (double& x : b) x = any(random) + (values > 2 ? 1 : 0);
        const MannWhitney test = MannWhitneyTest(a, b);
        const Enumerated want = ByEnumeration(a, b);
        EXPECT_TRUE(test.exact);
        EXPECT_EQ(test.u, PairsWon(a, b)) << n << " and " << m << " of " << values;
        EXPECT_NEAR(test.p, want.p, 1e-12) << n << " and " << m << " of " << values;
        EXPECT_NEAR(test.p_min, want.p_min, 1e-12) << n << " and " << m << " of " << values;
        EXPECT_NEAR(MannWhitneyTest(b, a).p, test.p, 1e-12) << "the two sides are alike";
      }
    }
  }
}

// From the tables of critical values: with 5 and 5, U = 2 is the last that is significant at 5 %, two-sided.
TEST(MannWhitney, AgreesWithThePublishedTables) {
  EXPECT_NEAR(MannWhitneyTest(Sample{1, 2, 3, 4, 5}, Sample{6, 7, 8, 9, 10}).p, 2.0 / 252, 1e-12);
  EXPECT_LE(MannWhitneyTest(Sample{1, 2, 3, 4, 7}, Sample{5, 6, 8, 9, 10}).p, 0.05);
  EXPECT_GT(MannWhitneyTest(Sample{1, 2, 3, 4, 8}, Sample{5, 6, 7, 9, 10}).p, 0.05);
  EXPECT_NEAR(MannWhitneyTest(Sample{1, 2, 3}, Sample{4, 5, 6}).p_min, 0.1, 1e-12) << "3 windows never suffice";
}

TEST(MannWhitney, ApproximatesLargeSamplesCloseToTheExactResult) {
  std::mt19937 random(7);
  for (const double shift : {0.0, 0.3, 0.8}) {
    std::normal_distribution<double> any(0, 1);
    Sample a(25);
    Sample b(25);
    for (double& x : a) x = std::round(any(random) * 4);  // ties
    for (double& x : b) x = std::round((any(random) + shift) * 4);
    const MannWhitney exact = MannWhitneyTest(a, b);
    ASSERT_TRUE(exact.exact);
    // One more value in the middle of both changes little, and is one too many to count every way.
    a.push_back(0);
    b.push_back(0);
    const MannWhitney near = MannWhitneyTest(a, b);
    EXPECT_FALSE(near.exact);
    EXPECT_NEAR(near.p, exact.p, 0.06) << shift;
  }
}

TEST(MannWhitney, SaysNothingAboutNothing) {
  EXPECT_EQ(MannWhitneyTest({}, {}).p, 1);
  EXPECT_EQ(MannWhitneyTest(Sample{1}, {}).p, 1);
  EXPECT_EQ(MannWhitneyTest(Sample{1}, Sample{2}).p, 1);
  EXPECT_EQ(MannWhitneyTest(Sample(40, 3.0), Sample(40, 3.0)).p, 1);
}

}  // namespace
}  // namespace mezz
