// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workloads/program.h"
#include "workloads/replay/database.h"

namespace mezz {
namespace {

using nlohmann::json;

std::string Rate(double ops_per_s) {
  if (ops_per_s >= 1e6) return fmt::format("{:.2f}M", ops_per_s / 1e6);
  if (ops_per_s >= 1e5) return fmt::format("{:.0f}k", ops_per_s / 1e3);
  return ops_per_s >= 1e3 ? fmt::format("{:.1f}k", ops_per_s / 1e3) : fmt::format("{:.0f}", ops_per_s);
}

std::string Compact(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string SpreadText(const Spread& spread, std::string (*text)(double)) {
  return fmt::format("{} ({}-{})", text(spread.median), text(spread.min), text(spread.max));
}

std::string Marks(const CacheRow& row) {
  return fmt::format("{}{}{}", row.emulated ? "E" : "", row.second_tier_idle ? "I" : "", row.noise.noisy() ? "n" : "");
}

std::string NoiseText(const ReplayReport& report) {
  double largest = 0;
  bool noisy = false, too_few = false;
  for (const CacheRow& row : report.rows) {
    if (!row.reported() || !row.noise.noisy()) continue;
    noisy = true;
    too_few |= row.noise.rerun_spread < 0;
    largest = std::max(largest, row.noise.rerun_spread);
  }
  if (!noisy) return "";
  if (too_few) return "n: too few windows to say how far another run would differ; use --repeats=3 or more\n";
  return fmt::format("n: too noisy: the median of another run may differ by more than {:.0f} % (by up to {:.0f} %)\n",
                     100 * Noise::kSpreadMax, 100 * largest);
}

// Of a cache that packed: how much, and how much smaller.
std::string PackedLine(const CacheRow& row) {
  const PackedCounts& packed = row.total.packed;
  if (packed.hits + packed.writes == 0) return "";
  const auto percent = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  return fmt::format("{}: packed {:.0f} % of its SCM writes, {:.2f} times smaller; unpacked {:.0f} % of its SCM hits\n",
                     row.cache, percent(packed.writes, row.total.scm_writes), packed.ratio(),
                     percent(packed.hits, row.total.tiers.second_hits));
}

// "title: CACHE FIGURE, CACHE FIGURE", in as many lines as it takes.
template <typename Figure>
std::string FigureOfEach(const ReplayReport& report, std::string_view title, const Figure& figure) {
  constexpr size_t kColumns = 120;
  std::string text;
  std::string line(title);
  for (const CacheRow& row : report.rows) {
    if (!row.reported()) continue;
    const std::string one = fmt::format(" {} {}", row.cache, figure(row));
    if (line.size() + one.size() + 1 > kColumns) {
      text += line + "\n";
      line = " ";
    }
    line += one + ",";
  }
  line.back() = '\n';
  return text + line;
}

// What the caches are to have alike.
std::string FairnessLines(const ReplayReport& report) {
  return FigureOfEach(report, "DRAM shards:",
                      [](const CacheRow& row) {
                        return row.dram_shards == 0 ? std::string("?") : std::to_string(row.dram_shards);
                      }) +
         FigureOfEach(report, "memory in huge pages:", [](const CacheRow& row) {
           return row.pages.resident_bytes == 0 ? std::string("?")
                                                : fmt::format("{:.0f} %", 100 * row.pages.huge_share());
         });
}

// How well an emulated device's time was kept.
std::string FlashLine(const ReplayReport& report) {
  double least = 0, most = 0;
  for (const CacheRow& row : report.rows) {
    const FlashCounts& flash = row.total.flash;
    if (!row.reported() || flash.reads == 0) continue;
    const double share = flash.took_us() / flash.asked_us();
    least = most == 0 ? share : std::min(least, share);
    most = std::max(most, share);
  }
  if (most == 0) return "";
  return fmt::format(
      "reads of the emulated flash took {:.1f} to {:.1f} % of the time that the device would have taken\n", 100 * least,
      100 * most);
}

// Of --dram, where a cache of ours keeps some for itself.
std::string DramLines(const ReplayReport& report) {
  std::string text;
  for (const CacheRow& row : report.rows) {
    if (row.dram_beside_bytes == 0) continue;
    text += fmt::format("{}: of its DRAM {:.1f} MiB are the DRAM tier, {:.2f} MiB index, policy and the rest of ours\n",
                        row.cache, static_cast<double>(row.dram_tier_bytes) / (1 << 20),
                        static_cast<double>(row.dram_beside_bytes) / (1 << 20));
  }
  if (!text.empty()) text += "(RocksDB's caches charge their tables and entries to their capacity)\n";
  return text;
}

std::string DeadLine(const CacheRow& row) {
  if (row.total.scm_dead_share <= 0) return "";
  return fmt::format("{}: blocks of deleted files took {:.1f} % of its SCM at the end\n", row.cache,
                     100 * row.total.scm_dead_share);
}

// Of --mode=block.
std::string BlockTableRow(const CacheRow& row) {
  const WindowRow& t = row.total;
  return fmt::format("{:<19} {:>20} {:>18} {:>6.4f} {:>6.4f} {:>6.4f} {:>6.4f} {:>6.4f} {:>6} {:>6} {:>6} {}\n",
                     row.cache, SpreadText(row.ops_per_s, &Rate), SpreadText(row.ratio, &Compact), t.dram_hit,
                     t.scm_hit, t.miss, t.per_op(t.scm_writes), t.per_op(t.promotions), Compact(t.latency.p50_us),
                     Compact(t.latency.p99_us), Compact(t.latency.p99_9_us), Marks(row));
}

std::string TableRow(const ReplayOptions& o, const CacheRow& row) {
  if (!row.unavailable.empty()) return fmt::format("{:<19} not available: {}\n", row.cache, row.unavailable);
  if (!row.failure.empty()) return fmt::format("{:<19} failed: {}\n", row.cache, row.failure);
  if (row.windows.empty()) return fmt::format("{:<19} no window was finished\n", row.cache);
  if (o.mode == ReplayMode::kBlock) return BlockTableRow(row);
  const WindowRow& t = row.total;
  return fmt::format("{:<19} {:>20} {:>18} {:>6} {:>6} {:>6} {:>5.1f} {:>5.1f} {:>6.3f} {:>6.0f} {:>6} {}\n", row.cache,
                     SpreadText(row.ops_per_s, &Rate), SpreadText(row.ratio, &Compact), Compact(t.latency.p50_us),
                     Compact(t.latency.p95_us), Compact(t.latency.p99_us), 100 * t.dram_hit, 100 * t.scm_hit,
                     t.flash_reads_per_op, t.scm_bytes_written_per_op, Compact(t.cpu_s_per_mop), Marks(row));
}

std::string TierSizes(const ReplayOptions& o) {
  if (!o.has_common_sizes()) return "";
  return fmt::format("{} MiB DRAM, {} MiB SCM, ", o.dram_bytes() >> 20, o.scm_bytes() >> 20);
}

std::string Headline(const ReplayOptions& o, const ReplayReport& report) {
  std::string what = report.workload;
  if (o.mode == ReplayMode::kBlock) {
    what += fmt::format(": {} accesses to {} blocks", report.requests, report.distinct_keys);
  }
  const std::string values = !o.values.empty() ? fmt::format("values cut from {}\n", o.values)
                             : o.value_ratio != 1
                                 ? fmt::format("values made for codecs to pack to 1/{}\n", o.value_ratio)
                                 : "";
  return fmt::format(
      "{}\nRocksDB {}, {} thread{}, {}{} MiB of data{} in blocks of {} bytes\n"
      "{}flash: {}\nSCM medium: {}{}\n\n",
      what, RocksDbVersion(), o.threads, o.threads == 1 ? "" : "s", TierSizes(o), report.database_bytes >> 20,
      o.dbs == 1 ? "" : fmt::format(" in {} databases", o.dbs), report.mean_block_bytes, values,
      o.flash == nullptr ? "disk, direct reads" : Describe(*o.flash), report.medium,
      report.emulated ? " (emulated)" : "");
}

std::string Head() {
  return fmt::format("{:<19} {:>20} {:>18} {:>6} {:>6} {:>6} {:>5} {:>5} {:>6} {:>6} {:>6}\n", "", "", "", "P50", "P95",
                     "P99", "DRAM", "2nd", "flash", "SCM", "CPU s") +
         fmt::format("{:<19} {:>20} {:>18} {:>6} {:>6} {:>6} {:>5} {:>5} {:>6} {:>6} {:>6}\n", "cache",
                     "ops/s (min-max)", "ratio (min-max)", "us", "us", "us", "hit %", "hit %", "rd/op", "B/op", "/Mop");
}

std::string BlockHead() {
  static constexpr char kLine[] = "{:<19} {:>20} {:>18} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}\n";
  return fmt::format(kLine, "", "", "", "DRAM", "2nd", "", "SCM", "promo-", "P50", "P99", "P99.9") +
         fmt::format(kLine, "cache", "accesses/s (min-max)", "ratio (min-max)", "hit", "hit", "miss", "writes", "tions",
                     "us", "us", "us");
}

std::string ColdLine(const CacheRow& row) {
  std::string line = fmt::format("  {:<19}", row.cache);
  for (const WindowRow& window : row.cold_windows)
    line += fmt::format(" {:>8} ({:>5}x)", Rate(window.ops_per_s), Compact(window.ratio));
  return line + "\n";
}

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

json SeriesToJson(const std::vector<SeriesPoint>& points) {
  json all = json::array();
  for (const SeriesPoint& point : points) {
    all.push_back({{"t_s", point.t_s},
                   {"seconds", point.seconds},
                   {"ops", point.ops},
                   {"dram_hit", point.dram_hit},
                   {"scm_hit", point.scm_hit},
                   {"flash_reads", point.flash_reads},
                   {"flash_bytes", point.flash_bytes},
                   {"scm_bytes_read", point.scm_bytes_read},
                   {"scm_bytes_written", point.scm_bytes_written},
                   {"p99_us", point.p99_us}});
  }
  return all;
}

json CostsToJson(const WindowRow& row) {
  json one = {{"dram_hit", row.dram_hit},
              {"scm_hit", row.scm_hit},
              {"flash_reads_per_op", row.flash_reads_per_op},
              {"flash_bytes_per_s", row.flash_bytes_per_s},
              {"scm_bytes_read_per_op", row.scm_bytes_read_per_op},
              {"scm_bytes_written_per_op", row.scm_bytes_written_per_op},
              {"cpu_s_per_mop", row.cpu_s_per_mop},
              {"context_switches_per_op", row.context_switches_per_op},
              {"demotions", row.demotions},
              {"promotions", row.promotions},
              {"clean_evictions", row.clean_evictions},
              {"refusals", row.refusals},
              {"operations", row.operations},
              {"not_found", row.not_found},
              {"roles", RolesToJson(row.roles)}};
  if (row.flash.reads != 0) {
    one["flash"] = {{"reads", row.flash.reads},
                    {"waits", row.flash.waits},
                    {"asked_us", row.flash.asked_us()},
                    {"took_us", row.flash.took_us()}};
  }
  if (row.packed.hits + row.packed.writes != 0) {
    one["packed"] = {{"scm_hits", row.packed.hits}, {"scm_writes", row.packed.writes}, {"ratio", row.packed.ratio()}};
  }
  if (row.scm_dead_share != kUnknownShare) one["scm_dead_share"] = row.scm_dead_share;
  AddLatencies(row.latency, &one);
  return one;
}

// Named as mezz_sim names them.
void AddAccesses(const WindowRow& row, json* one) {
  one->update({{"accesses", row.ops},
               {"miss", row.miss},
               {"misses", row.tiers.flash_reads},
               {"dram_hits", row.tiers.dram_hits()},
               {"scm_hits", row.tiers.second_hits},
               {"scm_writes", row.scm_writes},
               {"scm_writes_per_access", row.per_op(row.scm_writes)},
               {"scm_bytes_written_per_access", row.scm_bytes_written_per_op},
               {"promotions_per_access", row.per_op(row.promotions)}});
}

json WindowsToJson(const std::vector<WindowRow>& windows, ReplayMode mode) {
  json all = json::array();
  for (const WindowRow& window : windows) {
    json one = CostsToJson(window);
    if (mode == ReplayMode::kBlock) AddAccesses(window, &one);
    one["ops"] = window.ops;
    one["seconds"] = window.seconds;
    one["ops_per_s"] = window.ops_per_s;
    one["ratio"] = window.ratio;
    all.push_back(std::move(one));
  }
  return all;
}

json RowToJson(const CacheRow& row, ReplayMode mode) {
  json one = CostsToJson(row.total);
  if (mode == ReplayMode::kBlock) AddAccesses(row.total, &one);
  one["cache"] = row.cache;
  one["available"] = row.reported();
  if (!row.unavailable.empty()) one["reason"] = row.unavailable;
  if (!row.failure.empty()) one["reason"] = one["failed"] = row.failure;
  one["ops_per_s"] = ToJson(row.ops_per_s);
  one["ratio"] = ToJson(row.ratio);
  one["noisy"] = row.reported() && row.noise.noisy();
  one["noise"] = {{"rerun_spread", row.noise.rerun_spread < 0 ? json() : json(row.noise.rerun_spread)},
                  {"limit", Noise::kSpreadMax}};
  one["ops"] = row.total.ops;
  one["seconds"] = row.total.seconds;
  one["medium"] = row.medium;
  one["emulated"] = row.emulated;
  one["second_tier_idle"] = row.second_tier_idle;
  one["windows"] = WindowsToJson(row.windows, mode);
  one["cold_windows"] = WindowsToJson(row.cold_windows, mode);
  AddCdf(row.latency_cdf, &one);
  one["series"] = SeriesToJson(row.series);
  one["cold_ops_per_s"] = json::array();
  for (const WindowRow& window : row.cold_windows) one["cold_ops_per_s"].push_back(window.ops_per_s);
  one["peak_rss_bytes"] = row.peak_rss_bytes;
  one["dram_tier_bytes"] = row.dram_tier_bytes;
  one["dram_beside_tier_bytes"] = row.dram_beside_bytes;
  one["dram_shards"] = row.dram_shards;
  one["pages"] = {{"resident_bytes", row.pages.resident_bytes}, {"huge_bytes", row.pages.huge_bytes}};
  one["background"] = {{"flushes", row.background.flushes},
                       {"compactions", row.background.compactions},
                       {"written_gb", row.background.written_gb}};
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
          {"write_buffer_bytes", o.write_buffer_bytes},
          {"seed", o.seed}};
}

}  // namespace

std::string ReportTable(const ReplayOptions& options, const ReplayReport& report) {
  std::string text = Headline(options, report) + (options.mode == ReplayMode::kBlock ? BlockHead() : Head());
  bool emulated = false;
  bool idle = false;
  for (const CacheRow& row : report.rows) {
    text += TableRow(options, row);
    emulated |= row.emulated && row.reported();
    idle |= row.second_tier_idle;
  }
  if (emulated) text += "\nE: emulated: other memory stands for SCM, or a model adds its latency\n";
  if (idle) text += "I: idle: the second tier never hit; this is not a peer\n";
  text += NoiseText(report);
  text += FlashLine(report);
  text += FairnessLines(report);
  for (const CacheRow& row : report.rows) text += PackedLine(row) + DeadLine(row);
  text += DramLines(report);
  if (!report.warmup_settled) text += "the hit ratios had not settled when the warm-up ended\n";
  std::string cold;
  for (const CacheRow& row : report.rows) {
    if (!row.cold_windows.empty()) cold += ColdLine(row);
  }
  if (options.cold_windows > 0 && !cold.empty()) {
    text += "\nfrom cold, ops/s by window (ratio to the first cache):\n" + cold;
  }
  if (kAsserts) text += "\nthis is a debug build: its figures mean nothing\n";
  if (!report.complete) text += "\ninterrupted: only finished windows are in the table\n";
  return text;
}

json RunManifest(const ReplayOptions& options) {
  json manifest = ManifestOf("mezz_replay", options.command_line);
  manifest.update({{"rocksdb", RocksDbVersion()},
                   {"seed", options.seed},
                   {"model", std::string(ToString(options.hybrid.scm.model))},
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
  std::string text =
      "cache,phase,window,ops,seconds,ops_per_s,ratio,p50_us,p95_us,p99_us,p99_9_us,dram_hit,scm_hit,flash_reads_per_"
      "op,"
      "scm_bytes_written_per_op,cpu_s_per_mop,emulated,flash_bytes_per_s,scm_bytes_read_per_op,"
      "context_switches_per_op,demotions,promotions,clean_evictions,miss,scm_writes,flash,dram_shards,huge_pages\n";
  for (const CacheRow& row : report.rows) {
    for (const bool cold : {true, false}) {
      const std::vector<WindowRow>& windows = cold ? row.cold_windows : row.windows;
      for (size_t i = 0; i < windows.size(); ++i) {
        const WindowRow& w = windows[i];
        text += fmt::format(
            "{},{},{},{},{:.6f},{:.1f},{:.4f},{:.3f},{:.3f},{:.3f},{:.3f},{:.5f},{:.5f},{:.5f},{:.2f},{:.4f},{},"
            "{:.0f},{:.2f},{:.5f},{},{},{},{:.6f},{},{},{},{:.4f}\n",
            row.cache, cold ? "cold" : "measured", i + 1, w.ops, w.seconds, w.ops_per_s, w.ratio, w.latency.p50_us,
            w.latency.p95_us, w.latency.p99_us, w.latency.p99_9_us, w.dram_hit, w.scm_hit, w.flash_reads_per_op,
            w.scm_bytes_written_per_op, w.cpu_s_per_mop, row.emulated ? 1 : 0, w.flash_bytes_per_s,
            w.scm_bytes_read_per_op, w.context_switches_per_op, w.demotions, w.promotions, w.clean_evictions, w.miss,
            w.scm_writes, FlashName(options.flash), row.dram_shards, row.pages.huge_share());
      }
    }
  }
  return text;
}

}  // namespace mezz
