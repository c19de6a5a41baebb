// SPDX-License-Identifier: Apache-2.0
// The sketch against counters that never collide.
#include "admission/frequency_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/in_threads.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

// One saturating counter a key, halved as the sketch halves.
class Exact {
 public:
  explicit Exact(size_t keys) : counts_(keys) {}
  void Increment(size_t key) { counts_[key] = std::min(counts_[key] + 1, FrequencySketch::kMax); }
  void Age() {
    for (unsigned& count : counts_) count /= 2;
  }
  unsigned of(size_t key) const { return counts_[key]; }

 private:
  std::vector<unsigned> counts_;
};

std::vector<uint64_t> Hashes(std::mt19937_64& random, size_t keys) {
  std::vector<uint64_t> hashes(keys);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

class FrequencySketchModel : public testing::TestWithParam<size_t> {};

TEST_P(FrequencySketchModel, IsNeverBelowTheTrueCountAndAgeingHalves) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  const size_t keys = GetParam();
  FrequencySketch sketch(keys, seed);
  Exact exact(keys);
  const std::vector<uint64_t> hashes = Hashes(random, keys);
  for (int round = 0; round < 6; ++round) {
    for (size_t i = 0; i < 4 * keys; ++i) {
      const size_t key = std::min(random() % keys, random() % keys);  // some more often than others
      const unsigned before = sketch.Estimate(hashes[key]);
      const unsigned counted = sketch.Increment(hashes[key]);
      exact.Increment(key);
      ASSERT_EQ(counted, std::min(before + 1, FrequencySketch::kMax));
      ASSERT_EQ(sketch.Estimate(hashes[key]), counted);
      ASSERT_GE(counted, exact.of(key));
    }
    std::vector<unsigned> before(keys);
    for (size_t key = 0; key < keys; ++key) {
      before[key] = sketch.Estimate(hashes[key]);
      ASSERT_GE(before[key], exact.of(key)) << "after accesses to others";
    }
    for (size_t line = 0; line < sketch.lines(); ++line) sketch.AgeNextLine();
    exact.Age();
    for (size_t key = 0; key < keys; ++key) ASSERT_EQ(sketch.Estimate(hashes[key]), before[key] / 2);
  }
}
INSTANTIATE_TEST_SUITE_P(Keys, FrequencySketchModel, testing::Values(1, 31, 33, 1000, 20'000));

// At the load it is made for, a key's counters are its own often enough to order keys by.
TEST(FrequencySketch, ErrsLittleAtOneKeyPerCountedKey) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  constexpr size_t kKeys = 50'000;
  FrequencySketch sketch(kKeys, seed);
  const std::vector<uint64_t> hashes = Hashes(random, kKeys);
  for (const uint64_t hash : hashes) sketch.Increment(hash);
  size_t over = 0, far_over = 0;
  for (const uint64_t hash : hashes) {
    over += sketch.Estimate(hash) > 1;
    far_over += sketch.Estimate(hash) > 2;
  }
  RecordProperty("over_by_one_or_more_of_50000", std::to_string(over));
  RecordProperty("over_by_two_or_more_of_50000", std::to_string(far_over));
  EXPECT_LE(over, kKeys * 7 / 100);
  EXPECT_LE(far_over, kKeys / 1000);
  size_t absent_over = 0;
  for (size_t i = 0; i < kKeys; ++i) absent_over += sketch.Estimate(random()) > 1;
  RecordProperty("absent_above_one_of_50000", std::to_string(absent_over));
  EXPECT_LE(absent_over, kKeys / 1000) << "keys that were never asked for";
}

// As many accesses as the policy makes between two halvings, a few keys taking most of them.
TEST(FrequencySketch, OrdersKeysOfASkewedStream) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  constexpr size_t kKeys = 50'000;
  FrequencySketch sketch(kKeys, seed);
  Exact exact(kKeys);
  const std::vector<uint64_t> hashes = Hashes(random, kKeys);
  for (size_t i = 0; i < 10 * kKeys; ++i) {
    const double drawn = static_cast<double>(random() >> 11) * 0x1p-53;
    const auto key = static_cast<size_t>(kKeys * drawn * drawn * drawn);
    sketch.Increment(hashes[key]);
    exact.Increment(key);
  }
  size_t over = 0, cold = 0, cold_as_hot = 0;
  for (size_t key = 0; key < kKeys; ++key) {
    over += sketch.Estimate(hashes[key]) - exact.of(key);
    if (exact.of(key) > 4) continue;
    ++cold;
    cold_as_hot += sketch.Estimate(hashes[key]) > 8;
  }
  RecordProperty("over_per_1000", std::to_string(over * 1000 / kKeys));
  RecordProperty("cold_as_hot_per_1000", std::to_string(cold_as_hot * 1000 / cold));
  EXPECT_LE(over, kKeys / 2);
  EXPECT_LE(cold_as_hot, cold / 50);
}

// All counters of a key lie in one line, so one step of ageing, and only one, halves it.
TEST(FrequencySketch, AKeyLivesInOneLine) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  FrequencySketch sketch(1000, seed);
  ASSERT_EQ(sketch.dram_bytes() - sizeof(sketch), sketch.lines() * 64);
  for (int round = 0; round < 200; ++round) {
    const uint64_t hash = random();
    while (sketch.Increment(hash) < FrequencySketch::kMax) {
    }
    int changes = 0;
    for (size_t line = 0; line < sketch.lines(); ++line) {
      const unsigned before = sketch.Estimate(hash);
      sketch.AgeNextLine();
      changes += sketch.Estimate(hash) != before;
    }
    ASSERT_EQ(changes, 1);
    ASSERT_EQ(sketch.Estimate(hash), FrequencySketch::kMax / 2);
  }
}

TEST(FrequencySketch, TakesTwoBytesAKey) {
  const FrequencySketch sketch(1'000'000, 0);
  EXPECT_LE(sketch.dram_bytes(), 2'000'256u);
  const FrequencySketch smallest(0, 0);
  EXPECT_EQ(smallest.lines(), 1u);
}

// Counts may be lost to a race, but a full counter must never run over into its neighbour.
TEST(FrequencySketch, StaysWithinItsCountersUnderThreads) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  FrequencySketch sketch(1, seed);  // one line
  const uint64_t hot = random();
  test::InThreads(4, [&](int t) {
    for (int i = 0; i < 50'000; ++i) {
      sketch.Increment(hot);
      if (t == 0 && i % 7 == 0) sketch.AgeNextLine();
    }
  });
  while (sketch.Increment(hot) < FrequencySketch::kMax) {
  }
  // Another key shares one counter of four in eight cases, all four in one of a million.
  size_t touched = 0;
  for (int i = 0; i < 10'000; ++i) touched += sketch.Estimate(random()) != 0;
  EXPECT_LE(touched, 2u);
}

TEST(FrequencySketch, KeepsEveryEstimateWhereItIsDoubled) {
  FrequencySketch sketch(1000, 1, /*doublings_max=*/2);
  std::mt19937_64 random(test::Seed());
  std::vector<uint64_t> keys(500);
  for (uint64_t& key : keys) key = random();
  for (int i = 0; i < 3000; ++i) sketch.Increment(keys[random() % keys.size()]);
  std::vector<unsigned> before;
  for (const uint64_t key : keys) before.push_back(sketch.Estimate(key));
  const size_t bytes = sketch.dram_bytes() - sizeof(sketch);
  EXPECT_TRUE(sketch.Double());
  EXPECT_TRUE(sketch.Double());
  EXPECT_FALSE(sketch.Double());
  EXPECT_EQ(sketch.dram_bytes() - sizeof(sketch), 4 * bytes);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(sketch.Estimate(keys[i]), before[i]);
}

}  // namespace
}  // namespace mezz
