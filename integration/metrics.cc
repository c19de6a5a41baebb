// SPDX-License-Identifier: Apache-2.0
#include "integration/metrics.h"

#include <cmath>
#include <iterator>

#include "fmt/format.h"

namespace mezz {
namespace {

std::string_view ToString(MetricType type, MetricsFormat format) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kHistogram:
      return "histogram";
    case MetricType::kInfo:
      return format == MetricsFormat::kOpenMetrics ? "info" : "gauge";
    case MetricType::kGauge:
      break;
  }
  return "gauge";
}

// What a sample's name has behind its family's.
std::string_view SuffixOf(MetricType type) {
  return type == MetricType::kCounter ? "_total" : type == MetricType::kInfo ? "_info" : "";
}

// How many bytes the UTF-8 character at `text` takes; 0: it is none (RFC 3629).
size_t CharacterBytes(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = at(0);
  const size_t bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool too_large = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
  return overlong || too_large ? 0 : bytes;
}

// A byte that is no UTF-8 becomes \xE9, and what looks like that \x5CxE9, so that values that differ stay different.
void AppendEscaped(std::string_view value, std::string* text) {
  while (!value.empty()) {
    const size_t bytes = CharacterBytes(value);
    const std::string_view character = value.substr(0, bytes);
    if (bytes == 0 || value.starts_with("\\x")) {
      fmt::format_to(std::back_inserter(*text), "\\\\x{:02X}", static_cast<unsigned char>(value[0]));
    } else if (character == "\n") {
      *text += "\\n";
    } else {
      if (character == "\\" || character == "\"") *text += '\\';
      *text += character;
    }
    value.remove_prefix(bytes == 0 ? 1 : bytes);
  }
}

void AppendValue(double value, std::string* text) {
  constexpr double kWholeMax = 1e18;
  const bool whole = value == std::floor(value) && std::abs(value) < kWholeMax;
  *text += whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

void AppendSample(const MetricFamily& family, const MetricSample& sample, std::string* text) {
  *text += family.name;
  *text += sample.suffix.empty() ? SuffixOf(family.type) : sample.suffix;
  char before = '{';
  for (const MetricLabel& label : sample.labels) {
    *text += before;
    *text += label.name;
    *text += "=\"";
    AppendEscaped(label.value, text);
    *text += '"';
    before = ',';
  }
  if (before == ',') *text += '}';
  *text += ' ';
  AppendValue(sample.value, text);
  *text += '\n';
}

}  // namespace

std::string_view ContentTypeOf(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                               : "text/plain; version=0.0.4; charset=utf-8";
}

std::string MetricsText(const MetricFamilies& families, MetricsFormat format) {
  const bool open = format == MetricsFormat::kOpenMetrics;
  std::string text;
  for (const MetricFamily& family : families) {
    if (family.samples.empty()) continue;
    const std::string name = open ? family.name : family.name + std::string(SuffixOf(family.type));
    fmt::format_to(std::back_inserter(text), "# TYPE {} {}\n", name, ToString(family.type, format));
    if (open && !family.unit.empty()) fmt::format_to(std::back_inserter(text), "# UNIT {} {}\n", name, family.unit);
    fmt::format_to(std::back_inserter(text), "# HELP {} {}\n", name, family.help);
    for (const MetricSample& sample : family.samples) AppendSample(family, sample, &text);
  }
  if (open) text += "# EOF\n";
  return text;
}

}  // namespace mezz
