// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/random.h"
#include "tests/support/seed.h"
#include "workloads/plan/distinct_count.h"

namespace mezz::plan {
namespace {

using test::Random;

void Feed(const std::vector<uint64_t>& keys, Sampler* sampler) {
  for (const uint64_t key : keys) {
    if (sampler->Keeps(key)) sampler->Add(key, BlockRole::kData, static_cast<uint32_t>(100 + key % 7));
  }
}

// Whatever came and went: at the end the sample is the requests for the keys that it keeps, from the first one on.
TEST(Sampler, HoldsAllRequestsOfTheKeysItKeeps) {
  Random random(test::Seed());
  for (int round = 0; round < 60; ++round) {
    const uint64_t keys = 1 + random.Below(3000);
    const auto blocks_max = static_cast<uint32_t>(1 + random.Below(200));
    std::vector<uint64_t> trace(random.Below(20'000));
    for (uint64_t& key : trace) key = random.Below(keys);
    Sampler sampler({.blocks_max = blocks_max, .seed = random.Next()});
    Feed(trace, &sampler);

    std::set<uint64_t> distinct(trace.begin(), trace.end());
    std::vector<uint64_t> kept;
    std::ranges::copy_if(trace, std::back_inserter(kept), [&](uint64_t key) { return sampler.Keeps(key); });
    std::erase_if(distinct, [&](uint64_t key) { return !sampler.Keeps(key); });
    ASSERT_EQ(sampler.blocks(), distinct.size());
    ASSERT_EQ(sampler.requests(), kept.size());
    if (keys > 10 * blocks_max && trace.size() > 5 * keys) {
      ASSERT_EQ(sampler.blocks(), blocks_max);
    }

    ASSERT_TRUE(sampler.has_log());
    const BlockTrace taken = sampler.Take("t");
    std::vector<uint64_t> logged;
    for (const BlockId block : taken.accesses()) logged.push_back(taken.key(block));
    ASSERT_EQ(logged, kept);
    for (BlockId block = 0; block < taken.unique(); ++block) ASSERT_EQ(taken.bytes(block), 100 + taken.key(block) % 7);
  }
}

TEST(Sampler, KeepsTheBlocksOfALogThatGotTooLong) {
  Random random(test::Seed());
  std::vector<uint64_t> trace(50'000);
  for (uint64_t& key : trace) key = random.Below(500);
  Sampler whole({.blocks_max = 100});
  Sampler cut({.blocks_max = 100, .log_max = 1000});
  Feed(trace, &whole);
  Feed(trace, &cut);
  EXPECT_TRUE(whole.has_log());
  EXPECT_FALSE(cut.has_log());
  EXPECT_EQ(cut.requests(), whole.requests());
  EXPECT_LT(cut.memory_bytes(), 100'000u);
  EXPECT_EQ(cut.Take("t").keys(), whole.Take("t").keys());
}

TEST(Sampler, MemoryDoesNotGrowWithTheTrace) {
  Sampler sampler({.blocks_max = 256, .log_max = 4096});
  for (uint64_t key = 0; key < 1'000'000; ++key) {
    if (sampler.Keeps(key)) sampler.Add(key, BlockRole::kData, 0);
  }
  EXPECT_LT(sampler.memory_bytes(), 300'000u);
  EXPECT_NEAR(sampler.rate() * 1e6, 256, 256 * 0.4);  // six standard deviations
}

TEST(DistinctCount, IsWithinItsError) {
  for (const uint64_t keys : {0u, 1000u, 200'000u, 600'000u, 700'000u, 2'000'000u}) {
    DistinctCount count;
    for (uint64_t key = 0; key < keys; ++key) {
      count.Add(key);
      count.Add(key / 2);
    }
    EXPECT_NEAR(count.Estimate(), static_cast<double>(keys), 0.008 * static_cast<double>(keys)) << keys;
  }
}

}  // namespace
}  // namespace mezz::plan
