// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cache/base/text.h"
#include "workloads/replay/engine/fields.h"
#include "workloads/report/manifest_difference.h"

namespace mezz {
namespace {

using nlohmann::json;

bool IsBlockMode(const json& result) { return result.value("mode", json()) == "block"; }
bool IsTrue(const json& object, const char* name) { return object.value(name, json()) == true; }

// Null: the cache is not in the result, or was not available.
const json* RowOf(const json& result, const std::string& cache) {
  for (const json& row : result["rows"]) {
    if (row["cache"] == cache) return row.value("available", json(true)) == true ? &row : nullptr;
  }
  return nullptr;
}

// Of each window; an older result of the block mode has but one value, over its whole run.
std::vector<double> SamplesOf(const json& row, std::string_view key) {
  std::vector<double> samples;
  const auto take = [&](const json& from) {
    const auto at = from.is_object() ? from.find(std::string(key)) : from.end();
    if (at != from.end() && at->is_number()) samples.push_back(at->get<double>());
  };
  if (!row.contains("windows")) {
    take(row);
  } else if (row["windows"].is_array()) {
    for (const json& window : row["windows"]) take(window);
  }
  return samples;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void CompareRows(const std::string& cache, const json& a, const json& b, Comparison* comparison) {
  size_t compared = 0;
  for (const Field& field : WindowFields()) {
    if (field.compared.empty()) continue;
    const std::vector<double> in_a = SamplesOf(a, field.name);
    const std::vector<double> in_b = SamplesOf(b, field.name);
    if (in_a.empty() || in_b.empty()) continue;
    ++compared;
    comparison->differences.push_back({.cache = cache,
                                       .measure = std::string(field.compared),
                                       .is_share = field.unit == Unit::kShare,
                                       .windows_a = in_a.size(),
                                       .windows_b = in_b.size(),
                                       .median_a = Median(in_a),
                                       .median_b = Median(in_b),
                                       .test = MannWhitneyTest(in_a, in_b)});
  }
  if (compared == 0) comparison->warnings.push_back(fmt::format("{} finished no window in A or in B", cache));
  for (const char* name : {"medium", "emulated"}) {
    const json of_a = a.value(name, json());
    const json of_b = b.value(name, json());
    if (of_a != of_b) {
      comparison->warnings.push_back(fmt::format("{} of {}: {} in A, {} in B", name, cache, of_a.dump(), of_b.dump()));
    }
  }
}

void WarnOf(const std::string& name, const json& result, std::vector<std::string>* warnings) {
  if (IsTrue(result, "asserts")) warnings->push_back(name + " is of a debug build: its figures mean nothing");
  if (IsTrue(result, "noisy")) warnings->push_back(name + " says that its machine was too noisy");
  if (result.value("complete", json()) == false) warnings->push_back(name + " was interrupted");
}

std::string Names(const json& result) {
  const std::string names = Listed(result["rows"], [](const json& row) { return row["cache"].get<std::string>(); });
  return names.empty() ? "none" : names;
}

std::string Number(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  return std::abs(value) >= 1e4 ? fmt::format("{:.1f}k", value / 1e3) : fmt::format("{:.4g}", value);
}

std::string Change(const Difference& d) {
  const double change = d.median_b - d.median_a;
  if (d.is_share) return fmt::format("{:+.2f} points", 100 * change);
  if (change == 0) return "0.0 %";
  if (d.median_a == 0) return "from nothing";
  const double ratio = d.median_b / d.median_a;
  return ratio >= 10 ? fmt::format("{:.3g} times", ratio) : fmt::format("{:+.1f} %", 100 * change / d.median_a);
}

std::string Verdict(const Difference& d) {
  const std::string windows =
      d.windows_a == d.windows_b ? fmt::format("{}", d.windows_a) : fmt::format("{} and {}", d.windows_a, d.windows_b);
  if (d.significant()) return "yes";
  if (d.all_equal()) return "no, all are equal";
  const bool one = d.windows_a == 1 && d.windows_b == 1;
  if (!d.too_few()) return fmt::format("not with {} windows", windows);
  return fmt::format("{} {} too few", windows, one ? "window is" : "windows are");
}

std::string HowToRead(const Comparison& comparison) {
  size_t possible = 0;
  bool approximated = false;
  for (const Difference& d : comparison.differences) {
    if (!d.too_few() && !d.all_equal()) ++possible;
    approximated |= !d.test.exact;
  }
  return fmt::format(
      "\nA, B: medians of the windows. p: two-sided Mann-Whitney U test (1947), {}, the windows as samples.\n"
      "At {:.0f} % about {:.0f} of the {} tests that could be significant would be by chance alone. The windows of one "
      "run share\nits machine and its caches' history, so p flatters: two runs of one command say what the machine "
      "adds.\n",
      approximated ? "approximate above 50 values" : "exact", 100 * kSignificantP,
      kSignificantP * static_cast<double>(possible), possible);
}

}  // namespace

Status CompareResults(const json& a, const json& b, Comparison* comparison) {
  if (IsBlockMode(a) != IsBlockMode(b)) {
    return Status::InvalidArgument(
        fmt::format("--compare needs two results of the same mode; the first is of --mode={}, the second of the other",
                    IsBlockMode(a) ? "block" : "db"));
  }
  *comparison = {};
  WarnOf("A", a, &comparison->warnings);
  WarnOf("B", b, &comparison->warnings);
  for (std::string& difference : ManifestDifferences(a, b)) comparison->warnings.push_back(std::move(difference));
  bool common = false;
  for (const json& row : a["rows"]) {
    const auto cache = row["cache"].get<std::string>();
    const json* in_a = RowOf(a, cache);
    const json* in_b = RowOf(b, cache);
    if (in_a == nullptr || in_b == nullptr) continue;
    common = true;
    CompareRows(cache, *in_a, *in_b, comparison);
  }
  if (common) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "--compare found no cache that ran in both results: the first has {}; the second has {}", Names(a), Names(b)));
}

std::string ComparisonTable(const Comparison& comparison) {
  std::string text;
  for (const std::string& warning : comparison.warnings) text += "warning: " + warning + "\n";
  if (!comparison.warnings.empty()) text += "\n";
  text += fmt::format("{:<22} {:<17} {:>9} {:>9} {:>12} {:>6}  {}\n", "cache", "measure", "A", "B", "change", "p",
                      "significant");
  std::string last;
  for (const Difference& d : comparison.differences) {
    text += fmt::format("{:<22} {:<17} {:>9} {:>9} {:>12} {:>6.3f}  {}\n", d.cache == last ? "" : d.cache, d.measure,
                        Number(d.median_a), Number(d.median_b), Change(d), d.test.p, Verdict(d));
    last = d.cache;
  }
  return text + HowToRead(comparison);
}

}  // namespace mezz
