// SPDX-License-Identifier: Apache-2.0
// The histogram against what it stands for: the sorted list of everything recorded.
#include "workloads/replay/engine/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace mezz {
namespace {

constexpr double kShares[] = {0.0, 0.01, 0.5, 0.95, 0.99, 0.999, 0.99999, 1.0};

// Latencies of every magnitude, with ties.
std::vector<uint64_t> Draw(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    value = random() >> (24 + random() % 40);
    if (random() % 8 == 0) value = 2047 + random() % 3;
  }
  return values;
}

LatencyHistogram HistogramOf(const std::vector<uint64_t>& values) {
  LatencyHistogram histogram;
  for (const uint64_t value : values) histogram.Record(value);
  return histogram;
}

uint64_t Exact(std::vector<uint64_t> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<size_t>(rank, 1) - 1];
}

void ExpectModels(const LatencyHistogram& histogram, const std::vector<uint64_t>& values) {
  ASSERT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.max_ns(), *std::max_element(values.begin(), values.end()));
  for (const double share : kShares) {
    const uint64_t exact = Exact(values, share);
    EXPECT_GE(histogram.ValueAt(share), exact) << share;
    EXPECT_LE(histogram.ValueAt(share), exact + exact / 1024) << share;
  }
}

TEST(LatencyHistogram, IsWithinAThousandthOfTheSortedList) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<uint64_t> values = Draw(seed, 1 + seed * 997);
    ExpectModels(HistogramOf(values), values);
  }
}

TEST(LatencyHistogram, AddedAndSubtractedIsTheHistogramOfTheRest) {
  const std::vector<uint64_t> first = Draw(1, 5000);
  const std::vector<uint64_t> second = Draw(2, 300);
  std::vector<uint64_t> both = first;
  both.insert(both.end(), second.begin(), second.end());
  LatencyHistogram sum = HistogramOf(first);
  const LatencyHistogram earlier = sum;
  sum.Add(HistogramOf(second));
  ExpectModels(sum, both);
  LatencyHistogram since = sum.Since(earlier);
  since.SetMax(*std::max_element(second.begin(), second.end()));
  ExpectModels(since, second);
}

TEST(LatencyHistogram, CanBeRebuiltFromItsBuckets) {
  const std::vector<uint64_t> values = Draw(3, 4000);
  LatencyHistogram rebuilt;
  const LatencyHistogram histogram = HistogramOf(values);
  histogram.ForEach([&](uint64_t ns, uint64_t count) { rebuilt.Record(ns, count); });
  rebuilt.SetMax(histogram.max_ns());
  for (const double share : kShares) EXPECT_EQ(rebuilt.ValueAt(share), histogram.ValueAt(share));
  ExpectModels(rebuilt, values);
}

TEST(LatencyHistogram, HoldsItsExtremesAndNothing) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.ValueAt(0.5), 0u);
  EXPECT_TRUE(histogram.Cdf(10).empty());
  histogram.Record(0);
  histogram.Record(~uint64_t{0});
  EXPECT_EQ(histogram.ValueAt(0.5), 0u);
  EXPECT_EQ(histogram.ValueAt(1), LatencyHistogram::kMaxNs);
}

TEST(LatencyHistogram, CdfRisesToTheMaximumAndKeepsTheTail) {
  const std::vector<uint64_t> values = Draw(4, 100000);
  const LatencyHistogram histogram = HistogramOf(values);
  const auto cdf = histogram.Cdf(200);
  ASSERT_LE(cdf.size(), 200u);
  ASSERT_GT(cdf.size(), 100u);
  for (size_t i = 1; i < cdf.size(); ++i) {
    EXPECT_LT(cdf[i - 1].ns, cdf[i].ns);
    EXPECT_LT(cdf[i - 1].share, cdf[i].share);
  }
  EXPECT_EQ(cdf.back().ns, histogram.max_ns());
  EXPECT_EQ(cdf.back().share, 1.0);
  const auto beyond_p999 = std::count_if(cdf.begin(), cdf.end(), [](const auto& point) { return point.share > 0.999; });
  EXPECT_GE(beyond_p999, 15);
  for (const auto& point : cdf) {
    const auto no_longer = std::count_if(values.begin(), values.end(), [&](uint64_t v) { return v <= point.ns; });
    EXPECT_DOUBLE_EQ(point.share, static_cast<double>(no_longer) / static_cast<double>(values.size()));
  }
}

}  // namespace
}  // namespace mezz
