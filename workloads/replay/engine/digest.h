// SPDX-License-Identifier: Apache-2.0
// From counts to the figures that are reported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/replay/engine/latencies.h"
#include "workloads/replay/engine/window_result.h"

namespace mezz {

// A sample of repeats.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
Spread SpreadOf(std::vector<double> values);

// Whether the same command, run again, would give the same median.
struct Noise {
  // 95 of 100 reruns have their median this close, as a share of the median, by the scatter of the windows; negative:
  // there are too few windows to tell.
  double rerun_spread = -1;
  bool noisy() const { return rerun_spread < 0 || rerun_spread > kSpreadMax; }
  static constexpr double kSpreadMax = 0.03;
};
Noise NoiseOf(const std::vector<double>& values);

// Shares of the look-ups of one role.
struct RoleShares {
  uint64_t lookups = 0;
  double hit = 0;  // in any tier
  double miss = 0;
  std::optional<double> dram_hit;  // where the cache tells its tiers apart by role
  std::optional<double> scm_hit;
};

// One window on one cache, or all its measured windows together, digested.
struct WindowRow : WindowCounts {
  double ratio = 0;  // to the first cache, in the same window; 0: unknown
  Latencies latency;
  std::map<std::string, RoleShares> roles;  // of the roles that were looked up
};

// Whether the share of look-ups that hit has moved by less than half a point from each of the last windows to the next.
bool HitRatioSettled(const std::vector<WindowRow>& windows);

WindowRow Digest(const WindowResult& result);

}  // namespace mezz
