// SPDX-License-Identifier: Apache-2.0
// Threads that put, find and erase on a fast medium and a slow one, between which reclaim moves their blocks.
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "tests/support/seed.h"
#include "tests/support/several_media.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;

using OrderedMediaStress = test::SeveralMediaTest;

TEST_F(OrderedMediaStress, ThreadsSeeNoStaleBytes) {
  options_.members[1].level = Level::kSlow;
  Open();
  constexpr uint64_t kKeys = 2500;
  constexpr int kThreads = 3, kSteps = 12'000;
  // Each thread has keys of its own, and knows their versions.
  const auto run = [&](uint64_t thread) {
    std::mt19937_64 random(test::Seed() + thread);
    std::vector<uint64_t> version(kKeys, 0);
    std::vector<bool> erased(kKeys, true);
    for (int step = 0; step < kSteps; ++step) {
      const uint64_t n = random() % kKeys, key = thread * kKeys + n;
      const PinnedBlock block = tier_->Find(Key(1 + key));
      if (block) {
        const auto bytes = block.SteadyBytes();
        ASSERT_TRUE(bytes && !erased[n] && test::Same(*bytes, test::Payload(key, version[n], kBlock))) << key;
      }
      if (random() % 8 == 0) tier_->NoteDramEviction(Key(1 + key));
      if (random() % 4 == 0) {
        ASSERT_EQ(Put(key, ++version[n]), PutResult::kStored);
        erased[n] = false;
      } else if (random() % 16 == 0) {
        tier_->Erase(Key(1 + key));
        erased[n] = true;
      } else if (!block && !erased[n]) {
        ASSERT_EQ(Put(key, version[n]), PutResult::kStored);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(run, thread);
  threads.clear();
  EXPECT_GT(tier_->counters().Snapshot()[Event::kScmDemoted], 100u);
  test::ExpectSound(*tier_);
}

}  // namespace
}  // namespace mezz
