// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace mezz {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

json Row(const std::string& cache, const std::vector<double>& ops_per_s) {
  json row = {
      {"cache", cache}, {"available", true}, {"medium", "DRAM"}, {"emulated", false}, {"windows", json::array()}};
  for (const double ops : ops_per_s) {
    row["windows"].push_back({{"ops_per_s", ops}, {"p50_us", 1e6 / ops}, {"dram_hit", 0.5}, {"scm_hit", 0.25}});
  }
  return row;
}

json Result(std::vector<json> rows) {
  return {{"program", "mezz_replay"},
          {"schema", 1},
          {"time", "now"},
          {"command_line", "as it was given"},
          {"rocksdb", "11.8.1"},
          {"asserts", false},
          {"complete", true},
          {"host", {{"cpu", "fast"}, {"cores", 2}}},
          {"options", {{"threads", 2}, {"db", "/a"}, {"hybrid_uri", "mezzanine://dram=1M;policy=x;scm=8M@/a"}}},
          {"rows", std::move(rows)}};
}

class Compare : public ::testing::Test {
 protected:
  void Ok(const json& a, const json& b) {
    ASSERT_EQ(CompareResults(a, b, &comparison_).message(), "");
    table_ = ComparisonTable(comparison_);
  }
  const Difference& Of(const std::string& cache, const std::string& measure) const {
    for (const Difference& d : comparison_.differences) {
      if (d.cache == cache && d.measure == measure) return d;
    }
    ADD_FAILURE() << cache << " " << measure << " is not compared:\n" << table_;
    return comparison_.differences.at(0);
  }

  Comparison comparison_;
  std::string table_;
};

TEST_F(Compare, TellsADifferenceFromChance) {
  const std::vector<double> slow = {100, 101, 102, 103, 104};
  const std::vector<double> fast = {150, 151, 152, 153, 154};
  const std::vector<double> mixed = {99, 101.5, 102, 103.5, 103};
  Ok(Result({Row("hcc", slow), Row("hybrid", slow)}), Result({Row("hcc", mixed), Row("hybrid", fast)}));
  EXPECT_TRUE(Of("hybrid", "ops/s").significant());
  EXPECT_EQ(Of("hybrid", "ops/s").median_a, 102);
  EXPECT_EQ(Of("hybrid", "ops/s").median_b, 152);
  EXPECT_TRUE(Of("hybrid", "P50 us").significant());
  EXPECT_FALSE(Of("hcc", "ops/s").significant());
  EXPECT_TRUE(Of("hybrid", "DRAM hit").all_equal());
  EXPECT_FALSE(Of("hybrid", "DRAM hit").significant());
  EXPECT_THAT(comparison_.warnings, IsEmpty());
  EXPECT_THAT(table_, HasSubstr("+49.0 %"));
  EXPECT_THAT(table_, HasSubstr("not with 5 windows"));
}

TEST_F(Compare, SaysWhenThereAreTooFewWindowsToTell) {
  Ok(Result({Row("hcc", {1, 2, 3})}), Result({Row("hcc", {10, 11, 12})}));
  EXPECT_TRUE(Of("hcc", "ops/s").too_few());
  EXPECT_THAT(table_, HasSubstr("3 windows are too few"));
}

TEST_F(Compare, OfAResultWithItselfFindsNothing) {
  const json result = Result({Row("hcc", {1, 2, 3, 4, 5, 6})});
  Ok(result, result);
  for (const Difference& d : comparison_.differences) EXPECT_EQ(d.test.p, 1) << d.measure;
  EXPECT_THAT(comparison_.warnings, IsEmpty());
}

TEST_F(Compare, WarnsOfWhateverElseDiffers) {
  const json a = Result({Row("hybrid", {1, 2})});
  json b = a;
  b["host"]["cpu"] = "slow";
  b["rocksdb"] = "7.8.3";
  b["options"]["threads"] = 8;
  b["options"]["newer"] = true;
  b["options"]["hybrid_uri"] = "mezzanine://dram=1M;policy=y;scm=8M@/b";
  b["options"]["db"] = "/b";
  b["time"] = "later";
  b["command_line"] = "another";
  b["rows"][0]["medium"] = "file";
  b["complete"] = false;
  b["noisy"] = true;
  Ok(a, b);
  EXPECT_THAT(comparison_.warnings,
              ElementsAre("B says that its machine was too noisy", "B was interrupted", "cpu: fast in A, slow in B",
                          "hybrid policy: x in A, y in B", "newer: not recorded in A, true in B",
                          "rocksdb: 11.8.1 in A, 7.8.3 in B", "threads: 2 in A, 8 in B",
                          "medium of hybrid: \"DRAM\" in A, \"file\" in B"));
  EXPECT_THAT(table_, HasSubstr("warning: threads: 2 in A, 8 in B"));
}

TEST_F(Compare, LeavesOutWhatOnlyOneHasOrCouldNotRun) {
  json absent = Row("naive_scm", {});
  absent["available"] = false;
  Ok(Result({Row("hcc", {1, 2}), Row("lru", {1, 2}), absent, Row("tiered", {})}),
     Result({Row("hcc", {1, 2}), Row("hybrid", {1, 2}), Row("naive_scm", {1}), Row("tiered", {1})}));
  for (const Difference& d : comparison_.differences) EXPECT_EQ(d.cache, "hcc");
  EXPECT_THAT(comparison_.warnings, Contains("tiered finished no window in A or in B"));
}

TEST_F(Compare, TakesTheOneValueOfAnOlderBlockMode) {
  json a = Result({{{"cache", "hybrid"}, {"available", true}, {"miss", 0.5}, {"dram_hit", 0.2}, {"scm_hit", 0.3}}});
  a["mode"] = "block";
  json b = a;
  b["rows"][0]["miss"] = 0.4;
  Ok(a, b);
  EXPECT_NEAR(Of("hybrid", "miss").median_b - Of("hybrid", "miss").median_a, -0.1, 1e-12);
  EXPECT_THAT(table_, HasSubstr("-10.00 points"));
  EXPECT_THAT(table_, HasSubstr("1 window is too few"));
}

TEST_F(Compare, RefusesResultsThatHaveNothingInCommon) {
  json block = Result({Row("hcc", {1})});
  block["mode"] = "block";
  Status status = CompareResults(Result({Row("hcc", {1})}), block, &comparison_);
  EXPECT_THAT(status.message(), HasSubstr("same mode"));
  status = CompareResults(Result({Row("hcc", {1})}), Result({Row("lru", {1})}), &comparison_);
  EXPECT_THAT(status.message(), HasSubstr("the first has hcc; the second has lru"));
  status = CompareResults(Result({}), Result({}), &comparison_);
  EXPECT_THAT(status.message(), HasSubstr("the first has none"));
}

// A result may have been edited, or come from a version to come: what is not understood is left out.
TEST_F(Compare, SurvivesMembersOfAnyType) {
  const json good = Result({Row("hcc", {1, 2})});
  for (const json& value : {json(), json(7), json("text"), json::array({1}), json::object({{"a", 1}}), json(true)}) {
    for (const char* name : {"mode", "host", "options", "complete", "noisy", "asserts", "rocksdb", "model"}) {
      json changed = good;
      changed[name] = value;
      const Status status = CompareResults(good, changed, &comparison_);
      EXPECT_THAT(ComparisonTable(comparison_), Not(IsEmpty())) << name << status.message();
    }
    for (const char* name : {"available", "windows", "medium", "emulated"}) {
      json changed = good;
      changed["rows"][0][name] = value;
      const Status status = CompareResults(good, changed, &comparison_);
      EXPECT_THAT(status.message(), AnyOf(IsEmpty(), HasSubstr("no cache that ran"))) << name;
    }
    json changed = good;
    changed["options"]["hybrid_uri"] = value;
    changed["rows"][0]["windows"][0] = value;
    changed["rows"][0]["windows"][1]["ops_per_s"] = value;
    EXPECT_TRUE(CompareResults(good, changed, &comparison_).ok());
  }
}

TEST_F(Compare, PrintsATableOf120Columns) {
  Ok(Result({Row("scm_secondary+hcc:adaptive", {1e7, 2e7, 3e7})}), Result({Row("scm_secondary+hcc:adaptive", {1, 2})}));
  std::istringstream lines(table_);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
}

}  // namespace
}  // namespace mezz
