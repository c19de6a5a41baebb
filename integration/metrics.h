// SPDX-License-Identifier: Apache-2.0
// The figures of a cache as monitoring knows them: families of numbers with labels, and their text. One table
// (metrics_of_core.cc) gives both the numbers and the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mezz {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram, kInfo };

struct MetricLabel {
  std::string_view name;
  std::string value;  // any bytes; the text escapes it
};

struct MetricSample {
  std::vector<MetricLabel> labels;
  double value = 0;
  std::string_view suffix{};  // of a histogram's: _bucket, _count or _sum
};

struct MetricFamily {
  std::string name;  // without what the type adds: _total, _info
  MetricType type = MetricType::kGauge;
  std::string_view unit{};  // a base unit, which the name ends with; empty: a count or a state
  std::string_view help{};
  std::vector<MetricSample> samples{};
};
using MetricFamilies = std::vector<MetricFamily>;

enum class MetricsFormat : uint8_t {
  kOpenMetrics,  // 1.0: what Prometheus asks for
  kPrometheus,   // 0.0.4: what promtool, and node_exporter's textfile collector, read
};
std::string_view ContentTypeOf(MetricsFormat format);

// Where label values hold bytes that are no UTF-8, each becomes '?': a reader would refuse all of the text.
std::string MetricsText(const MetricFamilies& families, MetricsFormat format);

}  // namespace mezz
