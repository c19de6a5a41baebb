// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mezz {
namespace {

using nlohmann::json;
using Row = WindowRow;
constexpr auto kBlockMode = Field::Json::kBlockMode;

constexpr Column Compact(int place, std::string_view top, std::string_view bottom) {
  return {.place = place, .top = top, .bottom = bottom, .width = 6};
}
constexpr Column Fixed(int place, std::string_view top, std::string_view bottom, int decimals) {
  return {.place = place, .top = top, .bottom = bottom, .width = 6, .text = Column::Text::kFixed, .decimals = decimals};
}
constexpr Column Percent(int place, std::string_view top) {
  return {.place = place,
          .top = top,
          .bottom = "hit %",
          .width = 5,
          .text = Column::Text::kFixed,
          .decimals = 1,
          .scale = 100};
}

// What a window may have none of.
Figure OfFlash(const Row& row, Figure figure) { return row.flash.reads == 0 ? Figure() : figure; }
Figure OfPacked(const Row& row, Figure figure) { return row.packed.hits + row.packed.writes == 0 ? Figure() : figure; }

// clang-format off
constexpr Field kWindowFields[] = {
    {.name = "ops_per_s", .unit = Unit::kPerSecond, .of = [](const Row& w) -> Figure { return w.ops_per_s(); },
     .title = "operations a second, median (least\u2013most)", .compared = "ops/s", .csv_place = 6, .csv_decimals = 1},
    {.name = "ratio", .unit = Unit::kTimes, .of = [](const Row& w) -> Figure { return w.ratio; },
     .title = "ratio to the first cache", .csv_place = 7, .csv_decimals = 4},
    {.name = "p50_us", .unit = Unit::kMicroseconds, .of = [](const Row& w) -> Figure { return w.latency.p50_us; },
     .title = "P50", .compared = "P50 us", .csv_place = 8, .csv_decimals = 3,
     .db = Compact(1, "P50", "us"), .block = Compact(6, "P50", "us")},
    {.name = "p95_us", .unit = Unit::kMicroseconds, .of = [](const Row& w) -> Figure { return w.latency.p95_us; },
     .title = "P95", .compared = "P95 us", .csv_place = 9, .csv_decimals = 3, .db = Compact(2, "P95", "us")},
    {.name = "p99_us", .unit = Unit::kMicroseconds, .of = [](const Row& w) -> Figure { return w.latency.p99_us; },
     .title = "P99", .compared = "P99 us", .csv_place = 10, .csv_decimals = 3,
     .db = Compact(3, "P99", "us"), .block = Compact(7, "P99", "us")},
    {.name = "p99_9_us", .unit = Unit::kMicroseconds, .of = [](const Row& w) -> Figure { return w.latency.p99_9_us; },
     .title = "P99.9", .compared = "P99.9 us", .csv_place = 11, .csv_decimals = 3, .block = Compact(8, "P99.9", "us")},
    {.name = "latency_us.max", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) -> Figure { return w.latency.max_us; }, .title = "longest"},
    {.name = "latency_us.p50", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) -> Figure { return w.latency.p50_us; }},
    {.name = "latency_us.p95", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) -> Figure { return w.latency.p95_us; }},
    {.name = "latency_us.p99", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) -> Figure { return w.latency.p99_us; }},
    {.name = "latency_us.p99_9", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) -> Figure { return w.latency.p99_9_us; }},
    {.name = "dram_hit", .unit = Unit::kShare, .of = [](const Row& w) -> Figure { return w.tiers.dram_hit(); },
     .title = "found in DRAM", .compared = "DRAM hit", .csv_place = 12, .csv_decimals = 5,
     .db = Percent(4, "DRAM"), .block = Fixed(1, "DRAM", "hit", 4)},
    {.name = "scm_hit", .unit = Unit::kShare, .of = [](const Row& w) -> Figure { return w.tiers.scm_hit(); },
     .title = "found in the second tier", .compared = "2nd hit", .csv_place = 13, .csv_decimals = 5,
     .db = Percent(5, "2nd"), .block = Fixed(2, "2nd", "hit", 4)},
    {.name = "miss", .unit = Unit::kShare, .of = [](const Row& w) -> Figure { return w.tiers.miss(); },
     .json = kBlockMode, .title = "missed", .compared = "miss", .csv_place = 24, .csv_decimals = 6,
     .block = Fixed(3, "", "miss", 4)},
    {.name = "flash_reads_per_op", .unit = Unit::kReadsPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.tiers.flash_reads); },
     .title = "flash reads per operation", .compared = "flash reads/op", .csv_place = 14, .csv_decimals = 5,
     .db = Fixed(6, "flash", "rd/op", 3)},
    {.name = "read_ahead_per_op", .unit = Unit::kPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.tiers.read_ahead); },
     .title = "blocks read ahead per operation"},
    {.name = "flash_bytes_per_s", .unit = Unit::kBytesPerSecond,
     .of = [](const Row& w) -> Figure { return w.per_s(w.tiers.flash_bytes); },
     .title = "read from flash", .compared = "flash B/s", .csv_place = 18, .csv_decimals = 0},
    {.name = "scm_bytes_read_per_op", .unit = Unit::kBytesPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.tiers.scm_bytes_read); },
     .title = "bytes read from SCM per operation", .compared = "SCM read B/op", .csv_place = 19, .csv_decimals = 2},
    {.name = "scm_bytes_written_per_op", .unit = Unit::kBytesPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.tiers.scm_bytes_written); },
     .title = "bytes written to SCM per operation", .compared = "SCM B/op", .csv_place = 15, .csv_decimals = 2,
     .db = Fixed(7, "SCM", "B/op", 0)},
    {.name = "scm_writes_per_access", .unit = Unit::kPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.scm_writes); }, .json = kBlockMode,
     .compared = "SCM writes/access", .block = Fixed(4, "SCM", "writes", 4)},
    {.name = "promotions_per_access", .unit = Unit::kPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.promotions); }, .json = kBlockMode,
     .compared = "promotions/access", .block = Fixed(5, "promo-", "tions", 4)},
    {.name = "cpu_s_per_mop", .unit = Unit::kSecondsPerMop,
     .of = [](const Row& w) -> Figure { return w.per_op(w.cpu_seconds) * 1e6; },
     .title = "CPU seconds per million operations", .compared = "CPU s/Mop", .csv_place = 16, .csv_decimals = 4,
     .db = Compact(8, "CPU s", "/Mop")},

    {.name = "ops", .of = [](const Row& w) -> Figure { return w.ops; }, .csv_place = 4},
    {.name = "seconds", .unit = Unit::kSeconds, .of = [](const Row& w) -> Figure { return w.seconds; },
     .csv_place = 5, .csv_decimals = 6},
    {.name = "settle_seconds", .unit = Unit::kSeconds, .of = [](const Row& w) -> Figure { return w.settle_seconds; }},
    {.name = "background.flushes", .of = [](const Row& w) -> Figure { return w.background.flushes; },
     .title = "flushes within the windows", .compared = "flushes", .csv_place = 29},
    {.name = "background.compactions", .of = [](const Row& w) -> Figure { return w.background.compactions; },
     .title = "compactions within the windows", .compared = "compactions", .csv_place = 30},
    {.name = "background.flushed_bytes", .of = [](const Row& w) -> Figure { return w.background.flushed_bytes; },
     .csv_place = 31},
    {.name = "background.compacted_read_bytes",
     .of = [](const Row& w) -> Figure { return w.background.compacted_read_bytes; }, .csv_place = 32},
    {.name = "background.compacted_bytes", .of = [](const Row& w) -> Figure { return w.background.compacted_bytes; },
     .csv_place = 33},
    {.name = "background.compaction_ms", .of = [](const Row& w) -> Figure { return w.background.compaction_ms; },
     .csv_place = 34},
    {.name = "context_switches_per_op", .unit = Unit::kPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.context_switches); }, .csv_place = 20, .csv_decimals = 5},
    {.name = "demotions", .of = [](const Row& w) -> Figure { return w.demotions; }, .csv_place = 21},
    {.name = "promotions", .of = [](const Row& w) -> Figure { return w.promotions; }, .csv_place = 22},
    {.name = "clean_evictions", .of = [](const Row& w) -> Figure { return w.clean_evictions; }, .csv_place = 23},
    {.name = "not_found", .of = [](const Row& w) -> Figure { return w.not_found; }},
    {.name = "flash.reads", .of = [](const Row& w) { return OfFlash(w, w.flash.reads); }},
    {.name = "flash.waits", .of = [](const Row& w) { return OfFlash(w, w.flash.waits); }},
    {.name = "flash.asked_us", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) { return OfFlash(w, w.flash.asked_us()); }},
    {.name = "flash.took_us", .unit = Unit::kMicroseconds,
     .of = [](const Row& w) { return OfFlash(w, w.flash.took_us()); }},
    {.name = "packed.scm_hits", .of = [](const Row& w) { return OfPacked(w, w.packed.hits); }},
    {.name = "packed.scm_writes", .of = [](const Row& w) { return OfPacked(w, w.packed.writes); }},
    {.name = "packed.ratio", .unit = Unit::kTimes, .of = [](const Row& w) { return OfPacked(w, w.packed.ratio()); }},
    {.name = "scm_dead_share", .unit = Unit::kShare,
     .of = [](const Row& w) { return w.scm_dead_share == kUnknownShare ? Figure() : Figure(w.scm_dead_share); }},

    // Of --mode=block, named as mezz_sim names them.
    {.name = "accesses", .of = [](const Row& w) -> Figure { return w.ops; }, .json = kBlockMode},
    {.name = "misses", .of = [](const Row& w) -> Figure { return w.tiers.misses(); }, .json = kBlockMode},
    {.name = "dram_hits", .of = [](const Row& w) -> Figure { return w.tiers.dram_hits(); }, .json = kBlockMode},
    {.name = "scm_hits", .of = [](const Row& w) -> Figure { return w.tiers.second_hits; }, .json = kBlockMode},
    {.name = "scm_writes", .of = [](const Row& w) -> Figure { return w.scm_writes; }, .json = kBlockMode,
     .csv_place = 25},
    {.name = "scm_bytes_written_per_access", .unit = Unit::kBytesPerOp,
     .of = [](const Row& w) -> Figure { return w.per_op(w.tiers.scm_bytes_written); }, .json = kBlockMode},
};

constexpr SeriesField kSeriesFields[] = {
    {.name = "t_s", .unit = Unit::kSeconds, .of = [](const SeriesPoint& p) { return p.t_s; }},
    {.name = "seconds", .unit = Unit::kSeconds, .of = [](const SeriesPoint& p) { return p.seconds; }},
    {.name = "dram_hit", .unit = Unit::kShare, .of = [](const SeriesPoint& p) { return p.tiers.dram_hit(); },
     .panel = "Hit ratio, both tiers"},
    {.name = "scm_hit", .unit = Unit::kShare, .of = [](const SeriesPoint& p) { return p.tiers.scm_hit(); },
     .panel = "Hit ratio, both tiers"},
    {.name = "ops", .unit = Unit::kPerSecond, .of = [](const SeriesPoint& p) { return p.per_s(p.ops); },
     .panel = "Operations a second"},
    {.name = "flash_reads", .unit = Unit::kPerSecond,
     .of = [](const SeriesPoint& p) { return p.per_s(p.tiers.flash_reads); }},
    {.name = "flash_bytes", .unit = Unit::kBytesPerSecond,
     .of = [](const SeriesPoint& p) { return p.per_s(p.tiers.flash_bytes); }, .panel = "Read from flash"},
    {.name = "scm_bytes_read", .unit = Unit::kBytesPerSecond,
     .of = [](const SeriesPoint& p) { return p.per_s(p.tiers.scm_bytes_read); }, .panel = "Read from SCM"},
    {.name = "scm_bytes_written", .unit = Unit::kBytesPerSecond,
     .of = [](const SeriesPoint& p) { return p.per_s(p.tiers.scm_bytes_written); }, .panel = "Written to SCM"},
    {.name = "p99_us", .unit = Unit::kMicroseconds, .of = [](const SeriesPoint& p) { return p.p99_us; },
     .panel = "P99 latency"},
};
// clang-format on

void AddFigure(std::string_view name, const Figure& figure, json* to) {
  const size_t dot = name.find('.');
  json* object = to;
  if (dot != std::string_view::npos && figure.index() != 0) object = &(*to)[std::string(name.substr(0, dot))];
  const std::string key(name.substr(dot + 1));  // all of it, where there is no dot
  if (const auto* count = std::get_if<uint64_t>(&figure)) (*object)[key] = *count;
  if (const auto* value = std::get_if<double>(&figure)) (*object)[key] = *value;
}

}  // namespace

std::span<const Field> WindowFields() { return kWindowFields; }
std::span<const SeriesField> SeriesFields() { return kSeriesFields; }

std::string_view ToString(Unit unit) {
  static constexpr std::string_view kNames[] = {"",    "1/s",  "times",    "s",   "us",   "share",
                                                "B/s", "B/op", "reads/op", "/op", "s/Mop"};
  return kNames[static_cast<size_t>(unit)];
}

std::string Column::Show(double value) const {
  const auto fixed = [](double v, int digits) { return fmt::format("{:.{}f}", v, digits); };
  const std::string shown = text == Text::kFixed ? fixed(value * scale, decimals)
                                                 : fixed(value, value >= 100  ? 0
                                                                : value >= 10 ? 1
                                                                              : 2);
  return fmt::format("{:>{}}", shown, width);
}

void AddFigures(const WindowRow& row, bool block_mode, json* to) {
  for (const Field& field : kWindowFields) {
    if (block_mode || field.json == Field::Json::kAlways) AddFigure(field.name, field.of(row), to);
  }
}

json ToJson(const SeriesPoint& point) {
  json object = json::object();
  for (const SeriesField& field : kSeriesFields) object[std::string(field.name)] = field.of(point);
  return object;
}

double NumberOf(const Figure& figure) {
  if (const auto* count = std::get_if<uint64_t>(&figure)) return static_cast<double>(*count);
  const auto* value = std::get_if<double>(&figure);
  return value == nullptr ? 0 : *value;
}

std::string CsvText(const Field& field, const WindowRow& row) {
  const Figure figure = field.of(row);
  if (const auto* count = std::get_if<uint64_t>(&figure)) return fmt::format("{}", *count);
  return fmt::format("{:.{}f}", NumberOf(figure), field.csv_decimals);
}

std::vector<const Field*> TableFields(bool block_mode) {
  const auto place = [&](const Field* field) { return (block_mode ? field->block : field->db).place; };
  std::vector<const Field*> fields;
  for (const Field& field : kWindowFields) {
    if (place(&field) != 0) fields.push_back(&field);
  }
  std::ranges::sort(fields, {}, place);
  return fields;
}

json FieldsForPage() {
  json window = json::array(), series = json::array();
  for (const Field& field : kWindowFields) {
    window.push_back({{"name", field.name}, {"unit", ToString(field.unit)}, {"title", field.title}});
  }
  for (const SeriesField& field : kSeriesFields) {
    series.push_back({{"name", field.name}, {"unit", ToString(field.unit)}, {"panel", field.panel}});
  }
  return {{"window", std::move(window)}, {"series", std::move(series)}};
}

}  // namespace mezz
