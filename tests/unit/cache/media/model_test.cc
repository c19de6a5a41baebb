// SPDX-License-Identifier: Apache-2.0
#include "cache/media/model.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
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

// A block of `bytes` bytes as RocksDB's block builder ends it.
std::vector<std::byte> DataBlock(size_t bytes, uint32_t restarts) {
  std::vector<std::byte> block(bytes);
  std::memcpy(block.data() + bytes - sizeof(restarts), &restarts, sizeof(restarts));
  return block;
}

double InPlaceNs(const MediumModel& model, BlockRole role, const std::vector<std::byte>& block) {
  return OwnNs(model, HowReadInPlace(model, role, block));
}

TEST_P(DeviceModel, WhatIsReadWholeInPlacePaysItsStreamAndItsBandwidth) {
  constexpr size_t kBytes = 64 << 10;
  const double stream_ns = model().random_read_ns + kBytes / model().thread_read_bytes_per_ns;
  for (const BlockRole role : {BlockRole::kBlob, BlockRole::kDictionary, BlockRole::kOther}) {
    const InPlaceRead read = HowReadInPlace(model(), role, std::vector<std::byte>(kBytes));
    EXPECT_DOUBLE_EQ(OwnNs(model(), read), stream_ns) << ToString(role);
    EXPECT_EQ(read.stream_bytes, kBytes) << "all of it is the device's work";
  }
  constexpr unsigned kThreads = 8;  // more than the device has bandwidth for
  constexpr unsigned kCharges = 100;
  Throttle throttle(model());
  const double elapsed = ElapsedNs([&] {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (unsigned i = 0; i < kCharges; ++i) throttle.ChargeInPlace({.lines = 1, .stream_bytes = kBytes});
      });
    }
  });
  EXPECT_GE(elapsed, kTolerance * kThreads * kCharges * kBytes / model().read_bytes_per_ns);
  EXPECT_GE(elapsed, kTolerance * kCharges * stream_ns);
}

TEST_P(DeviceModel, ALongValueInADataBlockIsStreamed) {
  constexpr size_t kBytes = 64 << 10;
  const double value_ns = kBytes / model().thread_read_bytes_per_ns;
  EXPECT_GE(InPlaceNs(model(), BlockRole::kData, DataBlock(kBytes, 1)), value_ns + 2 * model().random_read_ns);
  const double searched_ns = BlockSearchLines(kBytes) * model().random_read_ns;
  // Five restart points: some seventy entries of some 950 bytes.
  EXPECT_GE(InPlaceNs(model(), BlockRole::kData, DataBlock(kBytes, 5)),
            searched_ns + 800 / model().thread_read_bytes_per_ns);
  EXPECT_LE(InPlaceNs(model(), BlockRole::kData, DataBlock(kBytes, 5)),
            searched_ns + 1200 / model().thread_read_bytes_per_ns);
}

TEST_P(DeviceModel, ASearchOfShortEntriesPaysItsLinesOnly) {
  for (const size_t bytes : {size_t{4} << 10, size_t{16} << 10, size_t{64} << 10}) {
    const double searched_ns = BlockSearchLines(bytes) * model().random_read_ns;
    EXPECT_DOUBLE_EQ(InPlaceNs(model(), BlockRole::kData, DataBlock(bytes, bytes / 1300)), searched_ns);
    EXPECT_DOUBLE_EQ(InPlaceNs(model(), BlockRole::kIndex, DataBlock(bytes, 1)), searched_ns);
    EXPECT_LE(InPlaceNs(model(), BlockRole::kFilter, DataBlock(bytes, 1)), 3 * model().random_read_ns);
  }
}

TEST_P(DeviceModel, ADataBlockIsNeverCheaperThanItsSearch) {
  for (size_t bytes = 4; bytes < 200'000; bytes += bytes < 300 ? 1 : 997) {
    for (const uint32_t restarts : {0u, 1u, 2u, 7u, 1000u, 0xffffffffu, 0x80000001u, 0x0fffffffu}) {
      ASSERT_GE(InPlaceNs(model(), BlockRole::kData, DataBlock(bytes, restarts)),
                BlockSearchLines(bytes) * model().random_read_ns)
          << bytes << " bytes, " << restarts;
    }
  }
  for (size_t bytes = 0; bytes < 4; ++bytes)  // no room for a count
    EXPECT_GT(InPlaceNs(model(), BlockRole::kData, std::vector<std::byte>(bytes)), 0);
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
  throttle.ChargeInPlace(HowReadInPlace(none, BlockRole::kBlob, std::vector<std::byte>(4096)));
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
