// SPDX-License-Identifier: Apache-2.0
#include "cache/counters.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/seed.h"

namespace mezz {
namespace {

TEST(Counters, StartAtZero) {
  const Counters counters;
  const CounterSnapshot snapshot = counters.Snapshot();
  for (size_t event = 0; event < kEvents; ++event) EXPECT_EQ(snapshot[static_cast<Event>(event)], 0u);
}

TEST(Counters, LoseNothingUnderManyThreads) {
  constexpr int kThreads = 24;  // more than there are stripes
  constexpr int kAdds = 20'000;
  Counters counters;
  CounterSnapshot expected;
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<CounterSnapshot> mine(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(seed + static_cast<uint64_t>(t));
        for (int i = 0; i < kAdds; ++i) {
          const auto event = random() % kEvents;
          const auto role = random() % kBlockRoles;
          const auto count = random() % 5;
          counters.Add(static_cast<Event>(event), static_cast<BlockRole>(role), count);
          mine[static_cast<size_t>(t)].by_role[event][role] += count;
        }
      });
    }
  }
  for (const CounterSnapshot& one : mine) {
    for (size_t event = 0; event < kEvents; ++event) {
      for (size_t role = 0; role < kBlockRoles; ++role) expected.by_role[event][role] += one.by_role[event][role];
    }
  }
  EXPECT_EQ(counters.Snapshot().by_role, expected.by_role);
}

TEST(CounterSnapshot, SumsRolesAndSubtracts) {
  Counters counters;
  counters.Add(Event::kScmHit, BlockRole::kData, 3);
  const CounterSnapshot before = counters.Snapshot();
  counters.Add(Event::kScmHit, BlockRole::kFilter);
  counters.Add(Event::kAllocationFailed, BlockRole::kOther, 7);  // the last event and role
  const CounterSnapshot after = counters.Snapshot();
  EXPECT_EQ(after[Event::kScmHit], 4u);
  EXPECT_EQ(after.of(Event::kScmHit, BlockRole::kFilter), 1u);
  EXPECT_EQ((after - before)[Event::kScmHit], 1u);
  EXPECT_EQ((after - before)[Event::kAllocationFailed], 7u);
  EXPECT_EQ((after - before)[Event::kScmMiss], 0u);
}

TEST(Event, EachHasATextOfItsOwn) {
  std::set<std::string_view> texts;
  for (size_t event = 0; event < kEvents; ++event) texts.insert(ToString(static_cast<Event>(event)));
  EXPECT_EQ(texts.size(), kEvents);
  EXPECT_EQ(ToString(Event::kScmHit), "scm.hit");
  EXPECT_EQ(ToString(Event::kAllocationFailed), "allocation.failed");
}

TEST(BlockRole, EachHasATextOfItsOwn) {
  std::set<std::string_view> texts;
  for (size_t role = 0; role < kBlockRoles; ++role) texts.insert(ToString(static_cast<BlockRole>(role)));
  EXPECT_EQ(texts.size(), kBlockRoles);
}

}  // namespace
}  // namespace mezz
