// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cache/base/write_file.h"
#include "test_traces.h"
#include "tests/support/temporary_folder.h"

namespace mezz::sim {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class Report : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random(7);
    std::ofstream file(path_);
    for (const BlockId block : MixedAccesses(random, 20'000, 1000)) file << block << "\n";
    file.close();
    options_.traces = {path_};
    options_.policies = {"dram_first", "bidirectional", "lru", "opt"};
    ASSERT_TRUE(ParseTotals("0.1,0.5", &options_.totals).ok());
    ASSERT_EQ(RunSim(options_, &report_).message(), "");
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.Path("trace.keys");
  SimOptions options_;
  SimReport report_;
};

TEST_F(Report, HasARowForEveryPolicyAndTotal) {
  ASSERT_EQ(report_.rows.size(), 8u);
  for (const SimRow& row : report_.rows) {
    const SimCounts& c = row.counts;
    EXPECT_EQ(c.dram_hits + c.scm_hits() + c.misses, c.accesses) << row.policy;
    ASSERT_TRUE(row.gap_closed.has_value());
    if (row.policy == "lru") {
      EXPECT_DOUBLE_EQ(*row.gap_closed, 0);
    }
    if (row.policy == "opt") {
      EXPECT_DOUBLE_EQ(*row.gap_closed, 1);
    }
    EXPECT_LE(*row.gap_closed, 1 + 1e-9);
    EXPECT_GT(row.optane100_ns, 0);
  }
}

TEST_F(Report, DoesNotDependOnThreads) {
  options_.threads = 1;
  SimReport alone;
  ASSERT_TRUE(RunSim(options_, &alone).ok());
  options_.threads = 4;
  SimReport crowd;
  ASSERT_TRUE(RunSim(options_, &crowd).ok());
  EXPECT_EQ(ReportCsv(alone), ReportCsv(crowd));
}

TEST_F(Report, JudgesEveryTraceBeforeItRunsOne) {
  options_.traces = {path_, folder_.Write("once.keys", "1\n2\n3\n")};
  SimReport none;
  EXPECT_THAT(RunSim(options_, &none).message(), HasSubstr("once.keys asks for each of its 3 blocks once"));
  EXPECT_TRUE(none.rows.empty());
}

TEST_F(Report, TableFitsATerminal) {
  options_.fast_share = 0.25;
  report_ = {};
  ASSERT_TRUE(RunSim(options_, &report_).ok());
  std::istringstream table(ReportTable(options_, report_));
  for (std::string line; std::getline(table, line);) EXPECT_LE(line.size(), 120u) << line;
}

TEST_F(Report, JsonCarriesOptionsRowsAndDecisions) {
  const nlohmann::json json = ReportJson(options_, report_);
  EXPECT_EQ(json["rows"].size(), 8u);
  EXPECT_EQ(json["options"]["seed"], 1);
  const nlohmann::json& row = json["rows"][0];
  EXPECT_EQ(row["policy"], "dram_first");
  uint64_t hits = 0;
  for (const auto& [action, reasons] : row["decisions"]["on_scm_hit"].items()) {
    for (const auto& [reason, count] : reasons.items()) hits += count.get<uint64_t>();
  }
  EXPECT_EQ(hits, report_.rows[0].counts.scm_hits());
  EXPECT_TRUE(row.contains("accesses_per_s"));
}

TEST_F(Report, CsvHasAColumnForEachName) {
  std::istringstream csv(ReportCsv(report_));
  std::string line;
  std::getline(csv, line);
  const auto commas = std::count(line.begin(), line.end(), ',');
  int rows = 0;
  while (std::getline(csv, line)) {
    ++rows;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas);
  }
  EXPECT_EQ(rows, 8);
}

TEST_F(Report, OfOrderedMediaTellsOfLevels) {
  EXPECT_FALSE(ReportJson(options_, report_)["rows"][0].contains("scm_fast_hit"));
  EXPECT_EQ(report_.rows[0].ordered_ns, 0);
  options_.fast_share = 0.25;
  SimReport levels;
  ASSERT_EQ(RunSim(options_, &levels).message(), "");
  const SimRow& row = levels.rows[0];
  const SimCounts& counts = row.counts;
  EXPECT_EQ(counts.dram_hits + counts.scm_hits() + counts.misses, counts.accesses);
  EXPECT_GT(counts.fast_hits(), 0u);
  EXPECT_GT(counts.slow.hits(), 0u);
  EXPECT_GT(row.ordered_ns, row.cxl_ns);
  EXPECT_LT(row.ordered_ns, row.optane100_ns);
  const nlohmann::json json = ReportJson(options_, levels);
  EXPECT_EQ(json["options"]["fast_share"], 0.25);
  EXPECT_EQ(json["rows"][0]["fast_units"], 20);
  EXPECT_DOUBLE_EQ(json["rows"][0]["scm_fast_hit"], row.per_access(counts.fast_hits()));
  EXPECT_DOUBLE_EQ(json["rows"][0]["level_demotions_per_access"], row.per_access(counts.level_demotions));
  EXPECT_DOUBLE_EQ(json["rows"][0]["amat_ns"]["cxl>optane100"], row.ordered_ns);
  EXPECT_FALSE(json["rows"][2].contains("fast_units")) << "lru has one tier";
  EXPECT_THAT(ReportTable(options_, levels), HasSubstr("dram_first at 0.1: per access 0."));
  EXPECT_THAT(ReportCsv(levels), HasSubstr(fmt::format(",{:.6f},{:.6f},{:.1f}\n", row.per_access(counts.fast_hits()),
                                                       row.per_access(counts.level_demotions), row.ordered_ns)));
}

TEST_F(Report, IsReplacedWholeOrRefused) {
  const std::string path = folder_.Path("out.json");
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  const auto read = [&path] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(read(), "new");
  EXPECT_THAT(WriteFileAtomically(folder_.Path("none/out.json"), "x").message(), HasSubstr("cannot be written"));
  // By two at once it is one's or the other's, whole.
  const std::string contents[] = {std::string(300'000, 'a'), std::string(200'000, 'b')};
  std::vector<std::jthread> writers;
  for (const std::string& content : contents) {
    writers.emplace_back([&] {
      for (int i = 0; i < 30; ++i) EXPECT_EQ(WriteFileAtomically(path, content).message(), "");
    });
  }
  for (int i = 0; i < 100; ++i) EXPECT_THAT(read(), AnyOf("new", contents[0], contents[1]));
}

// Links stay links, and a pipe or a device stays what it is.
TEST_F(Report, IsWrittenToWhatALinkLeadsTo) {
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string link = folder_.Path("link");
  std::filesystem::create_symlink("target", link);
  for (const char* const content : {"first", "second"}) {
    ASSERT_TRUE(CheckFileWritable("json", link).ok());
    ASSERT_TRUE(WriteFileAtomically(link, content).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(read(folder_.Path("target")), content);
  }
  const std::string pipe = folder_.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(WriteFileAtomically(pipe, "x").message(), HasSubstr("cannot be written")) << "nobody reads it";
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(WriteFileAtomically(pipe, "through").ok());
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof(got)), 7);
  close(reader);
  EXPECT_STREQ(got, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(WriteFileAtomically("/dev/full", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(Report, WarmupAndSizesInBytesRunToo) {
  options_.warmup = 0.5;
  options_.sizes = Sizes::kBytes;
  ASSERT_TRUE(ParseTotals("0.9", &options_.totals).ok());
  SimReport bytes;
  ASSERT_EQ(RunSim(options_, &bytes).message(), "");
  EXPECT_EQ(bytes.rows[0].counts.accesses, 10'000u);
}

}  // namespace
}  // namespace mezz::sim
