// SPDX-License-Identifier: Apache-2.0
// From counts to the figures that are reported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/replay/latencies.h"
#include "workloads/replay/window_result.h"

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
struct WindowRow {
  uint64_t ops = 0;
  double seconds = 0;
  double ops_per_s = 0;
  double ratio = 0;  // to the first cache, in the same window; 0: unknown
  Latencies latency;
  TierCounts tiers;
  FlashCounts flash;
  double dram_hit = 0;  // shares of the block look-ups
  double scm_hit = 0;
  double miss = 0;
  double flash_reads_per_op = 0;
  double flash_bytes_per_s = 0;
  double scm_bytes_read_per_op = 0;
  double scm_bytes_written_per_op = 0;
  double cpu_s_per_mop = 0;
  double context_switches_per_op = 0;
  uint64_t demotions = 0;
  uint64_t promotions = 0;
  uint64_t scm_writes = 0;
  uint64_t clean_evictions = 0;
  PackedCounts packed;
  double scm_dead_share = kUnknownShare;
  std::map<std::string, uint64_t> refusals;
  std::map<std::string, uint64_t> operations;
  uint64_t not_found = 0;
  std::map<std::string, RoleShares> roles;  // of the roles that were looked up

  double per_op(uint64_t count) const { return ops == 0 ? 0 : static_cast<double>(count) / static_cast<double>(ops); }
};

// Whether the share of look-ups that hit has moved by less than half a point from each of the last windows to the next.
bool HitRatioSettled(const std::vector<WindowRow>& windows);

WindowRow Digest(const WindowResult& result);

}  // namespace mezz
