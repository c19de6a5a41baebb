// SPDX-License-Identifier: Apache-2.0
#include "admission/write_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/in_threads.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

constexpr double kNsPerSecond = 1e9;

struct Grant {
  uint64_t at_ns;
  uint64_t bytes;
};

// The most bytes by which any window's grants pass what the rate, the burst and the one larger block allow.
double WorstExcess(const std::vector<Grant>& grants, double rate) {
  double worst = -1e300;
  for (size_t first = 0; first < grants.size(); ++first) {
    uint64_t bytes = 0, largest = 0;
    for (size_t last = first; last < grants.size(); ++last) {
      bytes += grants[last].bytes;
      largest = std::max(largest, grants[last].bytes);
      const auto span_ns = static_cast<double>(grants[last].at_ns - grants[first].at_ns);
      const double burst = rate * static_cast<double>(WriteBudget::kBurstNs) / kNsPerSecond;
      const double allowed = rate * span_ns / kNsPerSecond + std::max(burst, static_cast<double>(largest));
      worst = std::max(worst, static_cast<double>(bytes) - allowed);
    }
  }
  return worst;
}

class WriteBudgetWindows : public testing::TestWithParam<uint64_t> {};

TEST_P(WriteBudgetWindows, NoneHoldsMoreThanTheRateAndTheBurst) {
  const uint64_t rate = GetParam();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 10; ++round) {
    uint64_t now = random() % 2 == 0 ? 0 : random() >> 2;
    WriteBudget budget(rate, [&now] { return now; });
    std::vector<Grant> grants;
    const uint64_t bytes_max = 1 + random() % 200'000;
    // Mean time between requests: from a tenth of what the rate asks for to ten times it, with pauses.
    const double spacing = static_cast<double>(bytes_max) / static_cast<double>(rate) * kNsPerSecond *
                           (0.1 + static_cast<double>(random() % 100) / 10);
    for (int i = 0; i < 1500; ++i) {
      const uint64_t pause = random() % 50 == 0 ? 20 : 1;
      now += static_cast<uint64_t>(spacing * static_cast<double>(random() % 1000) / 1000) * pause;
      const uint64_t bytes = 1 + random() % bytes_max;
      if (budget.Take(bytes)) grants.push_back({now, bytes});
    }
    ASSERT_FALSE(grants.empty());
    ASSERT_LE(WorstExcess(grants, static_cast<double>(rate)), 1.0) << "round " << round;
  }
}
INSTANTIATE_TEST_SUITE_P(BytesPerSecond, WriteBudgetWindows,
                         testing::Values(1, 1000, 1'000'000, 100'000'000, 20'000'000'000));

TEST(WriteBudget, GrantsTheRateToWhoeverKeepsAsking) {
  std::mt19937_64 random(test::Seed());
  constexpr uint64_t kRate = 10'000'000;
  uint64_t now = 1;
  WriteBudget budget(kRate, [&now] { return now; });
  uint64_t granted = 0;
  for (int i = 0; i < 200'000; ++i) {
    now += random() % 100'000;
    const uint64_t bytes = 1 + random() % 8192;
    if (budget.Take(bytes)) granted += bytes;
  }
  EXPECT_GE(static_cast<double>(granted), 0.97 * kRate * static_cast<double>(now) / kNsPerSecond);
}

TEST(WriteBudget, ARefusalTakesNothing) {
  uint64_t now = 0;
  WriteBudget budget(1'000'000, [&now] { return now; });
  ASSERT_TRUE(budget.Take(100'000));  // the burst
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(budget.Take(1));
  now += 50'000'100;
  EXPECT_TRUE(budget.Take(50'000));
  EXPECT_FALSE(budget.Take(1000));
}

TEST(WriteBudget, ABlockLargerThanTheBurstWaitsUntilNothingIsOwed) {
  uint64_t now = 0;
  WriteBudget budget(1, [&now] { return now; });
  ASSERT_TRUE(budget.Take(10));
  now += 9'000'000'000;
  EXPECT_FALSE(budget.Take(10));
  now += 1'000'000'100;
  EXPECT_TRUE(budget.Take(10));
}

TEST(WriteBudget, ZeroIsNoLimitAndAsksNoClock) {
  WriteBudget budget(0, []() -> uint64_t {
    ADD_FAILURE();
    return 0;
  });
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(budget.Take(UINT32_MAX));
}

TEST(WriteBudget, HoldsForManyThreadsTogether) {
  constexpr uint64_t kRate = 50'000'000;
  constexpr uint64_t kBytes = 4096;
  std::atomic<uint64_t> now{0}, granted{0};
  WriteBudget budget(kRate, [&now] { return now.load(std::memory_order_relaxed); });
  test::InThreads(4, [&](int) {
    for (int i = 0; i < 50'000; ++i) {
      now.fetch_add(1000, std::memory_order_relaxed);
      if (budget.Take(kBytes)) granted.fetch_add(kBytes, std::memory_order_relaxed);
    }
  });
  const double allowed =
      kRate * static_cast<double>(now.load(std::memory_order_relaxed) + WriteBudget::kBurstNs) / kNsPerSecond;
  const auto got = static_cast<double>(granted.load(std::memory_order_relaxed));
  EXPECT_LE(got, allowed);
  EXPECT_GE(got, 0.97 * allowed - kRate / 10.0);
}

// Both sides as real numbers, halved together when they pass the window.
class DecayedModel {
 public:
  explicit DecayedModel(double window) : window_(window) {}
  void Add(double lookups, double writes) {
    lookups_ += lookups;
    writes_ += writes;
    while (lookups_ + writes_ > window_) {
      lookups_ /= 2;
      writes_ /= 2;
    }
  }
  double percent() const { return writes_ * 100 / lookups_; }

 private:
  const double window_;
  double lookups_ = 0, writes_ = 0;
};

TEST(WriteGovernor, FollowsADecayedWindow) {
  std::mt19937_64 random(test::Seed());
  constexpr uint64_t kWindow = 64 << 20;
  WriteGovernor governor(kWindow);
  DecayedModel model(kWindow);
  for (int phase = 0; phase < 50; ++phase) {
    const uint64_t write_share = random() % 100;
    for (int i = 0; i < 10'000; ++i) {
      const uint64_t bytes = (1 + random() % 16) << 10;
      if (random() % 100 < write_share) {
        governor.AddWrites(bytes);
        model.Add(0, static_cast<double>(bytes));
      } else {
        governor.AddLookups(bytes);
        model.Add(static_cast<double>(bytes), 0);
      }
      if (phase + i < 100 || i % 16 != 0) continue;
      ASSERT_NEAR(static_cast<double>(governor.WrittenPercent()), model.percent(), 1.5 + 0.02 * model.percent());
    }
  }
}

// The bug of WT-8410: with no look-ups at all the ratio must read as overload, not as calm.
TEST(WriteGovernor, WritesWithoutLookupsAreTheWorstCase) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 32, uint64_t{1} << 50}) {
    WriteGovernor governor(1 << 20);
    EXPECT_EQ(governor.WrittenPercent(), 0u) << "nothing was written yet";
    governor.AddWrites(bytes);
    EXPECT_EQ(governor.WrittenPercent(), WriteGovernor::kNoLookups);
  }
}

TEST(WriteGovernor, LookupsOfThePastFadeUnderWritesAndBack) {
  WriteGovernor governor(1 << 20);
  for (int i = 0; i < 1000; ++i) governor.AddLookups(4096);
  uint64_t percent = governor.WrittenPercent();
  ASSERT_EQ(percent, 0u);
  for (int i = 0; i < 10'000; ++i) {
    governor.AddWrites(4096);
    const uint64_t next = governor.WrittenPercent();
    // A halving truncates: one unit of some hundred.
    ASSERT_GE(static_cast<double>(next) * 1.05 + 1, static_cast<double>(percent)) << i;
    percent = next;
  }
  ASSERT_EQ(percent, WriteGovernor::kNoLookups);
  for (int i = 0; i < 10'000; ++i) governor.AddLookups(4096);
  EXPECT_EQ(governor.WrittenPercent(), 0u);
}

// Of 2190 bytes, as a packed block may take, or of 608, as a raw one of 512 does.
TEST(WriteGovernor, CountsARecordAsLargeAsItIs) {
  for (const auto& [looked_up, written] : {std::pair{4096u, 2190u}, std::pair{512u, 608u}}) {
    WriteGovernor governor(uint64_t{1} << 30);
    for (int i = 0; i < 10'000; ++i) {
      governor.AddWrites(written);
      governor.AddLookups(looked_up);
    }
    const double percent = 100.0 * written / looked_up;
    EXPECT_NEAR(static_cast<double>(governor.WrittenPercent()), percent, percent * 0.06);
  }
}

// A half-life is half a window: after one whole window of look-ups, at most half of the writes before it still count.
TEST(WriteGovernor, HalvesOnceAWindow) {
  for (const uint64_t window : {uint64_t{1} << 16, uint64_t{1} << 20, uint64_t{1} << 28}) {
    WriteGovernor governor(window);
    for (uint64_t bytes = 0; bytes < window / 2; bytes += 1024) {
      governor.AddWrites(1024);
      governor.AddLookups(1024);
    }
    ASSERT_EQ(governor.WrittenPercent(), 100u);
    for (uint64_t bytes = 0; bytes < window; bytes += 1024) governor.AddLookups(1024);
    EXPECT_LE(governor.WrittenPercent(), 50u);
    EXPECT_GE(governor.WrittenPercent(), 10u);
  }
}

}  // namespace
}  // namespace mezz
