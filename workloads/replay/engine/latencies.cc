// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/latencies.h"

#include <nlohmann/json.hpp>

namespace mezz {

Latencies LatenciesOf(const LatencyHistogram& histogram) {
  const auto us = [&](double share) { return static_cast<double>(histogram.ValueAt(share)) * 1e-3; };
  return {us(0.50), us(0.95), us(0.99), us(0.999), static_cast<double>(histogram.max_ns()) * 1e-3};
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
