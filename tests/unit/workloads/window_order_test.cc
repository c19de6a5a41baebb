// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/window_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tests/support/seed.h"

namespace mezz {
namespace {

using Pairs = std::map<std::pair<size_t, size_t>, unsigned>;

// How often each cache ran right after each other one; pairs that never did are there with 0.
Pairs Following(const WindowOrder& order, size_t caches, size_t rounds) {
  Pairs pairs;
  for (size_t a = 0; a < caches; ++a) {
    for (size_t b = 0; b < caches; ++b) {
      if (a != b) pairs[{a, b}] = 0;
    }
  }
  for (size_t round = 0; round < rounds; ++round) {
    const std::vector<size_t> row = order.Round(round);
    for (size_t i = 1; i < row.size(); ++i) ++pairs.at({row[i - 1], row[i]});
  }
  return pairs;
}

unsigned MostMinusLeast(const Pairs& pairs) {
  unsigned least = ~0u, most = 0;
  for (const auto& [pair, times] : pairs) {
    least = std::min(least, times);
    most = std::max(most, times);
  }
  return most - least;
}

class AnyNumberOfCaches : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(, AnyNumberOfCaches, ::testing::Range<size_t>(1, 20));

TEST_P(AnyNumberOfCaches, EachRoundHasEachCacheOnce) {
  const size_t n = GetParam();
  const WindowOrder order(n, test::Seed());
  for (size_t round = 0; round < 3 * order.period(); ++round) {
    const std::vector<size_t> row = order.Round(round);
    EXPECT_EQ(row.size(), n);
    EXPECT_EQ(std::set<size_t>(row.begin(), row.end()).size(), n);
    EXPECT_LT(std::ranges::max(row), n);
  }
}

TEST_P(AnyNumberOfCaches, EachFollowsEachOtherAndHasEachPlaceEquallyOften) {
  const size_t n = GetParam();
  const WindowOrder order(n, test::Seed());
  EXPECT_EQ(order.period(), n % 2 == 1 && n > 1 ? 2 * n : n);
  for (const auto& [pair, times] : Following(order, n, order.period())) {
    EXPECT_EQ(times, n % 2 == 0 ? 1u : 2u) << pair.second << " after " << pair.first;
  }
  std::map<std::pair<size_t, size_t>, size_t> places;
  for (size_t round = 0; round < order.period(); ++round) {
    const std::vector<size_t> row = order.Round(round);
    for (size_t place = 0; place < n; ++place) ++places[{row[place], place}];
  }
  EXPECT_EQ(places.size(), n * n);
  for (const auto& [place, times] : places) EXPECT_EQ(times, order.period() / n);
}

TEST_P(AnyNumberOfCaches, FewRoundsAreNearlyEven) {
  const size_t n = GetParam();
  const WindowOrder order(n, test::Seed());
  for (size_t rounds = 1; rounds <= 3 * order.period(); ++rounds) {
    EXPECT_LE(MostMinusLeast(Following(order, n, rounds)), n % 2 == 0 ? 1u : 2u) << rounds << " rounds";
  }
  EXPECT_LE(MostMinusLeast(Following(order, n, 2)), 1u) << "a row and another that repeats none of its pairs";
}

TEST(WindowOrder, IsShuffledByTheSeed) {
  EXPECT_EQ(WindowOrder(8, 1).Round(3), WindowOrder(8, 1).Round(3));
  std::set<std::vector<size_t>> first_rounds;
  for (uint64_t seed = 0; seed < 50; ++seed) first_rounds.insert(WindowOrder(8, seed).Round(0));
  EXPECT_GT(first_rounds.size(), 45u);
  EXPECT_NE(WindowOrder(8, 1).Round(0), WindowOrder(8, 1).Round(8)) << "another square";
}

}  // namespace
}  // namespace mezz
