// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "workloads/plan/answer.h"

namespace mezz::plan {

// More than any server holds counts as that.
inline double DataBytes(const Question& question) {
  constexpr double kMost = 1e18;
  return std::clamp(question.traffic.footprint_bytes * question.growth, 0.0, kMost);
}

// What of a build decides how it performs: those with the same do the same.
using MediumKey = std::tuple<uint64_t, std::string, unsigned>;
using PerformanceKey = std::tuple<std::string, uint64_t, MediumKey, MediumKey, std::string, unsigned>;
PerformanceKey KeyOf(const Build& build);

// Of plans that do the same, those that may be better than the others; none that has more memory than the data could
// fill, but one size; and no ordered media where the fast one alone is as cheap.
std::vector<Plan> Worthwhile(const Question& question, const std::vector<Build>& builds, const Build& baseline);

}  // namespace mezz::plan
