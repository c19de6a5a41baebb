// SPDX-License-Identifier: Apache-2.0
// The report on the terminal.
#include <fmt/format.h>

#include <algorithm>

#include "workloads/program/program.h"
#include "workloads/replay/caches/open_databases.h"
#include "workloads/replay/engine/fields.h"
#include "workloads/replay/report.h"

namespace mezz {
namespace {

std::string Rate(double ops_per_s) {
  if (ops_per_s >= 1e6) return fmt::format("{:.2f}M", ops_per_s / 1e6);
  if (ops_per_s >= 1e5) return fmt::format("{:.0f}k", ops_per_s / 1e3);
  return ops_per_s >= 1e3 ? fmt::format("{:.1f}k", ops_per_s / 1e3) : fmt::format("{:.0f}", ops_per_s);
}

std::string Compact(double value) { return Column{}.Show(value); }

const Column& ColumnOf(const Field& field, bool block_mode) { return block_mode ? field.block : field.db; }

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
                        if (row.dram_shards == 0) return std::string("?");
                        return row.dram_shards_usual == 0
                                   ? std::to_string(row.dram_shards)
                                   : fmt::format("{} (instead of {})", row.dram_shards, row.dram_shards_usual);
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

std::string BackgroundLine(const CacheRow& row) {
  const BackgroundCounts& did = row.total.background;
  if (!row.reported() || row.total.writes() == 0) return "";
  if (row.total.only_fills_memtables())
    return fmt::format(
        "{}: its windows have puts, and neither a flush nor a compaction: they show no database that is written to; "
        "use a smaller --write_buffer or more --ops\n",
        row.cache);
  constexpr double kMiB = 1 << 20;
  const double compacted = static_cast<double>(did.compacted_bytes) / kMiB;
  const std::string rate =
      did.compaction_ms == 0
          ? ""
          : fmt::format(" at {:.1f} MiB/s", 1e3 * compacted / static_cast<double>(did.compaction_ms));
  return fmt::format(
      "{}: {} flushes of {:.0f} MiB, {} compactions that read {:.0f} and wrote {:.0f} MiB{}; {:.2f} s of it after the "
      "last request\n",
      row.cache, did.flushes, static_cast<double>(did.flushed_bytes) / kMiB, did.compactions,
      static_cast<double>(did.compacted_read_bytes) / kMiB, compacted, rate, row.total.settle_seconds);
}

std::string TableRow(bool block_mode, const CacheRow& row) {
  if (!row.unavailable.empty()) return fmt::format("{:<19} not available: {}\n", row.cache, row.unavailable);
  if (!row.failure.empty()) return fmt::format("{:<19} failed: {}\n", row.cache, row.failure);
  if (row.windows.empty()) return fmt::format("{:<19} no window was finished\n", row.cache);
  std::string line =
      fmt::format("{:<19} {:>20} {:>18}", row.cache, SpreadText(row.ops_per_s, &Rate), SpreadText(row.ratio, &Compact));
  for (const Field* field : TableFields(block_mode)) {
    line += ' ';
    line += ColumnOf(*field, block_mode).Show(NumberOf(field->of(row.total)));
  }
  return fmt::format("{} {}\n", line, Marks(row));
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

std::string Head(bool block_mode) {
  std::string top = fmt::format("{:<19} {:>20} {:>18}", "", "", "");
  std::string bottom = fmt::format("{:<19} {:>20} {:>18}", "cache",
                                   block_mode ? "accesses/s (min-max)" : "ops/s (min-max)", "ratio (min-max)");
  for (const Field* field : TableFields(block_mode)) {
    const Column& column = ColumnOf(*field, block_mode);
    top += fmt::format(" {:>{}}", column.top, column.width);
    bottom += fmt::format(" {:>{}}", column.bottom, column.width);
  }
  return fmt::format("{}\n{}\n", top, bottom);
}

std::string ColdLine(const CacheRow& row) {
  std::string line = fmt::format("  {:<19}", row.cache);
  for (const WindowRow& window : row.cold_windows)
    line += fmt::format(" {:>8} ({:>5}x)", Rate(window.ops_per_s()), Compact(window.ratio));
  return line + "\n";
}

}  // namespace

std::string ReportTable(const ReplayOptions& options, const ReplayReport& report) {
  const bool block_mode = options.mode == ReplayMode::kBlock;
  std::string text = Headline(options, report) + Head(block_mode);
  bool emulated = false;
  bool idle = false;
  for (const CacheRow& row : report.rows) {
    text += TableRow(block_mode, row);
    emulated |= row.emulated && row.reported();
    idle |= row.second_tier_idle;
  }
  if (emulated) text += "\nE: emulated: a model adds a device's time, or a disk's page cache serves as memory\n";
  if (idle) text += "I: idle: the second tier never hit; this is not a peer\n";
  text += NoiseText(report);
  text += FlashLine(report);
  text += FairnessLines(report);
  for (const CacheRow& row : report.rows) text += PackedLine(row) + DeadLine(row) + BackgroundLine(row);
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

}  // namespace mezz
