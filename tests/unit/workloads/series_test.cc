// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/series.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

LatencyHistogram Latencies(uint64_t ns, uint64_t times) {
  LatencyHistogram histogram;
  histogram.Record(ns, times);
  return histogram;
}

TEST(Series, MakesPointsAcrossWindowsAndLosesNothing) {
  Series series;
  double seconds = 0;
  for (int window = 0; window < 23; ++window) {
    series.Advance(0.3, 30, {.hits = 20, .second_hits = 5, .flash_reads = 10, .flash_bytes = 40960},
                   Latencies(1000, 30));
    seconds += 0.3;
  }
  const std::vector<SeriesPoint> points = series.Points();
  ASSERT_EQ(points.size(), 6u) << "five of 1.2 s and what is left over";
  double sum_s = 0, ops = 0, bytes = 0;
  for (const SeriesPoint& point : points) {
    sum_s += point.seconds;
    EXPECT_NEAR(point.t_s, sum_s, 1e-9);
    ops += static_cast<double>(point.ops);
    bytes += static_cast<double>(point.tiers.flash_bytes);
    EXPECT_NEAR(point.per_s(point.ops), 100, 1e-6);
    EXPECT_NEAR(point.tiers.dram_hit(), 0.5, 1e-9);
    EXPECT_NEAR(point.tiers.scm_hit(), 1.0 / 6, 1e-9);
    EXPECT_NEAR(point.p99_us, 1, 1e-3);
  }
  EXPECT_NEAR(sum_s, seconds, 1e-9);
  EXPECT_NEAR(ops, 23 * 30, 1e-6);
  EXPECT_NEAR(bytes, 23 * 40960, 1e-3);
}

TEST(Series, EachPointHasItsOwnPercentile) {
  Series series;
  series.Advance(1, 100, {}, Latencies(1'000'000, 100));
  series.Advance(1, 100, {}, Latencies(2'000, 100));
  const std::vector<SeriesPoint> points = series.Points();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_NEAR(points[0].p99_us, 1000, 1);
  EXPECT_NEAR(points[1].p99_us, 2, 0.01) << "not the first second's maximum";
}

TEST(Series, ATimerThatFiresABitEarlyIsOnTime) {
  Series series;
  series.Advance(0.9995, 1, {}, {});
  EXPECT_EQ(series.Points().size(), 1u);
  series.Advance(0.1, 1, {}, {});
  EXPECT_EQ(series.Points().size(), 1u) << "a tenth of a second is no point";
  EXPECT_NEAR(series.missing_seconds(), 0.9, 1e-9);
}

}  // namespace
}  // namespace mezz
