// SPDX-License-Identifier: Apache-2.0
// The threads that replay one window after another.
#include "workloads/replay/engine/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>

namespace mezz {
namespace {

constexpr std::chrono::hours kLong{1};

TEST(ThreadTeam, GivesEachNumberTheSameThreadInEveryRound) {
  constexpr unsigned kThreads = 5;
  ThreadTeam team(kThreads);
  std::vector<std::thread::id> first(kThreads), now(kThreads);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> calls(kThreads);
    team.Start([&](unsigned i) {
      ++calls[i];
      now[i] = std::this_thread::get_id();
    });
    ASSERT_TRUE(team.WaitFor(kLong));
    EXPECT_EQ(calls, std::vector<int>(kThreads, 1));
    if (round == 0) first = now;
    EXPECT_EQ(now, first);
  }
}

TEST(ThreadTeam, SaysWhileOneStillWorks) {
  ThreadTeam team(3);
  std::atomic<bool> go{false};
  team.Start([&](unsigned i) {
    if (i == 1) go.wait(false, std::memory_order_acquire);
  });
  EXPECT_FALSE(team.WaitFor(std::chrono::nanoseconds(1)));
  EXPECT_FALSE(team.WaitFor(std::chrono::nanoseconds(0)));
  go.store(true, std::memory_order_release);
  go.notify_all();
  EXPECT_TRUE(team.WaitFor(kLong));
  EXPECT_TRUE(team.WaitFor(std::chrono::nanoseconds(0)));
}

TEST(ThreadTeam, LeavesWithoutWork) { ThreadTeam team(4); }

}  // namespace
}  // namespace mezz
