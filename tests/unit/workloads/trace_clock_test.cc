// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/trace_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../sim/test_traces.h"

namespace mezz {
namespace {

uint64_t TickOf(const std::vector<uint64_t>& times) {
  TraceClock clock;
  for (const uint64_t time : times) clock.Add(time);
  return clock.tick_us();
}

TEST(TraceClock, GoesByTheStepThatAllTimesAreApart) {
  EXPECT_EQ(TickOf({}), 0u);
  EXPECT_EQ(TickOf({5, 5, 5}), 0u);
  EXPECT_EQ(TickOf({3'000'000, 3'000'000, 5'000'000, 8'000'000}), 1'000'000u);
  EXPECT_EQ(TickOf({8'500'000, 3'000'000}), 5'500'000u) << "back, too";
  EXPECT_EQ(TickOf({0, 4000, 6000, 6001}), 1u);
}

// Against a trace whose clock is exact: told by the tick only, each request comes back to within its tick, evenly, in
// its order; nothing else of it changes.
TEST(SpreadTimes, SpreadsThoseOfATickOverItAndChangesNothingElse) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 50; ++round) {
    const uint64_t tick = 1 + random() % (round % 2 == 0 ? 1'000'000 : 5);
    std::vector<uint64_t> times;
    std::vector<Request> requests;
    uint64_t now = random() % 1'000'000;
    for (int i = 0; i < 500; ++i) {
      now += random() % 4 == 0 ? tick * (random() % 3) : 0;
      times.push_back(now);
      requests.push_back({.key = random(), .value_bytes = static_cast<uint32_t>(random()), .time_us = now});
    }
    const uint64_t step = TickOf(times);
    const std::vector<uint64_t> spread = SpreadTimes(times);
    const auto source = SpreadTimes(std::make_unique<sim::VectorSource>(requests), step);
    for (const size_t passed : {random() % requests.size(), requests.size(), requests.size()}) {
      Request request;
      for (size_t i = 0; i < passed; ++i) {
        ASSERT_TRUE(source->Next(&request));
        ASSERT_EQ(request.key, requests[i].key);
        ASSERT_EQ(request.value_bytes, requests[i].value_bytes);
        ASSERT_EQ(request.time_us, spread[i]);
      }
      if (passed == requests.size()) {
        ASSERT_FALSE(source->Next(&request));
      }
      ASSERT_TRUE(source->status().ok());
      ASSERT_TRUE(source->Rewind().ok());
    }
    for (size_t first = 0, end = 0; first < times.size(); first = end) {
      while (end < times.size() && times[end] == times[first]) ++end;
      ASSERT_EQ(spread[first], times[first]);
      ASSERT_LE(spread[end - 1] - times[first], step - std::min<uint64_t>(step, 1));
      for (size_t i = first; i < end; ++i) {
        const double even =
            static_cast<double>(step) * static_cast<double>(i - first) / static_cast<double>(end - first);
        ASSERT_NEAR(static_cast<double>(spread[i] - times[first]), even, 1);
      }
    }
  }
}

}  // namespace
}  // namespace mezz
