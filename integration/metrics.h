// SPDX-License-Identifier: Apache-2.0
// The figures of a cache for monitoring, as families of numbers with labels, and their text. The table in
// metrics_of_core.cc gives both the numbers and the help.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mezz {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram, kInfo };

struct MetricLabel {
  std::string_view name;
  std::string value;  // any bytes; MetricsText escapes them
};

struct MetricSample {
  std::vector<MetricLabel> labels;
  double value = 0;
  std::string_view suffix{};  // for a histogram: _bucket, _count or _sum
};

struct MetricFamily {
  std::string name;  // without the suffix of its type (_total, _info)
  MetricType type = MetricType::kGauge;
  std::string_view unit{};  // a base unit, with which the name ends; empty for a count or a state
  std::string_view help{};
  std::vector<MetricSample> samples{};
};
using MetricFamilies = std::vector<MetricFamily>;

enum class MetricsFormat : uint8_t {
  kOpenMetrics,  // version 1.0, which Prometheus asks for
  kPrometheus,   // version 0.0.4, which promtool and node_exporter's textfile collector read
};
std::string_view ContentTypeOf(MetricsFormat format);

// The text of these families. In label values each byte that is no UTF-8 becomes '?', because a reader would refuse all
// of the text.
std::string MetricsText(const MetricFamilies& families, MetricsFormat format);

}  // namespace mezz
