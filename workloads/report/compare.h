// SPDX-License-Identifier: Apache-2.0
// mezz_replay --compare: two results, cache by cache, and whether what differs could be chance.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cache/status.h"
#include "workloads/report/mann_whitney.h"

namespace mezz {

// At most this p is called significant.
inline constexpr double kSignificantP = 0.05;

// One measure of one cache that both results have. The windows are the samples.
struct Difference {
  std::string cache;
  std::string measure;    // as the table names it
  bool is_share = false;  // its change is in points, not in percent
  size_t windows_a = 0;
  size_t windows_b = 0;
  double median_a = 0;
  double median_b = 0;
  MannWhitney test;

  bool significant() const { return test.p <= kSignificantP; }
  // Whatever the windows had shown, they are too few to be significant.
  bool too_few() const { return test.p_min > kSignificantP && !all_equal(); }
  // Every window of both showed the same. One window each tells neither.
  bool all_equal() const { return test.p_min == 1 && windows_a + windows_b > 2; }
};

struct Comparison {
  std::vector<std::string> warnings;  // sentences: what else differs, and what makes a result doubtful
  std::vector<Difference> differences;
};

// `a` and `b` are results of ReadResult. Refuses results of different modes and those without a cache in common.
Status CompareResults(const nlohmann::json& a, const nlohmann::json& b, Comparison* comparison);

// Warnings, one line a difference, and how to read it; at most 120 columns wide but for the warnings.
std::string ComparisonTable(const Comparison& comparison);

}  // namespace mezz
