// SPDX-License-Identifier: Apache-2.0
// The single-tier caches with blocks of their own sizes, and a capacity in bytes.
#include <gtest/gtest.h>

#include <random>

#include "../../support/seed.h"
#include "test_traces.h"
#include "workloads/sim/opt.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

constexpr const char* kOneTier[] = {"lru", "clock", "s3_fifo", "s3_fifo_lib", "w_tinylfu"};

LoadedTrace Load(std::vector<Request> requests) { return LoadAll(VectorSource(std::move(requests))); }

LoadedTrace Random(std::mt19937_64& random, uint64_t keys, uint32_t bytes_min, uint32_t bytes_max) {
  std::vector<Request> requests;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t key = random() % (1 + random() % keys);
    requests.push_back(
        {.key = key, .value_bytes = bytes_min + static_cast<uint32_t>(key * 7919 % (bytes_max - bytes_min + 1))});
  }
  return Load(std::move(requests));
}

TEST(SizedReferences, HitWhereThoseOfEqualBlocksDo) {
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = Random(random, 3000, 512, 512);
  // Of these a tenth and a hundredth are whole blocks.
  for (const uint64_t capacity : {100u, 500u, 1000u, 2000u}) {
    for (const char* policy : kOneTier) {
      for (const uint64_t warmup : {0u, 5000u}) {
        EXPECT_EQ(CountSizedReferenceMisses(policy, trace, capacity * 512, warmup, {}),
                  CountReferenceMisses(policy, trace, capacity, warmup, {}))
            << policy << " of " << capacity;
      }
    }
  }
}

TEST(SizedReferences, MissNoLessThanTheBound) {
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = Random(random, 3000, 100, 40'000);
  const std::vector<uint32_t> next = NextUses(trace.accesses(), trace.unique());
  uint64_t last = UINT64_MAX;
  for (const uint64_t capacity : {50'000u, 1'000'000u, 10'000'000u, 30'000'000u}) {
    const uint64_t bound = CountSizedReferenceMisses("opt", trace, capacity, 0, next);
    EXPECT_LE(bound, last);
    last = bound;
    for (const char* policy : kOneTier)
      EXPECT_LE(bound, CountSizedReferenceMisses(policy, trace, capacity, 0, next)) << policy;
  }
  EXPECT_EQ(CountSizedReferenceMisses("opt", trace, trace.footprint_bytes(), 0, next), trace.unique())
      << "room for all: the first accesses alone";
  // Of equal blocks it is no more than Belady's optimum.
  const LoadedTrace equal = Random(random, 3000, 512, 512);
  const std::vector<uint32_t> uses = NextUses(equal.accesses(), equal.unique());
  EXPECT_LE(CountSizedReferenceMisses("opt", equal, 500 * 512, 0, uses),
            CountReferenceMisses("opt", equal, 500, 0, uses));
}

// Blocks of 1 and of 6 bytes. A cache of 6 that counts blocks of the mean size would keep one of them.
TEST(SizedReferences, CountBytes) {
  const LoadedTrace trace = Load({{.key = 1, .value_bytes = 1},
                                  {.key = 2, .value_bytes = 1},
                                  {.key = 1, .value_bytes = 1},
                                  {.key = 2, .value_bytes = 1},
                                  {.key = 3, .value_bytes = 6},
                                  {.key = 1, .value_bytes = 1},
                                  {.key = 4, .value_bytes = 9}});
  EXPECT_EQ(CountSizedReferenceMisses("lru", trace, 6, 0, {}), 5u) << "1, 2, 3, 1 again and 4, which never fits";
  EXPECT_EQ(CountSizedReferenceMisses("lru", trace, 8, 0, {}), 4u);
  EXPECT_EQ(CountSizedReferenceMisses("opt", trace, 6, 0, NextUses(trace.accesses(), trace.unique())), 4u);
}

TEST(S3FifoReference, FillsTheMainQueueBeforeTheFirstEviction) {
  std::vector<Request> requests;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t key = 0; key < 100; ++key) requests.push_back({.key = key});
    requests.push_back({.key = 1000});  // the cache holds 100: one must go
  }
  const LoadedTrace trace = Load(std::move(requests));
  const uint64_t paper = CountReferenceMisses("s3_fifo", trace, 100, 0, {});
  const uint64_t lib = CountReferenceMisses("s3_fifo_lib", trace, 100, 0, {});
  EXPECT_GT(paper, 101u);
  EXPECT_LE(lib, paper);
}

}  // namespace
}  // namespace mezz::sim
