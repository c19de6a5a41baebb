// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/series.h"

namespace mezz {
namespace {

constexpr double kRounding = 1e-3;  // a timer that fires early by less than this is on time

}  // namespace

void Series::Advance(double seconds, uint64_t ops, const TierCounts& tiers, const LatencyHistogram& latencies) {
  pending_.seconds += seconds;
  pending_.ops += ops;
  pending_.tiers += tiers;
  pending_.latencies.Add(latencies);
  if (pending_.seconds < kPointSeconds - kRounding) return;
  points_.push_back(PointOf(pending_));
  seconds_ += pending_.seconds;
  pending_ = {};
}

std::vector<SeriesPoint> Series::Points() const {
  std::vector<SeriesPoint> points = points_;
  if (pending_.seconds >= kLastPointSecondsMin) points.push_back(PointOf(pending_));
  return points;
}

SeriesPoint Series::PointOf(const Pending& pending) const {
  SeriesPoint point;
  point.t_s = seconds_ + pending.seconds;
  point.seconds = pending.seconds;
  point.ops = pending.ops;
  point.tiers = pending.tiers;
  point.p99_us = static_cast<double>(pending.latencies.ValueAt(0.99)) * 1e-3;
  return point;
}

}  // namespace mezz
