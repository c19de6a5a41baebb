// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cache/base/text.h"
#include "workloads/replay/block_replay.h"
#include "workloads/replay/database.h"
#include "workloads/replay/latencies.h"
#include "workloads/replay/report.h"

namespace mezz {
namespace {

using nlohmann::json;

json RowToJson(const BlockRow& row) {
  json one = {{"cache", row.cache},
              {"available", row.unavailable.empty()},
              {"accesses", row.accesses},
              {"miss", row.per_access(row.misses)},
              {"dram_hit", row.per_access(row.dram_hits)},
              {"scm_hit", row.per_access(row.scm_hits)},
              {"scm_writes_per_access", row.per_access(row.scm_writes)},
              {"scm_bytes_written_per_access", row.per_access(row.scm_bytes_written)},
              {"promotions_per_access", row.per_access(row.promotions)},
              {"misses", row.misses},
              {"dram_hits", row.dram_hits},
              {"scm_hits", row.scm_hits},
              {"scm_writes", row.scm_writes},
              {"promotions", row.promotions},
              {"seconds", row.seconds},
              {"medium", row.medium},
              {"emulated", row.emulated}};
  AddLatencies(LatenciesOf(row.latencies), &one);
  AddCdf(ReportedCdf(row.latencies), &one);
  if (!row.unavailable.empty()) one["reason"] = row.unavailable;
  if (!row.counters.empty()) one["counters"] = row.counters;
  return one;
}

}  // namespace

std::string BlockTable(const ReplayOptions& options, const BlockReport& report) {
  const std::string sizes = options.has_common_sizes() ? fmt::format("{} bytes DRAM, {} bytes SCM, ",
                                                                     options.dram_bytes(), options.scm_bytes())
                                                       : "";
  std::string text =
      fmt::format("{}: {} accesses, {} blocks, {} of them\nRocksDB {}, {} thread{}, {}{:.0f} % warm-up\n\n",
                  report.workload, report.accesses, report.unique, HumanBytes(report.footprint_bytes), RocksDbVersion(),
                  options.threads, options.threads == 1 ? "" : "s", sizes, 100 * options.warmup);
  text += fmt::format("{:<22} {:>8} {:>8} {:>8} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8}\n", "cache", "DRAM hit",
                      "2nd hit", "miss", "SCM writes", "promotions", "accesses/s", "P50 us", "P99 us", "P99.9 us");
  for (const BlockRow& row : report.rows) {
    if (!row.unavailable.empty()) {
      text += fmt::format("{:<22} not available: {}\n", row.cache, row.unavailable);
      continue;
    }
    const Latencies latency = LatenciesOf(row.latencies);
    text += fmt::format("{:<22} {:>8.4f} {:>8.4f} {:>8.4f} {:>10.4f} {:>10.4f} {:>10.0f} {:>8.1f} {:>8.1f} {:>8.1f}\n",
                        row.cache, row.per_access(row.dram_hits), row.per_access(row.scm_hits),
                        row.per_access(row.misses), row.per_access(row.scm_writes), row.per_access(row.promotions),
                        row.seconds > 0 ? static_cast<double>(row.accesses) / row.seconds : 0, latency.p50_us,
                        latency.p99_us, latency.p99_9_us);
  }
  if (!report.complete) text += "\ninterrupted: only finished caches are in the table\n";
  return text;
}

json BlockJson(const ReplayOptions& options, const BlockReport& report) {
  json manifest = RunManifest(options);
  json rows = json::array();
  for (const BlockRow& row : report.rows) rows.push_back(RowToJson(row));
  manifest["mode"] = "block";
  manifest["complete"] = report.complete;
  manifest["workload"] = report.workload;
  manifest["accesses"] = report.accesses;
  manifest["unique"] = report.unique;
  manifest["footprint_bytes"] = report.footprint_bytes;
  manifest["rows"] = std::move(rows);
  return manifest;
}

std::string BlockCsv(const BlockReport& report) {
  std::string text = "cache,accesses,dram_hit,scm_hit,miss,scm_writes_per_access,promotions_per_access,seconds\n";
  for (const BlockRow& row : report.rows) {
    if (!row.unavailable.empty()) continue;
    text += fmt::format("{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.3f}\n", row.cache, row.accesses,
                        row.per_access(row.dram_hits), row.per_access(row.scm_hits), row.per_access(row.misses),
                        row.per_access(row.scm_writes), row.per_access(row.promotions), row.seconds);
  }
  return text;
}

}  // namespace mezz
