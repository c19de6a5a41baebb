// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/digest.h"

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
  shares.miss = of_lookups(counts.flash_reads);
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
    const WindowRow& window = windows[windows.size() - 1 - from_last];
    return window.dram_hit + window.scm_hit;
  };
  for (size_t i = 0; i < kSteps; ++i) {
    if (std::abs(hit(i) - hit(i + 1)) >= kHalfAPoint) return false;
  }
  return true;
}

WindowRow Digest(const WindowResult& result) {
  WindowRow row;
  row.ops = result.ops;
  row.seconds = result.seconds;
  row.ops_per_s = result.ops_per_s();
  row.latency = LatenciesOf(result.latencies);
  const double ops = static_cast<double>(std::max<uint64_t>(result.ops, 1));
  row.tiers = result.tiers;
  row.flash = result.flash;
  const TierCounts& tiers = row.tiers;
  const double lookups = static_cast<double>(std::max<uint64_t>(tiers.lookups(), 1));
  row.scm_hit = static_cast<double>(tiers.second_hits) / lookups;
  row.dram_hit = static_cast<double>(tiers.dram_hits()) / lookups;
  row.miss = static_cast<double>(tiers.flash_reads) / lookups;
  row.flash_reads_per_op = static_cast<double>(tiers.flash_reads) / ops;
  row.flash_bytes_per_s = result.seconds > 0 ? static_cast<double>(tiers.flash_bytes) / result.seconds : 0;
  row.scm_bytes_read_per_op = static_cast<double>(tiers.scm_bytes_read) / ops;
  row.scm_bytes_written_per_op = static_cast<double>(tiers.scm_bytes_written) / ops;
  row.cpu_s_per_mop = result.cpu_seconds / ops * 1e6;
  row.context_switches_per_op = static_cast<double>(result.context_switches) / ops;
  row.demotions = result.demotions;
  row.promotions = result.promotions;
  row.scm_writes = result.scm_writes;
  row.clean_evictions = result.clean_evictions;
  row.packed = result.packed;
  row.scm_dead_share = result.scm_dead_share;
  row.refusals = result.refusals;
  row.operations = result.operations;
  row.not_found = result.not_found;
  for (size_t i = 0; i < kRoleSlots; ++i) {
    if (result.roles[i].lookups() == 0) continue;
    row.roles[kRoleNames[i]] = SharesOf(result.roles[i], result.second_hits_by_role);
  }
  return row;
}

}  // namespace mezz
