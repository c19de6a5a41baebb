// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/calibrate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace mezz::plan {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A machine whose costs are known, and what mezz_replay would have said of it.
struct Truth {
  double base = 2600, scm_hit = 420, flash_read = 8000, flash_wait = 90'000;  // ns
  double lookups = 1;
  double noise = 0;
  unsigned threads = 2;
};

class Replay {
 public:
  explicit Replay(const Truth& truth) : truth_(truth), random_(test::Seed()) {
    json_ = {{"program", "mezz_replay"},
             {"asserts", false},
             {"model", "none"},
             {"mean_block_bytes", 4096},
             {"flash", {{"name", "disk"}, {"emulated", false}}},
             {"options", {{"threads", truth.threads}, {"rate", 0}, {"timestamps", 0.0}}},
             {"rows", json::array()}};
  }
  Replay& Add(const char* cache, double scm_hit, double miss) {
    json row = {{"cache", cache}, {"available", true}, {"ops", 1'000'000}, {"windows", json::array()}};
    row["roles"] = {{"data", {{"lookups", 1e6 * truth_.lookups}}}};
    for (int i = 0; i < 3; ++i) row["windows"].push_back(Window(scm_hit, miss));
    json_["rows"].push_back(row);
    return *this;
  }
  json& value() { return json_; }

 private:
  json Window(double scm_hit, double miss) {
    std::normal_distribution<double> error(1, truth_.noise > 0 ? truth_.noise : 1e-12);
    const double reads = truth_.lookups * miss;
    const double cpu =
        error(random_) * (truth_.base + truth_.lookups * scm_hit * truth_.scm_hit + reads * truth_.flash_read);
    return {{"scm_hit", scm_hit},
            {"dram_hit", 1 - scm_hit - miss},
            {"flash_reads_per_op", reads},
            {"cpu_s_per_mop", cpu / 1e3},
            {"ops_per_s", truth_.threads * 1e9 / (cpu + reads * truth_.flash_wait)}};
  }

  Truth truth_;
  std::mt19937_64 random_;
  json json_;
};

// Of caches as they are, and as a database that is written to warms them.
TEST(Calibrate, FindsTheCostsThatMadeTheResult) {
  struct Case {
    double lookups;
    const char *dram, *both, *all;
  };
  for (const auto& [lookups, dram, both, all] :
       {Case{1, "hcc", "hybrid", "all_dram"}, Case{2.5, "hcc", "hybrid", "all_dram"},
        Case{1, "hcc+warm@16M", "hybrid+raw+nowarm", "all_dram+warmflush"}}) {
    SCOPED_TRACE(dram);
    Replay replay({.lookups = lookups});
    replay.Add(dram, 0, 0.6).Add(both, 0.5, 0.1).Add(all, 0, 0);
    Calibration found;
    ASSERT_EQ(Calibrate(replay.value(), "r.json", &found).message(), "");
    EXPECT_NEAR(found.costs.base.value, 2600, 1);
    EXPECT_NEAR(found.costs.scm_hit.value, 420, 1);
    EXPECT_NEAR(found.costs.flash_read.value, 8000, 1);
    EXPECT_NEAR(found.costs.flash_wait.value, 90'000, 10);
    EXPECT_NEAR(found.lookups_per_operation, lookups, 1e-9);
  }
}

// Emulating the device takes 20 us of a core for a read, while the thread waits for it anyway.
TEST(Calibrate, WhatEmulatesTheFlashIsNoCostOfARead) {
  Replay replay({.flash_read = 28'000, .flash_wait = 80'000});  // so 108 us together, of which the device has 100
  replay.Add("hcc@16M", 0, 0.6).Add("hybrid+raw@16M+192M", 0.5, 0.1).Add("all_dram", 0, 0);
  replay.value()["flash"] = {{"name", "nvme_flash"}, {"emulated", true}, {"mean_latency_us", 100}};
  Calibration found;
  replay.value()["host"] = {{"cores", 2}};
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_NEAR(found.costs.flash_read.value, 8000, 1);
  EXPECT_NEAR(found.costs.base.value, 2600, 1);
  EXPECT_NEAR(found.costs.scm_hit.value, 420, 1);
  replay.value()["host"] = {{"cores", 1}};  // threads wait for cores, too: only CPU time is sure
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_NEAR(found.costs.flash_read.value, 28'000, 1);
}

// A quarter of the misses read by themselves, the others find what another quarter of reads had read ahead.
TEST(Calibrate, ScansMissMoreThanTheyRead) {
  constexpr double kReadsPerMiss = 0.5;
  for (const bool emulated : {true, false}) {
    Replay replay({.flash_wait = kReadsPerMiss * 100'000});
    replay.Add("hcc@16M", 0, 0.6).Add("hybrid+raw@16M+192M", 0.5, 0.1).Add("all_dram", 0, 0);
    for (json& row : replay.value()["rows"]) {
      for (json& window : row["windows"]) {
        const double misses = window["flash_reads_per_op"];
        window["flash_reads_per_op"] = misses / 4;
        window["read_ahead_per_op"] = misses - misses / 4;
        window["ops"] = 1000;
        if (emulated) window["flash"] = {{"reads", 1000 * kReadsPerMiss * misses}};
      }
    }
    replay.value()["flash"] = {{"name", "nvme_flash"}, {"emulated", emulated}, {"mean_latency_us", 100}};
    replay.value()["host"] = {{"cores", 2}};
    Calibration found;
    ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
    EXPECT_NEAR(found.costs.base.value, 2600, 1);
    EXPECT_NEAR(found.costs.flash_read.value, 8000, 1) << "for each miss, whoever read it";
    EXPECT_NEAR(found.reads_per_miss, emulated ? kReadsPerMiss : 1, 1e-9) << "a disk does not tell";
    EXPECT_NEAR(found.costs.flash_wait.value, emulated ? 0 : 50'000, 10) << "so its waits are the misses' mean";
  }
}

TEST(Calibrate, SeesHowMuchOperationsInDramVary) {
  Replay replay{Truth{}};
  replay.Add("hcc", 0, 0.6).Add("hybrid", 0.5, 0).Add("all_dram", 0, 0.004);
  json& rows = replay.value()["rows"];
  for (json& row : rows) {
    row["scm_hit"] = row["windows"][0]["scm_hit"];
    row["flash_reads_per_op"] = row["windows"][0]["flash_reads_per_op"];
    row["latency_us"] = {{"p50", 2}, {"p95", 100}};
  }
  rows[2]["latency_us"] = {{"p50", 2}, {"p95", 2 * std::exp(1.6449 * 0.25)}};
  Calibration found;
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_NEAR(found.costs.base_sigma, 0.25, 1e-6);
  rows.erase(2);
  replay.Add("all_dram", 0, 0);  // says nothing of latencies
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_EQ(found.costs.base_sigma, 0);
}

TEST(Calibrate, TheTruthLiesInTheBrackets) {
  Replay replay({.noise = 0.03});
  replay.Add("hcc", 0, 0.6).Add("hybrid", 0.5, 0.1).Add("all_dram", 0, 0).Add("lru", 0, 0.3);
  Calibration found;
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  const auto holds = [](const Bracket& bracket, double truth) {
    // Of four values with 95 % each, one may lie a little outside in a test that is run often.
    const double wider = bracket.high - bracket.low;
    return truth >= bracket.low - wider && truth <= bracket.high + wider;
  };
  EXPECT_TRUE(holds(found.costs.base, 2600)) << found.text;
  EXPECT_TRUE(holds(found.costs.scm_hit, 420)) << found.text;
  EXPECT_TRUE(holds(found.costs.flash_read, 8000)) << found.text;
  EXPECT_LT(found.costs.base.low, found.costs.base.value);
}

// What the rows do not show keeps its preset; what the planner's model adds is taken out.
TEST(Calibrate, KeepsToWhatTheRowsShow) {
  Replay replay{Truth{}};
  replay.Add("hcc", 0, 0.6).Add("all_dram", 0, 0);
  Calibration found;
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_DOUBLE_EQ(found.costs.scm_hit.value, PresetCosts().scm_hit.value);
  EXPECT_THAT(found.text, HasSubstr("preset: its caches do not show it"));
  replay.Add("hybrid", 0.5, 0.1);
  replay.value()["model"] = "cxl";
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_LT(found.costs.scm_hit.value, 420 - 100);
  replay.value()["flash"] = {{"name", "nvme_flash"}, {"emulated", true}};
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  EXPECT_EQ(found.costs.flash_wait.value, 0);
}

TEST(Calibrate, WhatCannotBeFittedIsRefused) {
  const auto refused = [](json result) {
    Calibration found;
    const Status status = Calibrate(result, "r.json", &found);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  Replay good{Truth{}};
  good.Add("hcc", 0, 0.6).Add("hybrid", 0.5, 0.1).Add("all_dram", 0, 0);
  json other = good.value();
  other["program"] = "mezz_sim";
  EXPECT_THAT(refused(other), HasSubstr("r.json: this is no result of mezz_replay"));
  EXPECT_THAT(refused(json()), HasSubstr("no result of mezz_replay"));
  other = good.value();
  other["asserts"] = true;
  EXPECT_THAT(refused(other), HasSubstr("debug build"));
  other = good.value();
  other["rows"] = json::array();
  EXPECT_THAT(refused(other), HasSubstr("0 windows are too few"));
  Replay same{Truth{}};
  same.Add("all_dram", 0, 0).Add("all_dram_lru", 0, 0);
  EXPECT_THAT(refused(same.value()), HasSubstr("cannot be told apart"));
  Replay together{Truth{}};
  together.Add("hybrid", 0.2, 0.1).Add("hybrid@2", 0.4, 0.2);
  EXPECT_THAT(refused(together.value()), HasSubstr("go together"));
}

TEST(Calibrate, IsWrittenAndReadBack) {
  const std::string path = fmt::format("{}/calibration.{}.json", testing::TempDir(), getpid());
  Replay replay{Truth{}};
  replay.Add("hcc", 0, 0.6).Add("hybrid", 0.5, 0.1).Add("all_dram", 0, 0);
  Calibration found, back;
  ASSERT_TRUE(Calibrate(replay.value(), "r.json", &found).ok());
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  found.reads_per_miss = 0.5;
  write(CalibrationToJson(found).dump());
  ASSERT_TRUE(ReadCalibration(path, &back).ok());
  EXPECT_EQ(back.reads_per_miss, 0.5);
  EXPECT_DOUBLE_EQ(back.costs.flash_read.value, found.costs.flash_read.value);
  EXPECT_DOUBLE_EQ(back.costs.base.low, found.costs.base.low);
  json damaged = CalibrationToJson(found);
  damaged["base"]["low"] = damaged["base"]["high"].get<double>() + 1;
  json none = CalibrationToJson(found), too_many = none, earlier = none;
  none["reads_per_miss"] = 0;
  too_many["reads_per_miss"] = 1.5;
  for (const std::string& text :
       {std::string("{}"), std::string("no json"), std::string(), damaged.dump(), none.dump(), too_many.dump()}) {
    write(text);
    EXPECT_THAT(ReadCalibration(path, &back).message(), HasSubstr("calibrate RESULT")) << text;
  }
  earlier.erase("reads_per_miss");
  write(earlier.dump());
  ASSERT_TRUE(ReadCalibration(path, &back).ok());
  EXPECT_EQ(back.reads_per_miss, 1) << "scans were not counted before";
  std::remove(path.c_str());
  EXPECT_THAT(ReadCalibration(path, &back).message(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace mezz::plan
