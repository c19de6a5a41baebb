// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"
#include "workloads/plan/performance.h"

namespace mezz::plan {

enum class Metric {
  kThroughput,
  kMean,
  kP50,
  kP95,
  kP99,
  kHit,
  kFlashReads,
  kFlashBandwidth,
  kScmBandwidth,
  kScmWrites,
  kCpu,
  kLifetime,
  kCost,
  kWatts
};

// What a plan has of each metric, each in its unit (UnitOf).
struct Figures {
  Prediction prediction;
  double cost = 0;  // of one host over its life
  double watts = 0;
  double lifetime_years = 0;                             // of the SCM that wears out first; infinite if none does
  std::array<double, kMediaMax> media_lifetime_years{};  // as Prediction::media
};
double ValueOf(const Figures& figures, Metric metric);
// At the end of the bracket that is bad for the target. Of metrics without a bracket, the value.
double WorstOf(const Figures& figures, Metric metric, bool at_least);

// throughput >= 0.95 * baseline
struct Target {
  std::string text;  // as it was given
  Metric metric = Metric::kThroughput;
  bool at_least = true;
  bool of_baseline = false;
  double bound = 0;  // a multiple if of_baseline, else in the metric's unit

  double Bound(const Figures& baseline) const;
  // With the baseline at the same end of what is not known: what errs in one errs in the other.
  double WorstBound(const Figures& baseline) const;
};

// "throughput>=0.95*baseline; p99<=1ms". Each part is METRIC, >= or <=, and a number with a unit, or a number times
// the baseline. A target that no value can meet, because two contradict each other, is refused.
Status ParseTargets(std::string_view text, std::vector<Target>* targets);

std::string_view NameOf(Metric metric);
std::string_view UnitOf(Metric metric);

// By how much of the bound the value is on the good side; negative: on the bad.
double Slack(const Target& target, double bound, double value);

}  // namespace mezz::plan
