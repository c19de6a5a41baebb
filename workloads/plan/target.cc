// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace mezz::plan {
namespace {

struct BoundUnit {
  std::string_view name;
  double factor;
};

enum class Kind { kRate, kTime, kShare, kBandwidth, kYears, kMoney, kPower };

struct MetricRow {
  Metric metric;
  std::string_view name;
  Kind kind;
};

constexpr std::array kMetrics = {
    MetricRow{Metric::kThroughput, "throughput", Kind::kRate},
    MetricRow{Metric::kMean, "mean", Kind::kTime},
    MetricRow{Metric::kP50, "p50", Kind::kTime},
    MetricRow{Metric::kP95, "p95", Kind::kTime},
    MetricRow{Metric::kP99, "p99", Kind::kTime},
    MetricRow{Metric::kHit, "hit", Kind::kShare},
    MetricRow{Metric::kFlashReads, "flash_reads", Kind::kRate},
    MetricRow{Metric::kFlashBandwidth, "flash_bandwidth", Kind::kBandwidth},
    MetricRow{Metric::kScmBandwidth, "scm_bandwidth", Kind::kBandwidth},
    MetricRow{Metric::kScmWrites, "scm_writes", Kind::kBandwidth},
    MetricRow{Metric::kCpu, "cpu", Kind::kShare},
    MetricRow{Metric::kLifetime, "lifetime", Kind::kYears},
    MetricRow{Metric::kCost, "cost", Kind::kMoney},
    MetricRow{Metric::kWatts, "watts", Kind::kPower},
};

// The first is what the figures are in.
std::vector<BoundUnit> UnitsOf(Kind kind) {
  switch (kind) {
    case Kind::kRate:
      return {{"/s", 1}, {"", 1}, {"k", 1e3}, {"k/s", 1e3}, {"M", 1e6}, {"M/s", 1e6}};
    case Kind::kTime:
      return {{"us", 1}, {"ns", 1e-3}, {"ms", 1e3}, {"s", 1e6}};
    case Kind::kShare:
      return {{"", 1}, {"%", 0.01}};
    case Kind::kBandwidth:
      return {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}};
    case Kind::kYears:
      return {{"years", 1}, {"y", 1}};
    case Kind::kMoney:
      return {{"", 1}, {"k", 1e3}, {"M", 1e6}};
    case Kind::kPower:
      return {{"W", 1}, {"", 1}, {"kW", 1e3}};
  }
  return {};
}

const MetricRow& RowOf(Metric metric) {
  return *std::find_if(kMetrics.begin(), kMetrics.end(), [&](const MetricRow& row) { return row.metric == metric; });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string Listed(auto&& names) {
  std::string all;
  for (std::string_view name : names)
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name.empty() ? "no unit" : name);
  return all;
}

Status Refused(std::string_view part, const std::string& why) {
  return Status::InvalidArgument(fmt::format("--target: \"{}\": {}", part, why));
}

bool Number(std::string_view* text, double* value) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc() || !std::isfinite(*value) || *value < 0) return false;
  *text = Trim(text->substr(static_cast<size_t>(end - text->data())));
  return true;
}

Status ParseBound(std::string_view part, std::string_view text, const MetricRow& row, Target* target) {
  constexpr std::string_view kBaseline = "baseline";
  target->bound = 1;
  target->of_baseline = text == kBaseline;
  if (target->of_baseline) return Status::Ok();
  if (!Number(&text, &target->bound))
    return Refused(part, "behind the comparison stands a number, or a number * baseline; such as 0.95*baseline or 1ms");
  if (!text.empty() && text.front() == '*') {
    target->of_baseline = Trim(text.substr(1)) == kBaseline;
    return target->of_baseline ? Status::Ok() : Refused(part, "only the baseline can be multiplied: 0.95*baseline");
  }
  const std::vector<BoundUnit> units = UnitsOf(row.kind);
  for (const BoundUnit& unit : units) {
    if (unit.name != text) continue;
    target->bound *= unit.factor;
    return Status::Ok();
  }
  std::vector<std::string_view> names;
  for (const BoundUnit& unit : units) names.push_back(unit.name);
  return Refused(part, fmt::format("{} is given in one of {}, not in \"{}\"", row.name, Listed(names), text));
}

Status ParseOne(std::string_view part, Target* target) {
  const size_t at = part.find_first_of("<>=");
  if (at == std::string_view::npos || at + 1 >= part.size() || part[at] == '=' || part[at + 1] != '=')
    return Refused(part, "a target is METRIC >= BOUND or METRIC <= BOUND");
  const std::string_view name = Trim(part.substr(0, at));
  const auto* const row =
      std::find_if(kMetrics.begin(), kMetrics.end(), [&](const MetricRow& one) { return one.name == name; });
  if (row == kMetrics.end()) {
    std::vector<std::string_view> names;
    for (const MetricRow& one : kMetrics) names.push_back(one.name);
    return Refused(part, fmt::format("\"{}\" is no metric; there are {}", name, Listed(names)));
  }
  target->text = std::string(part);
  target->metric = row->metric;
  target->at_least = part[at] == '>';
  return ParseBound(part, Trim(part.substr(at + 2)), *row, target);
}

Status CheckTogether(const std::vector<Target>& targets) {
  for (const Target& low : targets) {
    for (const Target& high : targets) {
      if (low.metric == high.metric && low.of_baseline == high.of_baseline && low.at_least && !high.at_least &&
          low.bound > high.bound)
        return Refused(low.text, fmt::format("nothing can be so and \"{}\" at once; leave one out", high.text));
    }
  }
  return Status::Ok();
}

const Bracket* BracketOf(const Figures& figures, Metric metric) {
  switch (metric) {
    case Metric::kThroughput:
      return &figures.prediction.throughput;
    case Metric::kMean:
      return &figures.prediction.mean_us;
    case Metric::kP50:
      return &figures.prediction.p50_us;
    case Metric::kP95:
      return &figures.prediction.p95_us;
    case Metric::kP99:
      return &figures.prediction.p99_us;
    default:
      return nullptr;
  }
}

}  // namespace

double ValueOf(const Figures& figures, Metric metric) {
  if (const Bracket* bracket = BracketOf(figures, metric)) return bracket->value;
  const Prediction& prediction = figures.prediction;
  switch (metric) {
    case Metric::kHit:
      return 1 - prediction.shares.miss();
    case Metric::kFlashReads:
      return prediction.flash_reads_per_s;
    case Metric::kFlashBandwidth:
      return prediction.flash_bytes_per_s;
    case Metric::kScmBandwidth:
      return prediction.scm_read_bytes_per_s;
    case Metric::kScmWrites:
      return prediction.scm_written_bytes_per_s;
    case Metric::kCpu:
      return prediction.cpu_share;
    case Metric::kLifetime:
      return figures.lifetime_years;
    case Metric::kCost:
      return figures.cost;
    default:
      return figures.watts;
  }
}

double WorstOf(const Figures& figures, Metric metric, bool at_least) {
  if (const Bracket* bracket = BracketOf(figures, metric)) return at_least ? bracket->low : bracket->high;
  if (metric == Metric::kHit) return ValueOf(figures, metric) - figures.prediction.shares.miss_band;
  return ValueOf(figures, metric);
}

double Target::Bound(const Figures& baseline) const { return of_baseline ? bound * ValueOf(baseline, metric) : bound; }

double Target::WorstBound(const Figures& baseline) const {
  return of_baseline ? bound * WorstOf(baseline, metric, at_least) : bound;
}

Status ParseTargets(std::string_view text, std::vector<Target>* targets) {
  targets->clear();
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    Target target;
    MEZZ_RETURN_IF_ERROR(ParseOne(part, &target));
    targets->push_back(std::move(target));
  }
  if (targets->empty())
    return Status::InvalidArgument(
        "--target is empty; say what the server must do, such as 'throughput>=0.95*baseline; p99<=1ms'");
  return CheckTogether(*targets);
}

std::string_view NameOf(Metric metric) { return RowOf(metric).name; }
std::string_view UnitOf(Metric metric) { return UnitsOf(RowOf(metric).kind).front().name; }

double Slack(const Target& target, double bound, double value) {
  if (std::isinf(value)) return target.at_least == (value > 0) ? 1 : -1e9;
  if (std::isinf(bound)) return target.at_least ? -1e9 : 1;  // a baseline that is overloaded asks for anything or all
  const double difference = target.at_least ? value - bound : bound - value;
  return bound != 0 ? difference / bound : difference;
}

}  // namespace mezz::plan
