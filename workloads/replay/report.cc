// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <nlohmann/json.hpp>

#include "workloads/program/program.h"
#include "workloads/replay/caches/open_databases.h"
#include "workloads/replay/engine/fields.h"

namespace mezz {
namespace {

using nlohmann::json;

json ToJson(const Spread& spread) { return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}}; }

json RolesToJson(const std::map<std::string, RoleShares>& roles) {
  json all = json::object();
  for (const auto& [name, shares] : roles) {
    json one = {{"lookups", shares.lookups}, {"hit", shares.hit}, {"miss", shares.miss}};
    if (shares.dram_hit) one["dram_hit"] = *shares.dram_hit;
    if (shares.scm_hit) one["scm_hit"] = *shares.scm_hit;
    all[name] = std::move(one);
  }
  return all;
}

json FiguresToJson(const WindowRow& row, ReplayMode mode) {
  json one = {{"refusals", row.refusals}, {"operations", row.operations}, {"roles", RolesToJson(row.roles)}};
  AddFigures(row, mode == ReplayMode::kBlock, &one);
  return one;
}

json WindowsToJson(const std::vector<WindowRow>& windows, ReplayMode mode) {
  json all = json::array();
  for (const WindowRow& window : windows) all.push_back(FiguresToJson(window, mode));
  return all;
}

json RowToJson(const CacheRow& row, ReplayMode mode) {
  json one = FiguresToJson(row.total, mode);
  one["cache"] = row.cache;
  one["available"] = row.reported();
  if (!row.unavailable.empty()) one["reason"] = row.unavailable;
  if (!row.failure.empty()) one["reason"] = one["failed"] = row.failure;
  one["ops_per_s"] = ToJson(row.ops_per_s);
  one["ratio"] = ToJson(row.ratio);
  one["noisy"] = row.reported() && row.noise.noisy();
  one["noise"] = {{"rerun_spread", row.noise.rerun_spread < 0 ? json() : json(row.noise.rerun_spread)},
                  {"limit", Noise::kSpreadMax}};
  one["medium"] = row.medium;
  one["emulated"] = row.emulated;
  one["second_tier_idle"] = row.second_tier_idle;
  one["windows"] = WindowsToJson(row.windows, mode);
  one["cold_windows"] = WindowsToJson(row.cold_windows, mode);
  AddCdf(row.latency_cdf, &one);
  one["series"] = json::array();
  for (const SeriesPoint& point : row.series) one["series"].push_back(ToJson(point));
  one["cold_ops_per_s"] = json::array();
  for (const WindowRow& window : row.cold_windows) one["cold_ops_per_s"].push_back(window.ops_per_s());
  one["peak_rss_bytes"] = row.peak_rss_bytes;
  one["dram_tier_bytes"] = row.dram_tier_bytes;
  one["dram_beside_tier_bytes"] = row.dram_beside_bytes;
  one["dram_shards"] = row.dram_shards;
  if (row.dram_shards_usual != 0) one["dram_shards_usual"] = row.dram_shards_usual;
  one["pages"] = {{"resident_bytes", row.pages.resident_bytes}, {"huge_bytes", row.pages.huge_bytes}};
  one["only_fills_memtables"] = row.total.only_fills_memtables();
  if (!row.counters.empty()) one["counters"] = row.counters;
  return one;
}

bool Noisy(const ReplayReport& report) {
  return std::any_of(report.rows.begin(), report.rows.end(),
                     [](const CacheRow& row) { return row.reported() && row.noise.noisy(); });
}

json OptionsToJson(const ReplayOptions& o) {
  json caches = json::array();
  for (const CacheSpec& spec : o.caches) caches.push_back(spec.name);
  return {{"trace", o.trace},
          {"format", o.format},
          {"skip_bad", o.skip_bad},
          {"caches", caches},
          {"dram_bytes", o.dram_bytes()},
          {"scm_bytes", o.scm_bytes()},
          {"hybrid_uri", o.hybrid.ToUri()},
          {"db", o.db_dir},
          {"dbs", o.dbs},
          {"value_bytes", o.value_bytes},
          {"values", o.values},
          {"value_ratio", o.value_ratio},
          {"block_bytes", o.block_bytes},
          {"compression", o.compression},
          {"flash", FlashName(o.flash)},
          {"mode", o.mode == ReplayMode::kBlock ? "block" : "db"},
          {"unit_bytes", o.unit_bytes},
          {"sizes", o.sizes == BlockSizes::kTrace ? "bytes" : "unit"},
          {"index_in_cache", o.index_in_cache},
          {"threads", o.threads},
          {"warmup", o.warmup},
          {"warmup_ops", o.warmup_ops},
          {"warmup_settle", o.warmup_settle},
          {"cold_windows", o.cold_windows},
          {"repeats", o.repeats},
          {"seconds", o.seconds},
          {"verify", o.verify},
          {"rate", o.rate},
          {"timestamps", o.timestamps},
          {"keys", o.keys},
          {"scale", o.scale},
          {"ops", o.ops},
          {"skew", o.skew},
          {"put_share", o.put_share},
          {"write_buffer_bytes", o.memtable_bytes()},
          {"settle", o.settle_within ? "within" : "after"},
          {"block_trace", o.block_trace},
          {"lineage_trace", o.lineage_trace},
          {"seed", o.seed}};
}

struct CsvLine {
  const ReplayOptions& options;
  const CacheRow& row;
  const WindowRow& window;
  bool cold;
  size_t number;
};
struct CsvColumn {
  int place;
  std::string_view name;
  std::function<std::string(const CsvLine&)> text;
};

// From the left: the figures of a window, and between them what is the same for all windows of a row.
std::vector<CsvColumn> CsvColumns() {
  std::vector<CsvColumn> columns = {
      {1, "cache", [](const CsvLine& line) { return line.row.cache; }},
      {2, "phase", [](const CsvLine& line) { return line.cold ? "cold" : "measured"; }},
      {3, "window", [](const CsvLine& line) { return fmt::format("{}", line.number); }},
      {17, "emulated", [](const CsvLine& line) { return line.row.emulated ? "1" : "0"; }},
      {26, "flash", [](const CsvLine& line) { return std::string(FlashName(line.options.flash)); }},
      {27, "dram_shards", [](const CsvLine& line) { return fmt::format("{}", line.row.dram_shards); }},
      {28, "huge_pages", [](const CsvLine& line) { return fmt::format("{:.4f}", line.row.pages.huge_share()); }}};
  for (const Field& field : WindowFields()) {
    if (field.csv_place == 0) continue;
    columns.push_back(
        {field.csv_place, field.name, [&field](const CsvLine& line) { return CsvText(field, line.window); }});
  }
  std::ranges::sort(columns, {}, &CsvColumn::place);
  assert(std::ranges::adjacent_find(columns, {}, &CsvColumn::place) == columns.end());
  return columns;
}

}  // namespace

json RunManifest(const ReplayOptions& options) {
  json manifest = ManifestOf("mezz_replay", options.command_line);
  manifest.update({{"rocksdb", RocksDbVersion()},
                   {"seed", options.seed},
                   {"model", options.hybrid.scm.ModelText()},
                   {"flash", ToJson(options.flash)},
                   {"options", OptionsToJson(options)}});
  return manifest;
}

json ReportJson(const ReplayOptions& options, const ReplayReport& report) {
  json result = RunManifest(options);
  result.update({{"medium", report.medium},
                 {"emulated", report.emulated},
                 {"complete", report.complete},
                 {"noisy", Noisy(report)},
                 {"warmup_settled", report.warmup_settled},
                 {"workload", report.workload},
                 {"mean_block_bytes", report.mean_block_bytes},
                 {"window_order", report.window_order}});
  if (options.mode == ReplayMode::kBlock) {
    result.update({{"mode", "block"},
                   {"accesses", report.requests},
                   {"unique", report.distinct_keys},
                   {"footprint_bytes", report.database_bytes}});
  } else {
    result.update({{"distinct_keys", report.distinct_keys},
                   {"database_bytes", report.database_bytes},
                   {"database_reused", report.database_reused}});
  }
  result["rows"] = json::array();
  for (const CacheRow& row : report.rows) result["rows"].push_back(RowToJson(row, options.mode));
  return result;
}

std::string ReportCsv(const ReplayOptions& options, const ReplayReport& report) {
  const std::vector<CsvColumn> columns = CsvColumns();
  std::string text;
  for (const CsvColumn& column : columns) text += fmt::format("{}{}", text.empty() ? "" : ",", column.name);
  text += '\n';
  for (const CacheRow& row : report.rows) {
    for (const bool cold : {true, false}) {
      const std::vector<WindowRow>& windows = cold ? row.cold_windows : row.windows;
      for (size_t i = 0; i < windows.size(); ++i) {
        const CsvLine line{options, row, windows[i], cold, i + 1};
        for (const CsvColumn& column : columns) {
          text += column.text(line);
          text += &column == &columns.back() ? '\n' : ',';
        }
      }
    }
  }
  return text;
}

}  // namespace mezz
