// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/replay/engine/window_result.h"

namespace mezz {

// Cuts a cache's measured time into points of about a second, across the borders of its windows, so that short windows
// make whole points too. Single-threaded.
class Series {
 public:
  // What was counted in the `seconds` since the last call. Makes a point once a second has come together.
  void Advance(double seconds, uint64_t ops, const TierCounts& tiers, const LatencyHistogram& latencies);
  // Seconds that are still missing for the next point.
  double missing_seconds() const { return kPointSeconds - pending_.seconds; }

  // The points, with what is left over if that is enough to be one.
  std::vector<SeriesPoint> Points() const;

 private:
  struct Pending {
    double seconds = 0;
    uint64_t ops = 0;
    TierCounts tiers;
    LatencyHistogram latencies;
  };
  static constexpr double kPointSeconds = 1;
  static constexpr double kLastPointSecondsMin = 0.25;
  SeriesPoint PointOf(const Pending& pending) const;

  std::vector<SeriesPoint> points_;
  double seconds_ = 0;  // of all points
  Pending pending_;
};

}  // namespace mezz
