// SPDX-License-Identifier: Apache-2.0
// What results say, pinned: those who read them go by these names and places.
#include "workloads/replay/engine/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace mezz {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

// No two counts alike, and none the sum or the double of others.
WindowRow Row() {
  WindowRow row;
  row.ops = 1000;
  row.seconds = 2;
  row.settle_seconds = 0.75;
  row.background = {.flushes = 3,
                    .compactions = 2,
                    .flushed_bytes = 300,
                    .compacted_read_bytes = 500,
                    .compacted_bytes = 400,
                    .compaction_ms = 800};
  row.cpu_seconds = 0.125;
  row.context_switches = 250;
  row.tiers = {.hits = 3000,
               .second_hits = 500,
               .flash_reads = 750,
               .read_ahead = 250,
               .flash_bytes = 4'104'000,
               .scm_bytes_read = 2'056'000,
               .scm_bytes_written = 1'028'000};
  row.flash = {.reads = 70, .waits = 7, .asked_ns = 21'000, .took_ns = 28'000};
  row.demotions = 31;
  row.promotions = 41;
  row.scm_writes = 53;
  row.clean_evictions = 59;
  row.packed = {.hits = 61, .writes = 67, .bytes = 300, .stored = 100};
  row.not_found = 71;
  row.scm_dead_share = 0.0625;
  row.ratio = 1.5;
  row.latency = {.p50_us = 11, .p95_us = 12, .p99_us = 13, .p99_9_us = 14, .max_us = 15};
  return row;
}

json Figures(const WindowRow& row, bool block_mode) {
  json figures = json::object();
  AddFigures(row, block_mode, &figures);
  return figures;
}

const json kOfEitherMode = json::parse(R"({
  "ops": 1000, "seconds": 2.0, "settle_seconds": 0.75,
  "background": {"flushes": 3, "compactions": 2, "flushed_bytes": 300, "compacted_read_bytes": 500,
                 "compacted_bytes": 400, "compaction_ms": 800},
  "ops_per_s": 500.0, "ratio": 1.5, "cpu_s_per_mop": 125.0,
  "p50_us": 11.0, "p95_us": 12.0, "p99_us": 13.0, "p99_9_us": 14.0,
  "latency_us": {"p50": 11.0, "p95": 12.0, "p99": 13.0, "p99_9": 14.0, "max": 15.0},
  "dram_hit": 0.625, "scm_hit": 0.125,
  "flash_reads_per_op": 0.75, "read_ahead_per_op": 0.25, "flash_bytes_per_s": 2052000.0,
  "scm_bytes_read_per_op": 2056.0, "scm_bytes_written_per_op": 1028.0,
  "context_switches_per_op": 0.25, "demotions": 31, "promotions": 41, "clean_evictions": 59, "not_found": 71,
  "flash": {"reads": 70, "waits": 7, "asked_us": 3.0, "took_us": 4.0},
  "packed": {"scm_hits": 61, "scm_writes": 67, "ratio": 3.0}, "scm_dead_share": 0.0625})");

TEST(Fields, OfAWindowHoldWhatWasCounted) { EXPECT_EQ(Figures(Row(), false).dump(1), kOfEitherMode.dump(1)); }

TEST(Fields, OfTheBlockModeAreTheSimulatorsToo) {
  json expected = kOfEitherMode;
  expected.update(json::parse(R"({
    "accesses": 1000, "miss": 0.25, "misses": 1000, "dram_hits": 2500, "scm_hits": 500, "scm_writes": 53,
    "scm_writes_per_access": 0.053, "scm_bytes_written_per_access": 1028.0, "promotions_per_access": 0.041})"));
  EXPECT_EQ(Figures(Row(), true).dump(1), expected.dump(1));
}

TEST(Fields, ThatAWindowHasNoneOfAreLeftOut) {
  WindowRow row = Row();
  row.flash = {};
  row.packed = {};
  row.scm_dead_share = kUnknownShare;
  json expected = kOfEitherMode;
  for (const char* none : {"flash", "packed", "scm_dead_share"}) expected.erase(none);
  EXPECT_EQ(Figures(row, false), expected);
}

TEST(Fields, OfAPointAreForASecond) {
  const SeriesPoint point{.t_s = 9, .seconds = 2, .ops = 1000, .tiers = Row().tiers, .p99_us = 13};
  EXPECT_EQ(ToJson(point).dump(1), json::parse(R"({"t_s": 9.0, "seconds": 2.0, "ops": 500.0, "dram_hit": 0.625,
      "scm_hit": 0.125, "flash_reads": 375.0, "flash_bytes": 2052000.0, "scm_bytes_read": 1028000.0,
      "scm_bytes_written": 514000.0, "p99_us": 13.0})")
                                       .dump(1));
}

TEST(Fields, KeepTheirPlacesInTheCsv) {
  std::map<int, std::string> columns;
  for (const Field& field : WindowFields()) {
    if (field.csv_place == 0) continue;
    EXPECT_TRUE(columns.emplace(field.csv_place, field.name).second) << field.name;
  }
  std::vector<std::string> names;
  for (const auto& [place, name] : columns) names.push_back(name);
  EXPECT_THAT(
      names,
      ElementsAre("ops", "seconds", "ops_per_s", "ratio", "p50_us", "p95_us", "p99_us", "p99_9_us", "dram_hit",
                  "scm_hit", "flash_reads_per_op", "scm_bytes_written_per_op", "cpu_s_per_mop", "flash_bytes_per_s",
                  "scm_bytes_read_per_op", "context_switches_per_op", "demotions", "promotions", "clean_evictions",
                  "miss", "scm_writes", "background.flushes", "background.compactions", "background.flushed_bytes",
                  "background.compacted_read_bytes", "background.compacted_bytes", "background.compaction_ms"));
}

// The table's line below its heads, without the cache and its throughput.
std::string Line(bool block_mode, const WindowRow& row) {
  std::string line;
  for (const Field* field : TableFields(block_mode)) {
    const Column& column = block_mode ? field->block : field->db;
    for (const std::string_view part : {column.top, std::string_view("|"), column.bottom}) line += part;
    line += column.Show(NumberOf(field->of(row)));
    line += '\n';
  }
  return line;
}

TEST(Fields, FillTheTablesOfTheTerminal) {
  EXPECT_EQ(Line(false, Row()),
            "P50|us  11.0\nP95|us  12.0\nP99|us  13.0\nDRAM|hit % 62.5\n2nd|hit % 12.5\nflash|rd/op 0.750\n"
            "SCM|B/op  1028\nCPU s|/Mop   125\n");
  EXPECT_EQ(Line(true, Row()),
            "DRAM|hit0.6250\n2nd|hit0.1250\n|miss0.2500\nSCM|writes0.0530\npromo-|tions0.0410\nP50|us  11.0\n"
            "P99|us  13.0\nP99.9|us  14.0\n");
}

TEST(Fields, AreNamedOnceAndByTheirUnits) {
  std::set<std::string_view> names;
  for (const Field& field : WindowFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_EQ(field.name.ends_with("_us") || field.name.starts_with("latency_us."), field.unit == Unit::kMicroseconds)
        << field.name;
    EXPECT_EQ(field.name.ends_with("_hit") || field.name == "miss" || field.name.ends_with("_share"),
              field.unit == Unit::kShare)
        << field.name;
  }
  names.clear();
  for (const SeriesField& field : SeriesFields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
}

TEST(Fields, TellThePageHowToShowThem) {
  const json fields = FieldsForPage();
  ASSERT_EQ(fields["window"].size(), WindowFields().size());
  const json& first = fields["window"][0];
  EXPECT_EQ(first["name"], "ops_per_s");
  EXPECT_EQ(first["unit"], "1/s");
  EXPECT_EQ(first["title"], "operations a second, median (least\u2013most)");
  const json last = {{"name", "p99_us"}, {"unit", "us"}, {"panel", "P99 latency"}};
  EXPECT_EQ(fields["series"].back(), last);
}

TEST(Counts, WhatWasAddedCanBeTakenAway) {
  TierCounts sum = Row().tiers;
  sum += {.hits = 1,
          .second_hits = 2,
          .flash_reads = 3,
          .read_ahead = 4,
          .flash_bytes = 5,
          .scm_bytes_read = 6,
          .scm_bytes_written = 7};
  const TierCounts added = sum - Row().tiers;
  uint64_t expected = 0;
  for (const CountOf<TierCounts>& each : kCountsOf<TierCounts>) EXPECT_EQ(added.*each.count, ++expected) << each.name;
}

}  // namespace
}  // namespace mezz
