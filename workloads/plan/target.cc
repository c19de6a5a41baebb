// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

#include "cache/base/invalid.h"
#include "cache/base/text.h"

namespace mezz::plan {
namespace {

struct BoundUnit {
  std::string_view name;
  double factor;
};
std::string_view UnitText(const BoundUnit& unit) { return unit.name.empty() ? "no unit" : unit.name; }

// The first is what the figures are in.
constexpr BoundUnit kRate[] = {{"/s", 1}, {"", 1}, {"k", 1e3}, {"k/s", 1e3}, {"M", 1e6}, {"M/s", 1e6}};
constexpr BoundUnit kTime[] = {{"us", 1}, {"ns", 1e-3}, {"ms", 1e3}, {"s", 1e6}};
constexpr BoundUnit kShare[] = {{"", 1}, {"%", 0.01}};
constexpr BoundUnit kBandwidth[] = {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}};
constexpr BoundUnit kYears[] = {{"years", 1}, {"y", 1}};
constexpr BoundUnit kMoney[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}};
constexpr BoundUnit kPower[] = {{"W", 1}, {"", 1}, {"kW", 1e3}};

struct MetricRow {
  std::string_view name;
  std::span<const BoundUnit> units;
  Bracket (*of)(const Figures& figures);
};

constexpr Bracket Within(double value, double band) { return {value - band, value, value + band}; }
// Of what is without a bracket.
constexpr Bracket Sure(double value) { return {value, value, value}; }

// In the order of Metric.
constexpr std::array kMetrics = {
    MetricRow{"throughput", kRate, [](const Figures& f) { return f.prediction.throughput; }},
    MetricRow{"mean", kTime, [](const Figures& f) { return f.prediction.mean_us; }},
    MetricRow{"p50", kTime, [](const Figures& f) { return f.prediction.p50_us; }},
    MetricRow{"p95", kTime, [](const Figures& f) { return f.prediction.p95_us; }},
    MetricRow{"p99", kTime, [](const Figures& f) { return f.prediction.p99_us; }},
    MetricRow{"hit", kShare,
              [](const Figures& f) { return Within(1 - f.prediction.shares.miss(), f.prediction.shares.miss_band); }},
    MetricRow{"flash_reads", kRate, [](const Figures& f) { return Sure(f.prediction.flash_reads_per_s); }},
    MetricRow{"flash_bandwidth", kBandwidth, [](const Figures& f) { return Sure(f.prediction.flash_bytes_per_s); }},
    MetricRow{"scm_bandwidth", kBandwidth, [](const Figures& f) { return Sure(f.prediction.scm_read_bytes_per_s); }},
    MetricRow{"scm_writes", kBandwidth, [](const Figures& f) { return Sure(f.prediction.scm_written_bytes_per_s); }},
    MetricRow{"cpu", kShare, [](const Figures& f) { return Sure(f.prediction.cpu_share); }},
    MetricRow{"lifetime", kYears, [](const Figures& f) { return Sure(f.lifetime_years); }},
    MetricRow{"cost", kMoney, [](const Figures& f) { return Sure(f.cost); }},
    MetricRow{"watts", kPower, [](const Figures& f) { return Sure(f.watts); }},
};
static_assert(kMetrics.size() == static_cast<size_t>(Metric::kWatts) + 1);
constexpr const MetricRow& RowOf(Metric metric) { return kMetrics[static_cast<size_t>(metric)]; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

Status Refused(std::string_view part, const std::string& why) { return Invalid("--target: \"{}\": {}", part, why); }

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
  for (const BoundUnit& unit : row.units) {
    if (unit.name != text) continue;
    target->bound *= unit.factor;
    return Status::Ok();
  }
  return Refused(part,
                 fmt::format("{} is given in one of {}, not in \"{}\"", row.name, Listed(row.units, UnitText), text));
}

Status ParseOne(std::string_view part, Target* target) {
  const size_t at = part.find_first_of("<>=");
  if (at == std::string_view::npos || at + 1 >= part.size() || part[at] == '=' || part[at + 1] != '=')
    return Refused(part, "a target is METRIC >= BOUND or METRIC <= BOUND");
  const std::string_view name = Trim(part.substr(0, at));
  const auto* const row = std::ranges::find(kMetrics, name, &MetricRow::name);
  if (row == kMetrics.end())
    return Refused(part, fmt::format("\"{}\" is no metric; there are {}", name, Listed(kMetrics, &MetricRow::name)));
  target->text = std::string(part);
  target->metric = static_cast<Metric>(row - kMetrics.begin());
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

}  // namespace

double ValueOf(const Figures& figures, Metric metric) { return RowOf(metric).of(figures).value; }

double WorstOf(const Figures& figures, Metric metric, bool at_least) {
  const Bracket bracket = RowOf(metric).of(figures);
  return at_least ? bracket.low : bracket.high;
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
    return Invalid("--target is empty; say what the server must do, such as 'throughput>=0.95*baseline; p99<=1ms'");
  return CheckTogether(*targets);
}

std::string_view NameOf(Metric metric) { return RowOf(metric).name; }
std::string_view UnitOf(Metric metric) { return RowOf(metric).units.front().name; }

double Slack(const Target& target, double bound, double value) {
  if (std::isinf(value)) return target.at_least == (value > 0) ? 1 : -1e9;
  if (std::isinf(bound)) return target.at_least ? -1e9 : 1;  // a baseline that is overloaded asks for anything or all
  const double difference = target.at_least ? value - bound : bound - value;
  return bound != 0 ? difference / bound : difference;
}

}  // namespace mezz::plan
