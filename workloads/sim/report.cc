// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workloads/program/program.h"

namespace mezz::sim {
namespace {

using nlohmann::json;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string Compact(uint64_t count) {
  if (count >= 10'000'000'000) return fmt::format("{:.1f}G", static_cast<double>(count) / 1e9);
  if (count >= 10'000'000) return fmt::format("{:.1f}M", static_cast<double>(count) / 1e6);
  return fmt::format("{}", count);
}

std::string TableRow(const SimRow& row) {
  const SimCounts& c = row.counts;
  const std::string gap = row.gap_closed ? fmt::format("{:.3f}", *row.gap_closed) : "-";
  const std::string of_two_tiers =
      row.single_tier
          ? fmt::format("{:>7} {:>7} {:>7} {:>7} {:>7} {:>8}", "-", "-", "-", "-", "-", "-")
          : fmt::format("{:>7.4f} {:>7.4f} {:>7.4f} {:>7.4f} {:>7.4f} {:>8}", row.per_access(c.dram_hits),
                        row.per_access(c.scm_hits()), row.per_access(c.scm_writes()), row.per_access(c.second_chances),
                        row.per_access(c.promotions), Compact(c.ghost_hits));
  return fmt::format("{:<14} {:>7} {:>9} {:>7.4f} {:>7} {} {:>9.0f} {:>9.0f}\n", row.policy.substr(0, 14),
                     row.total.substr(0, 7), Compact(row.capacity.total), row.miss(), gap, of_two_tiers,
                     row.optane100_ns, row.cxl_ns);
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
uint64_t PackedHits(const SimCounts& counts) { return counts.scm_unpacked + counts.packed_promotions; }

// As mezz_replay's, of a row that packed.
std::string PackedLine(const SimRow& row) {
  const SimCounts& c = row.counts;
  if (c.pack_tries + PackedHits(c) == 0) return "";
  return fmt::format(
      "{} at {}: packed {:.0f} % of its SCM writes, to records of {:.0f} bytes; unpacked {:.0f} % of its SCM hits\n",
      row.policy, row.total, 100 * Share(c.packed_writes, c.scm_writes()), Share(c.packed_bytes, c.packed_writes),
      100 * Share(PackedHits(c), c.scm_hits()));
}

// Of a row whose SCM tier has two levels.
std::string LevelsLine(const SimRow& row) {
  if (!row.has_levels()) return "";
  const SimCounts& c = row.counts;
  return fmt::format("{} at {}: per access {:.4f} hits on the fast level, {:.4f} demotions; {:.0f} ns cxl>optane100\n",
                     row.policy, row.total, row.per_access(c.fast_hits()), row.per_access(c.level_demotions),
                     row.ordered_ns);
}

void AddLevels(const SimRow& row, json* one) {
  if (!row.has_levels()) return;
  const SimCounts& c = row.counts;
  (*one)["fast_units"] = row.capacity.fast;
  (*one)["scm_fast_hit"] = row.per_access(c.fast_hits());
  (*one)["level_demotions_per_access"] = row.per_access(c.level_demotions);
  (*one)["level_demoted_bytes_per_access"] = row.per_access(c.level_demoted_units) * row.scm_unit_bytes;
  (*one)["amat_ns"]["cxl>optane100"] = row.ordered_ns;
}

json PackedToJson(const SimRow& row) {
  const SimCounts& c = row.counts;
  return {{"scm_hit_share", Share(PackedHits(c), c.scm_hits())},
          {"scm_write_share", Share(c.packed_writes, c.scm_writes())},
          {"hits_per_access", row.per_access(PackedHits(c))},
          {"promotions_per_access", row.per_access(c.packed_promotions)},
          {"writes_per_access", row.per_access(c.packed_writes)},
          {"at_reclaim_per_access", row.per_access(c.packed_at_reclaim)},
          {"tries_per_access", row.per_access(c.pack_tries)},
          {"rejected_per_access", row.per_access(c.pack_rejected)},
          {"record_bytes", Share(c.packed_bytes, c.packed_writes)}};
}

json DecisionsToJson(const SimCounts& counts) {
  json all = json::object();
  for (size_t p = 0; p < kDecisionPoints; ++p) {
    for (size_t a = 0; a < kActions; ++a) {
      for (size_t r = 0; r < kReasons; ++r) {
        const auto point = static_cast<DecisionPoint>(p);
        const auto action = static_cast<Action>(a);
        const auto reason = static_cast<Reason>(r);
        if (!IsAllowed(point, action)) continue;
        const uint64_t count = counts.decisions.of(point, action, reason);
        if (count == 0) continue;
        all[fmt::format("on_{}", ToString(point))][std::string(ToString(action))][std::string(ToString(reason))] =
            count;
      }
    }
  }
  return all;
}

json RowToJson(const SimRow& row) {
  const SimCounts& c = row.counts;
  json one = {{"trace", FileName(row.trace)},
              {"policy", row.policy},
              {"tiers", row.single_tier ? 1 : 2},
              {"total", row.total},
              {"total_units", row.capacity.total},
              {"total_share", row.share},
              {"accesses", c.accesses},
              {"misses", c.misses},
              {"miss", row.miss()},
              {"gap_closed", row.gap_closed ? json(*row.gap_closed) : json()},
              {"amat_ns", {{"optane100", row.optane100_ns}, {"cxl", row.cxl_ns}}},
              {"cpu_seconds", row.cpu_seconds}};
  one["kind"] = row.single_tier ? "reference" : row.alternative ? "alternative" : "policy";
  if (row.single_tier) return one;
  one["dram_units"] = row.capacity.dram;
  one["scm_units"] = row.capacity.scm;
  one["segment_units"] = row.capacity.segment;
  one["dram_hit"] = row.per_access(c.dram_hits);
  one["scm_hit"] = row.per_access(c.scm_hits());
  one["scm_writes_per_access"] = row.per_access(c.scm_writes());
  one["second_chances_per_access"] = row.per_access(c.second_chances);
  one["promotions_per_access"] = row.per_access(c.promotions);
  one["moves_per_access"] = row.per_access(c.moves);
  one["scm_written_bytes_per_access"] = row.scm_written_bytes_per_access();
  one["ghost_hits"] = c.ghost_hits;
  one["requeued_segments"] = c.requeued_segments;
  one["demotions"] = c.demotions;
  one["inserts_to_scm"] = c.inserts_to_scm;
  one["scm_refused"] = c.scm_refused;
  one["spare_refused"] = c.spare_refused;
  one["policy_dram_bytes"] = row.policy_dram_bytes;
  AddLevels(row, &one);
  if (c.pack_tries + PackedHits(c) > 0) one["packed"] = PackedToJson(row);
  one["decisions"] = DecisionsToJson(c);
  return one;
}

json OptionsToJson(const SimOptions& o) {
  json totals = json::array();
  for (const Total& total : o.totals) totals.push_back(total.text);
  return {{"traces", o.traces},
          {"format", o.format},
          {"skip_bad", o.skip_bad},
          {"policies", o.policies},
          {"totals", totals},
          {"dram_share", o.dram_share},
          {"fast_share", o.fast_share},
          {"dram_cache", o.dram_cache == DramCache::kLru ? "lru" : "hcc"},
          {"high_priority_pool", o.high_priority_pool},
          {"dram_shards", o.dram_shards},
          {"dram_overhead_bytes", o.dram_overhead_bytes},
          {"unit", o.unit_bytes},
          {"sizes", o.sizes == Sizes::kUnit ? "unit" : "bytes"},
          {"segment_blocks", o.segment_blocks},
          {"pack", ToString(o.pack)},
          {"pack_ratio", o.pack_ratio},
          {"warmup", o.warmup},
          {"threads", o.threads},
          {"sample", o.sample},
          {"memory", o.memory_bytes},
          {"flash_us", o.flash_us},
          {"seed", o.seed}};
}

}  // namespace

std::string ReportTable(const SimOptions& options, const SimReport& report) {
  std::string text = fmt::format(
      "DRAM {:.3g} % of the total ({}), {}\noptane100, cxl: mean access in ns under the model, flash at {} us\n",
      100 * options.dram_share, options.dram_cache == DramCache::kLru ? "LRU" : "HyperClockCache",
      options.sizes == Sizes::kUnit ? fmt::format("blocks of one unit ({} bytes)", options.unit_bytes)
                                    : "sizes in bytes",
      options.flash_us);
  if (options.fast_share != 0) {
    text += fmt::format(
        "SCM of two levels, the fast one {:.3g} % of it; cxl>optane100: mean access if that is CXL, the slow one "
        "Optane\n",
        100 * options.fast_share);
  }
  if (options.pack != PackMode::kOff) {
    text += fmt::format("records packed with {}, {}\n", ToString(options.pack),
                        options.pack_ratio.empty() ? fmt::format("{} times smaller", RatioOfSourceText(options.pack))
                                                   : "--pack_ratio=" + options.pack_ratio);
  }
  for (const TraceSummary& trace : report.traces) {
    text += fmt::format("\n{}: {} accesses, {} blocks{}\n", FileName(trace.trace), trace.accesses, trace.unique,
                        options.sample < 1 ? fmt::format(", a sample of {:.3g}", options.sample) : "");
    if (trace.damaged_records > 0) text += fmt::format("{} damaged records were left out\n", trace.damaged_records);
    for (const std::string& remark : trace.remarks) text += remark + "\n";
    text += fmt::format("{:<14} {:>7} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>9} {:>9}\n", "policy",
                        "total", options.sizes == Sizes::kUnit ? "blocks" : "bytes", "miss", "gap", "dram", "scm",
                        "write", "spare", "promote", "ghost", "optane100", "cxl");
    for (const SimRow& row : report.rows) {
      if (row.trace == trace.trace) text += TableRow(row);
    }
    for (const SimRow& row : report.rows) {
      if (row.trace == trace.trace) text += LevelsLine(row) + PackedLine(row);
    }
  }
  text +=
      "\ngap: share of the way from lru to opt, both one tier of the whole total; lru, clock, s3_fifo (the paper's),\n"
      "s3_fifo_lib (libCacheSim's), w_tinylfu and opt are one tier. dram ... promote: per access; write has second\n"
      "chances in it, spare is those alone\n";
  if (options.sizes == Sizes::kBytes) {
    text += "opt is a bound that no cache of blocks of several sizes reaches: PFOO-L (docs/how-to/simulate.md)\n";
  }
  if (std::ranges::any_of(report.rows, [](const SimRow& row) { return row.alternative.has_value(); })) {
    text +=
        "dram_only, naive_scm, memory_mode, compressed, page_cache, inline_memory: not the hybrid cache but what else "
        "money\nbuys; their scm is the second tier, of whatever it is made (docs/how-to/simulate.md)\n";
  }
  if (kAsserts) text += "\nthis is a debug build: its speed means nothing\n";
  return text;
}

json ReportJson(const SimOptions& options, const SimReport& report) {
  json traces = json::array();
  for (const TraceSummary& trace : report.traces) {
    traces.push_back({{"trace", FileName(trace.trace)},
                      {"path", trace.trace},
                      {"accesses", trace.accesses},
                      {"unique", trace.unique},
                      {"footprint_bytes", trace.footprint_bytes},
                      {"mean_access_bytes", trace.mean_access_bytes},
                      {"has_time", trace.has_time},
                      {"damaged_records", trace.damaged_records},
                      {"remarks", trace.remarks}});
  }
  json rows = json::array();
  size_t i = 0;
  for (const SimRow& row : report.rows) {
    while (report.traces[i].trace != row.trace) ++i;
    rows.push_back(RowToJson(row));
    const double accesses = static_cast<double>(report.traces[i].accesses);
    rows.back()["accesses_per_s"] = row.cpu_seconds > 0 ? accesses / row.cpu_seconds : 0;
  }
  json result = ManifestOf("mezz_sim", options.command_line);
  result.update({{"options", OptionsToJson(options)}, {"traces", traces}, {"rows", rows}});
  return result;
}

std::string ReportCsv(const SimReport& report) {
  std::string text =
      "trace,policy,tiers,total,total_units,total_share,accesses,miss,gap_closed,dram_hit,scm_hit,"
      "scm_writes_per_access,second_chances_per_access,promotions_per_access,ghost_hits,amat_ns_optane100,amat_ns_"
      "cxl,scm_written_bytes_per_access,packed_hit,packed_writes_per_access,scm_fast_hit,level_demotions_per_access,"
      "amat_ns_cxl_optane100\n";
  for (const SimRow& row : report.rows) {
    const SimCounts& c = row.counts;
    const std::string levels = row.has_levels() ? fmt::format("{:.6f},{:.6f},{:.1f}", row.per_access(c.fast_hits()),
                                                              row.per_access(c.level_demotions), row.ordered_ns)
                                                : ",,";
    text += fmt::format(
        "{},{},{},{},{},{:.6f},{},{:.6f},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{:.1f},{:.1f},{:.1f},{:.6f},{:.6f},{}"
        "\n",
        FileName(row.trace), row.policy, row.single_tier ? 1 : 2, row.total, row.capacity.total, row.share, c.accesses,
        row.miss(), row.gap_closed ? fmt::format("{:.6f}", *row.gap_closed) : "", row.per_access(c.dram_hits),
        row.per_access(c.scm_hits()), row.per_access(c.scm_writes()), row.per_access(c.second_chances),
        row.per_access(c.promotions), c.ghost_hits, row.optane100_ns, row.cxl_ns, row.scm_written_bytes_per_access(),
        row.per_access(PackedHits(c)), row.per_access(c.packed_writes), levels);
  }
  return text;
}

}  // namespace mezz::sim
