// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/metric_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <system_error>

#include "cache/base/text.h"

namespace mezz::watch {
namespace {

constexpr std::string_view kPrefix = "mezzanine_";
constexpr std::string_view kInfoName = "cache_info";

// The beginning of a line, for a message.
std::string Shown(std::string_view line) {
  constexpr size_t kShownMax = 60;
  std::string shown(line.substr(0, kShownMax));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line.size() > kShownMax ? shown + "..." : shown;
}

Status Bad(std::string_view what, std::string_view line) {
  return Status::InvalidArgument(fmt::format("has a line that is no OpenMetrics, {}: \"{}\"", what, Shown(line)));
}

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

// Takes a name off the front; empty: there is none.
std::string_view TakeName(std::string_view* text) {
  size_t end = 0;
  while (end < text->size() && IsNameCharacter((*text)[end])) ++end;
  const std::string_view name = text->substr(0, end);
  text->remove_prefix(end);
  return name;
}

// Takes a value in quotes off the front, as it was before it was escaped.
std::optional<std::string> TakeQuoted(std::string_view* text) {
  std::string value;
  if (!TakePrefix("\"", text)) return std::nullopt;
  while (!text->empty()) {
    const char c = text->front();
    text->remove_prefix(1);
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (text->empty()) return std::nullopt;
    const char escaped = text->front();
    if (escaped != 'n' && escaped != '\\' && escaped != '"') return std::nullopt;
    value += escaped == 'n' ? '\n' : escaped;
    text->remove_prefix(1);
  }
  return std::nullopt;
}

std::optional<double> Number(std::string_view text) {
  if (text == "+Inf") text.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool IsMetadata(std::string_view line) {
  return line.starts_with("# TYPE ") || line.starts_with("# HELP ") || line.starts_with("# UNIT ");
}

}  // namespace

Status MetricSamples::Parse(std::string_view text, bool with_end, MetricSamples* samples) {
  *samples = {};
  if (text.size() > kTextBytesMax) {
    return Status::InvalidArgument(
        fmt::format("has more than {} of text, which no cache serves", HumanBytes(kTextBytesMax)));
  }
  if (!text.starts_with("# TYPE mezzanine_")) {
    return Status::InvalidArgument(
        fmt::format("does not begin as a cache of Mezzanine's: its first line is \"{}\"; name what metrics= in the "
                    "cache's URI names",
                    Shown(text.substr(0, text.find('\n')))));
  }
  bool ended = false;
  while (!text.empty() && !ended) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end == std::string_view::npos) return Bad("cut off", line);
    text.remove_prefix(end + 1);
    ended = line == "# EOF";
    if (!ended && !IsMetadata(line)) MEZZ_RETURN_IF_ERROR(samples->ParseSample(line));
  }
  if (!text.empty()) return Bad("behind # EOF", text.substr(0, text.find('\n')));
  if (with_end && !ended) return Status::InvalidArgument("ends without \"# EOF\": it was cut off; ask again");
  if (!samples->Has(kInfoName)) return Status::InvalidArgument("has no mezzanine_cache_info: it is of no cache");
  return Status::Ok();
}

Status MetricSamples::ParseSample(std::string_view line) {
  std::string_view rest = line;
  std::string_view name = TakeName(&rest);
  if (!TakePrefix(kPrefix, &name)) return Bad("a name that is not ours", line);
  Sample sample;
  if (TakePrefix("{", &rest)) {
    do {
      const std::string_view label = TakeName(&rest);
      std::optional<std::string> value;
      if (!label.empty() && TakePrefix("=", &rest)) value = TakeQuoted(&rest);
      if (!value) return Bad("a label", line);
      sample.labels.emplace_back(label, std::move(*value));
    } while (TakePrefix(",", &rest));
    if (!TakePrefix("}", &rest)) return Bad("labels that do not end", line);
  }
  if (!TakePrefix(" ", &rest)) return Bad("no space before the number", line);
  const std::optional<double> value = Number(rest);
  if (!value) return Bad("no number", line);
  sample.value = *value;
  const auto found = by_name_.find(name);
  auto& all = found == by_name_.end() ? by_name_[std::string(name)] : found->second;
  all.push_back(std::move(sample));
  return Status::Ok();
}

const std::string* MetricSamples::Sample::Find(std::string_view label) const {
  const auto found = std::ranges::find(labels, label, [](const auto& one) { return std::string_view(one.first); });
  return found == labels.end() ? nullptr : &found->second;
}

bool MetricSamples::Sample::HasAll(Labels wanted) const {
  return std::ranges::all_of(wanted, [this](const Label& one) {
    const std::string* const found = Find(one.first);
    return found != nullptr && *found == one.second;
  });
}

double MetricSamples::Sum(std::string_view name, Labels labels) const {
  const auto found = by_name_.find(name);
  double sum = 0;
  if (found == by_name_.end()) return sum;
  for (const Sample& sample : found->second) sum += sample.HasAll(labels) ? sample.value : 0;
  return sum;
}

std::map<std::string, double> MetricSamples::SumsBy(std::string_view name, std::string_view label,
                                                    Labels labels) const {
  std::map<std::string, double> sums;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return sums;
  for (const Sample& sample : found->second) {
    const std::string* const value = sample.Find(label);
    if (value != nullptr && sample.HasAll(labels)) sums[*value] += sample.value;
  }
  return sums;
}

std::string MetricSamples::Info(std::string_view label) const {
  const auto found = by_name_.find(kInfoName);
  const std::string* const value = found == by_name_.end() ? nullptr : found->second.front().Find(label);
  return value == nullptr ? "" : *value;
}

std::string BytesText(double bytes) { return HumanBytes(static_cast<uint64_t>(std::max(bytes, 0.0))); }

}  // namespace mezz::watch
