// SPDX-License-Identifier: Apache-2.0
// What a result tells of a histogram of latencies.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "workloads/replay/engine/latency_histogram.h"

namespace mezz {

// In microseconds.
struct Latencies {
  double p50_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double p99_9_us = 0;
  double max_us = 0;
};
Latencies LatenciesOf(const LatencyHistogram& histogram);

// The distribution in as many points as a result has room for.
std::vector<LatencyHistogram::Point> ReportedCdf(const LatencyHistogram& histogram);
// Adds "latency_cdf": [microseconds, share of the records that took no longer] of each point.
void AddCdf(const std::vector<LatencyHistogram::Point>& cdf, nlohmann::json* row);

}  // namespace mezz
