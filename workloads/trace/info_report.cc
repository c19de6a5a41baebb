// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/info_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cache/base/text.h"
#include "workloads/readers/open_trace.h"

namespace mezz {
namespace {

using nlohmann::json;

double ShareOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string Line(std::string_view name, std::string_view value) { return fmt::format("{:<16} {}\n", name, value); }

std::string Spread(const LogHistogram& values) {
  return fmt::format("median {}, p90 {}, p99 {}, max {}, mean {:.1f}", values.Percentile(0.5), values.Percentile(0.9),
                     values.Percentile(0.99), values.max(), values.mean());
}
std::string SpreadLine(std::string_view name, const LogHistogram& values) {
  return values.count() == 0 ? "" : Line(name, Spread(values));
}

json SpreadJson(const LogHistogram& values) {
  return {{"count", values.count()},        {"min", values.min()},
          {"p25", values.Percentile(0.25)}, {"p50", values.Percentile(0.5)},
          {"p75", values.Percentile(0.75)}, {"p90", values.Percentile(0.9)},
          {"p99", values.Percentile(0.99)}, {"max", values.max()},
          {"mean", values.mean()}};
}

// "get 91.0 %, put 9.0 %": what there is of `names`.
template <typename Counts, typename NameOf>
std::string Mix(const Counts& counts, uint64_t all, NameOf&& name_of) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text +=
        fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", name_of(i), counts[i], Percent(ShareOf(counts[i], all)));
  }
  return text;
}

std::string_view RoleName(size_t role) { return ToString(static_cast<BlockRole>(role)); }

std::string Footprint(const TraceInfo& info) {
  if (info.keys_without_size == info.distinct_keys) return "";
  std::string text = ExactBytes(info.footprint_bytes);
  if (info.keys_without_size > 0) text += fmt::format(", without {} keys of unknown size", info.keys_without_size);
  return Line("footprint", text);
}

std::string SkewLines(const TraceInfo& info) {
  const Skew& skew = info.skew;
  std::string text =
      Line("skew", fmt::format("Zipf exponent {:.2f}; of the accesses, {} go to the top 1 % of the keys, {} to the top "
                               "10 %, {} to the top 25 %",
                               skew.zipf_exponent, Percent(skew.top_1_percent), Percent(skew.top_10_percent),
                               Percent(skew.top_25_percent)));
  text += Line("one-hit keys", fmt::format("{} ({} of the keys)", skew.one_hit_keys,
                                           Percent(ShareOf(skew.one_hit_keys, info.distinct_keys))));
  return text;
}

std::string ReuseLines(const TraceInfo& info) {
  const uint64_t reuses = info.accesses - info.distinct_keys;
  std::string text = Line(
      "reuse", fmt::format("{} of the accesses are to a key seen before", Percent(ShareOf(reuses, info.accesses))));
  if (info.reuse_distance.count() > 0) {
    text += Line("  distance", fmt::format("{} distinct keys between{}", Spread(info.reuse_distance),
                                           info.reuse_sample < 1 ? fmt::format(" (from a sample of {:.3g} of the keys)",
                                                                               info.reuse_sample)
                                                                 : ""));
  }
  if (info.reuse_us.count() > 0) {
    const auto seconds = [&](double share) { return static_cast<double>(info.reuse_us.Percentile(share)) / 1e6; };
    text += Line("  time",
                 fmt::format("median {:.6g} s, p90 {:.6g} s, p99 {:.6g} s", seconds(0.5), seconds(0.9), seconds(0.99)));
  }
  return text;
}

// What only richer traces say.
std::string DetailLines(const TraceInfo& info) {
  std::string text;
  if (info.roles[static_cast<size_t>(BlockRole::kData)] != info.requests)
    text += Line("roles", Mix(info.roles, info.requests, RoleName));
  std::string levels;
  for (const auto& [level, count] : info.levels)
    levels += fmt::format("{}L{} {}", levels.empty() ? "" : ", ", level, Percent(ShareOf(count, info.requests)));
  if (!levels.empty()) text += Line("levels", levels);
  if (info.column_families > 1) text += Line("column families", fmt::format("{}", info.column_families));
  if (info.clients > 0) text += Line("clients", fmt::format("{}", info.clients));
  const uint64_t recorded = info.recorded_hits + info.recorded_misses;
  if (recorded > 0) {
    text += Line("recorded hits", fmt::format("{} of {}", Percent(ShareOf(info.recorded_hits, recorded)), recorded));
  }
  if (info.no_inserts > 0) text += Line("not inserted", Percent(ShareOf(info.no_inserts, info.requests)));
  if (info.has_time) {
    const double seconds = static_cast<double>(info.last_us - info.first_us) / 1e6;
    text +=
        Line("time span",
             fmt::format(
                 "{:.6g} s from {:.6f}{}", seconds, static_cast<double>(info.first_us) / 1e6,
                 seconds > 0 ? fmt::format(", {:.6g} requests/s", static_cast<double>(info.requests) / seconds) : ""));
  }
  return text;
}

template <typename Counts, typename NameOf>
json MixJson(const Counts& counts, NameOf&& name_of) {
  json mix = json::object();
  for (size_t i = 0; i < counts.size(); ++i) mix[std::string(name_of(i))] = counts[i];
  return mix;
}

}  // namespace

std::string InfoTable(const TraceInfo& info) {
  std::string text = Line("trace", info.path);
  text += Line("format", fmt::format("{}: {}", info.format, AboutTraceFormat(info.format)));
  if (info.damaged_records > 0) text += Line("damaged records", fmt::format("{}, left out", info.damaged_records));
  for (const std::string& remark : info.remarks) text += Line("remark", remark);
  text += Line("requests", fmt::format("{}", info.requests));
  if (info.extents > 0) {
    text += Line("accesses", fmt::format("{}, once {} extents are cut into blocks", info.accesses, info.extents));
  }
  text += Line("distinct keys", fmt::format("{}", info.distinct_keys));
  text += Footprint(info);
  text += Line("operations", Mix(info.operations, info.requests, [](size_t i) { return kWordsOf<Operation>[i]; }));
  text += SpreadLine("key bytes", info.key_bytes) + SpreadLine("value bytes", info.value_bytes) +
          SpreadLine("extent bytes", info.extent_bytes) + SpreadLine("scan lengths", info.scan_lengths);
  return text + SkewLines(info) + ReuseLines(info) + DetailLines(info);
}

json InfoJson(const TraceInfo& info) {
  json levels = json::object();
  for (const auto& [level, count] : info.levels) levels[std::to_string(level)] = count;
  return {{"path", info.path},
          {"format", info.format},
          {"damaged_records", info.damaged_records},
          {"remarks", info.remarks},
          {"requests", info.requests},
          {"extents", info.extents},
          {"accesses", info.accesses},
          {"distinct_keys", info.distinct_keys},
          {"footprint_bytes", info.footprint_bytes},
          {"keys_without_size", info.keys_without_size},
          {"keys_of_changing_size", info.keys_of_changing_size},
          {"operations", MixJson(info.operations, [](size_t i) { return kWordsOf<Operation>[i]; })},
          {"key_bytes", SpreadJson(info.key_bytes)},
          {"value_bytes", SpreadJson(info.value_bytes)},
          {"extent_bytes", SpreadJson(info.extent_bytes)},
          {"scan_lengths", SpreadJson(info.scan_lengths)},
          {"skew",
           {{"zipf_exponent", info.skew.zipf_exponent},
            {"top_1_percent", info.skew.top_1_percent},
            {"top_10_percent", info.skew.top_10_percent},
            {"top_25_percent", info.skew.top_25_percent},
            {"one_hit_keys", info.skew.one_hit_keys}}},
          {"reuse",
           {{"share", ShareOf(info.accesses - info.distinct_keys, info.accesses)},
            {"distance", SpreadJson(info.reuse_distance)},
            {"distance_sample", info.reuse_sample},
            {"time_us", SpreadJson(info.reuse_us)}}},
          {"roles", MixJson(info.roles, RoleName)},
          {"levels", levels},
          {"recorded_hits", info.recorded_hits},
          {"recorded_misses", info.recorded_misses},
          {"no_inserts", info.no_inserts},
          {"clients", info.clients},
          {"column_families", info.column_families},
          {"has_time", info.has_time},
          {"first_us", info.first_us},
          {"last_us", info.last_us}};
}

}  // namespace mezz
