// SPDX-License-Identifier: Apache-2.0
// Threads that put, find and erase on a fast medium and a slow one, between which reclaim moves their blocks.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/several_media.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using OrderedMediaStress = test::SeveralMediaTest;

TEST_F(OrderedMediaStress, ThreadsSeeNoStaleBytes) {
  options_.members[1].level = Level::kSlow;
  Open();
  constexpr uint64_t kKeys = 2500;
  constexpr int kThreads = 3, kSteps = 12'000;
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] { UseOwnKeys(thread, kKeys, kSteps, /*may_refuse=*/false); });
  }
  threads.clear();
  EXPECT_GT(tier_->counters().Snapshot()[Event::kScmDemoted], 100u);
  test::ExpectSound(*tier_);
}

}  // namespace
}  // namespace mezz
