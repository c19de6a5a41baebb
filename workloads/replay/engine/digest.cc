// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/digest.h"

#include <algorithm>
#include <cmath>

namespace mezz {
namespace {

RoleShares SharesOf(const RoleCounts& counts, bool by_tier) {
  RoleShares shares;
  shares.lookups = counts.lookups();
  const auto of_lookups = [&](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(shares.lookups);
  };
  shares.hit = of_lookups(counts.hits);
  shares.miss = of_lookups(counts.misses());
  if (by_tier) {
    shares.dram_hit = of_lookups(counts.dram_hits());
    shares.scm_hit = of_lookups(std::min(counts.second_hits, counts.hits));
  }
  return shares;
}

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

// The standard error of a median of n draws is 1.25 times that of their mean; two medians differ by the root of two of
// it.
Noise NoiseOf(const std::vector<double>& values) {
  constexpr size_t kFewest = 3;
  constexpr double kNormal95 = 1.96;
  constexpr double kMedianOverMean = 1.2533;
  if (values.size() < kFewest) return {};
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double variance = 0;
  for (const double value : values) variance += (value - mean) * (value - mean) / (n - 1);
  const double median = SpreadOf(values).median;
  if (median <= 0) return {};
  return {kNormal95 * std::sqrt(2.0) * kMedianOverMean * std::sqrt(variance / n) / median};
}

bool HitRatioSettled(const std::vector<WindowRow>& windows) {
  constexpr double kHalfAPoint = 0.005;
  constexpr size_t kSteps = 2;
  if (windows.size() <= kSteps) return false;
  const auto hit = [&](size_t from_last) {
    const TierCounts& tiers = windows[windows.size() - 1 - from_last].tiers;
    return tiers.dram_hit() + tiers.scm_hit();
  };
  for (size_t i = 0; i < kSteps; ++i) {
    if (std::abs(hit(i) - hit(i + 1)) >= kHalfAPoint) return false;
  }
  return true;
}

WindowRow Digest(const WindowResult& result) {
  WindowRow row;
  static_cast<WindowCounts&>(row) = result;
  row.latency = LatenciesOf(result.latencies);
  for (size_t i = 0; i < kRoleSlots; ++i) {
    if (result.roles[i].lookups() == 0) continue;
    row.roles[kRoleNames[i]] = SharesOf(result.roles[i], result.second_hits_by_role);
  }
  return row;
}

}  // namespace mezz
