// SPDX-License-Identifier: Apache-2.0
#include "cache/media/model.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace mezz {
namespace {

using Clock = std::chrono::steady_clock;

template <typename F>
double ElapsedNs(F work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The two clocks are calibrated against each other to a few parts in 10^5.
constexpr double kTolerance = 0.999;

class DeviceModel : public testing::TestWithParam<MediumModelName> {
 protected:
  const MediumModel& model() const { return GetMediumModel(GetParam()); }
};

TEST_P(DeviceModel, IsNamedAsItIsChosen) { EXPECT_EQ(model().name, ToString(GetParam())); }

TEST_P(DeviceModel, ASearchInPlaceWaitsForEachDependentLine) {
  Throttle throttle(model());
  constexpr unsigned kCharges = 500;
  constexpr unsigned kLines = 6;
  const double elapsed = ElapsedNs([&] {
    for (unsigned i = 0; i < kCharges; ++i) throttle.ChargeLines(kLines);
  });
  EXPECT_GE(elapsed, kTolerance * kCharges * kLines * model().random_read_ns);
}

TEST_P(DeviceModel, ACopyWaitsForOneReadAndItsStream) {
  Throttle throttle(model());
  constexpr unsigned kCharges = 200;
  constexpr size_t kBytes = 32 << 10;
  const double elapsed = ElapsedNs([&] {
    for (unsigned i = 0; i < kCharges; ++i) throttle.ChargeStreamRead(kBytes);
  });
  EXPECT_GE(elapsed, kTolerance * kCharges * (model().random_read_ns + kBytes / model().thread_read_bytes_per_ns));
}

TEST_P(DeviceModel, WritersShareOneBandwidth) {
  Throttle throttle(model());
  constexpr unsigned kThreads = 3;
  constexpr unsigned kCharges = 300;
  constexpr size_t kBytes = 64 << 10;
  const double elapsed = ElapsedNs([&] {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (unsigned i = 0; i < kCharges; ++i) throttle.ChargeWrite(kBytes);
      });
    }
  });
  EXPECT_GE(elapsed, kTolerance * kThreads * kCharges * kBytes / model().write_bytes_per_ns);
}

TEST_P(DeviceModel, ReadersShareOneBandwidth) {
  Throttle throttle(model());
  constexpr unsigned kThreads = 4;
  constexpr unsigned kCharges = 100;
  constexpr size_t kBytes = 64 << 10;
  const double elapsed = ElapsedNs([&] {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (unsigned i = 0; i < kCharges; ++i) throttle.ChargeStreamRead(kBytes);
      });
    }
  });
  EXPECT_GE(elapsed, kTolerance * kThreads * kCharges * kBytes / model().read_bytes_per_ns);
}

INSTANTIATE_TEST_SUITE_P(Presets, DeviceModel, testing::Values(MediumModelName::kOptane100, MediumModelName::kCxl),
                         [](const auto& test) { return std::string(ToString(test.param)); });

TEST(NoModel, IsAllZeroAndChargesNothing) {
  const MediumModel& none = GetMediumModel(MediumModelName::kNone);
  EXPECT_EQ(none.random_read_ns, 0);
  EXPECT_EQ(none.read_bytes_per_ns, 0);
  Throttle throttle(none);  // returns, and divides by nothing
  throttle.ChargeLines(6);
  throttle.ChargeStreamRead(4096);
  throttle.ChargeWrite(4096);
}

TEST(Presets, HoldThePublishedConstants) {
  const MediumModel& optane = GetMediumModel(MediumModelName::kOptane100);
  EXPECT_EQ(optane.random_read_ns, 305);
  EXPECT_EQ(optane.write_ns, 90);
  EXPECT_EQ(optane.read_bytes_per_ns, 6.6);
  EXPECT_EQ(optane.write_bytes_per_ns, 2.3);
  EXPECT_NEAR(optane.thread_read_bytes_per_ns, 3.76, 0.01);
  const MediumModel& cxl = GetMediumModel(MediumModelName::kCxl);
  EXPECT_EQ(cxl.random_read_ns, 250);
  EXPECT_EQ(cxl.read_bytes_per_ns, 38);
  EXPECT_NEAR(cxl.thread_read_bytes_per_ns, 4.1, 0.01);
}

TEST(BlockSearchLines, AreThoseTheDocumentationDerives) {
  EXPECT_EQ(BlockSearchLines(4 << 10), 6u);
  EXPECT_EQ(BlockSearchLines(8 << 10), 7u);
  EXPECT_EQ(BlockSearchLines(16 << 10), 8u);
  EXPECT_EQ(BlockSearchLines(32 << 10), 10u);
  EXPECT_EQ(BlockSearchLines(64 << 10), 12u);
}

TEST(BlockSearchLines, NeverFallAndNeverExceedTheRecord) {
  unsigned previous = 0;
  for (size_t bytes = 0; bytes < (4 << 20); bytes += bytes < 8192 ? 1 : 977) {
    const unsigned lines = BlockSearchLines(bytes);
    ASSERT_GE(lines, previous) << bytes;
    ASSERT_LE(lines, (bytes + 32 + 63) / 64) << bytes;
    ASSERT_GE(lines, 1u);
    previous = lines;
  }
  EXPECT_LE(previous, 32u) << "logarithmic";
}

}  // namespace
}  // namespace mezz
