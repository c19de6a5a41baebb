// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/latencies.h"

#include <nlohmann/json.hpp>

namespace mezz {

Latencies LatenciesOf(const LatencyHistogram& histogram) {
  const auto us = [&](double share) { return static_cast<double>(histogram.ValueAt(share)) * 1e-3; };
  return {us(0.50), us(0.95), us(0.99), us(0.999), static_cast<double>(histogram.max_ns()) * 1e-3};
}

void AddLatencies(const Latencies& latencies, nlohmann::json* row) {
  (*row)["p50_us"] = latencies.p50_us;
  (*row)["p95_us"] = latencies.p95_us;
  (*row)["p99_us"] = latencies.p99_us;
  (*row)["p99_9_us"] = latencies.p99_9_us;
  (*row)["latency_us"] = {{"p50", latencies.p50_us},
                          {"p95", latencies.p95_us},
                          {"p99", latencies.p99_us},
                          {"p99_9", latencies.p99_9_us},
                          {"max", latencies.max_us}};
}

std::vector<LatencyHistogram::Point> ReportedCdf(const LatencyHistogram& histogram) {
  constexpr size_t kPointsMax = 200;
  return histogram.Cdf(kPointsMax);
}

void AddCdf(const std::vector<LatencyHistogram::Point>& cdf, nlohmann::json* row) {
  nlohmann::json points = nlohmann::json::array();
  for (const LatencyHistogram::Point& point : cdf) {
    points.push_back(nlohmann::json::array({static_cast<double>(point.ns) * 1e-3, point.share}));
  }
  (*row)["latency_cdf"] = std::move(points);
}

}  // namespace mezz
