// SPDX-License-Identifier: Apache-2.0
#include "admission/lineage.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

#include "tests/support/seed.h"

namespace mezz {
namespace {

constexpr Parent kColdParent{.standing = Standing::kScmCold, .frequency = 3, .entries = 4};
constexpr Parent kHotParent{.standing = Standing::kScmHot, .frequency = 9, .entries = 4};

uint64_t Mixed(uint64_t number) {
  number *= 0x9e3779b97f4a7c15ull;
  number ^= number >> 32;
  number *= 0xd6e8feb86659fd93ull;
  return number ^ number >> 32;
}

TEST(ParentTable, FindsWhatWasNoted) {
  ParentTable table;
  EXPECT_FALSE(table.Find(Mixed(1)));
  table.Note(Mixed(1), kHotParent);
  table.Note(Mixed(2), {.standing = Standing::kDram, .frequency = 15, .entries = 65535});
  const auto one = table.Find(Mixed(1)), two = table.Find(Mixed(2));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->standing, Standing::kScmHot);
  EXPECT_EQ(one->frequency, 9);
  EXPECT_EQ(one->entries, 4);
  EXPECT_EQ(two->standing, Standing::kDram);
  EXPECT_EQ(two->frequency, 15);
  EXPECT_EQ(two->entries, 255) << "more are not told apart";
}

TEST(ParentTable, KeepsTheBetterOfTwoVersionsOfAKey) {
  for (const bool better_first : {true, false}) {
    ParentTable table;
    table.Note(Mixed(1), better_first ? kHotParent : kColdParent);
    table.Note(Mixed(1), better_first ? kColdParent : kHotParent);
    EXPECT_EQ(table.Find(Mixed(1))->standing, Standing::kScmHot);
  }
}

TEST(ParentTable, ForgetsTheOldestOfASetFirst) {
  ParentTable table;
  const auto in_set = [](uint64_t number) { return number << 20; };  // all of one set
  for (uint64_t number = 1; number <= 9; ++number) table.Note(in_set(number), kHotParent);
  EXPECT_FALSE(table.Find(in_set(1)));
  for (uint64_t number = 2; number <= 9; ++number) EXPECT_TRUE(table.Find(in_set(number))) << number;
  table.Note(in_set(2), kHotParent);  // the youngest now
  table.Note(in_set(10), kHotParent);
  EXPECT_TRUE(table.Find(in_set(2)));
  EXPECT_FALSE(table.Find(in_set(3)));
}

TEST(ParentTable, ForgetsAllThatIsCleared) {
  ParentTable table;
  for (uint64_t number = 1; number < 100; ++number) table.Note(Mixed(number), kHotParent);
  table.Clear();
  for (uint64_t number = 1; number < 100; ++number) EXPECT_FALSE(table.Find(Mixed(number)));
}

// Against a plain map: what is found was noted, with the best standing that it was noted with while it stayed; the last
// thousand keys are always found.
TEST(ParentTable, AgreesWithAMap) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  ParentTable table;
  std::unordered_map<uint64_t, Standing> best;
  std::vector<uint64_t> order;
  for (int step = 0; step < 50'000; ++step) {
    const uint64_t hash = Mixed(random() % 20'000);
    const auto standing = static_cast<Standing>(1 + random() % 3);
    table.Note(hash, {.standing = standing, .frequency = static_cast<uint8_t>(random() % 16), .entries = 7});
    Standing& known = best.try_emplace(hash, standing).first->second;
    known = std::max(known, standing);
    order.push_back(hash);
    if (step % 1000 != 999) continue;
    for (size_t i = order.size() - 1000; i < order.size(); ++i) {
      const auto found = table.Find(order[i]);
      ASSERT_TRUE(found) << "seed " << seed << " step " << step;
      ASSERT_LE(found->standing, best[order[i]]) << "seed " << seed;
    }
  }
  EXPECT_FALSE(table.Find(Mixed(20'001)));
}

TEST(Lineage, TellsWhichShareOfItsKeysStoodWhere) {
  Lineage::Sum sum;
  sum.Add({});
  sum.Add(kColdParent);
  sum.Add(kHotParent);
  sum.Add(kHotParent);
  const Lineage lineage = sum.Result();
  EXPECT_EQ(lineage.kind, Lineage::Kind::kHeir);
  EXPECT_EQ(lineage.best, Standing::kScmHot);
  EXPECT_EQ(lineage.percent, (std::array<uint8_t, kStandings>{25, 25, 50, 0}));
}

// Four keys of a parent asked for nine times: two of them bring half.
TEST(Lineage, InheritsFrequencyByTheShareOfKeys) {
  Lineage::Sum half, whole;
  for (int key = 0; key < 2; ++key) half.Add(kHotParent);
  for (int key = 0; key < 4; ++key) whole.Add(kHotParent);
  EXPECT_EQ(half.Result().frequency, 5);
  EXPECT_EQ(whole.Result().frequency, 9);
  for (int key = 0; key < 60; ++key) whole.Add(kHotParent);
  EXPECT_EQ(whole.Result().frequency, 15) << "no more than a policy counts";
}

TEST(Lineage, OfNoKeysIsOfNothing) {
  EXPECT_EQ(Lineage::Sum().Result().best, Standing::kNowhere);
  EXPECT_EQ(Lineage().kind, Lineage::Kind::kUnknown);
}

}  // namespace
}  // namespace mezz
