// SPDX-License-Identifier: Apache-2.0
// mezz_replay from options to report, on workloads of a second or two.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "integration/rocksdb_release.h"
#include "replay_fixture.h"
#include "rocksdb/version.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/readers/mezz_csv.h"
#include "workloads/readers/open_trace.h"
#include "workloads/replay/caches/open_databases.h"
#include "workloads/replay/caches/workload.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/rocksdb/query_trace_writer.h"

namespace mezz {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr bool kWholeCacheApi = ROCKSDB_MAJOR > 8 || (ROCKSDB_MAJOR == 8 && ROCKSDB_MINOR >= 9);
constexpr char kEveryCache[] =
    "hcc,lru,hcc+compressed,lru+compressed,hcc+compressed_lz4,lru+compressed_lz4,tiered,tiered:placeholder,"
    "tiered:three_queue,page_cache,naive_scm,all_dram,all_dram_lru,hybrid,hybrid:bidirectional,"
    "hybrid:scm_first,scm_secondary+lru,scm_secondary+hcc,hcc";

class Replay : public ReplayTest {
 protected:
  ReplayOptions Options(const std::string& trace, const std::string& caches) const {
    ReplayOptions o;
    o.trace = trace;
    EXPECT_TRUE(ParseCaches(caches, "dram_first", &o.caches).ok());
    o.hybrid.dram_cache = kWholeCacheApi ? DramCacheKind::kHyperClock : DramCacheKind::kLru;
    o.hybrid.dram_bytes = 1 << 20;
    o.hybrid.dram_shard_bits = 0;
    o.hybrid.scm.capacity_bytes = 8 << 20;
    o.hybrid.scm.path = folder_.Path("scm");
    o.db_dir = folder_.Path("db");
    o.keys = 8000;
    o.ops = 8000;
    o.repeats = 2;
    o.verify = true;
    return o;
  }
};

TEST_F(Replay, ListsEveryCacheAndCountsWhereBlocksCameFrom) {
  ReplayOptions options = Options("gen:uniform", kEveryCache);
  RunOk(options);
  ASSERT_EQ(report_.rows.size(), 19u);
  EXPECT_EQ(report_.rows.back().cache, "hcc#2");
  for (const CacheRow& row : report_.rows) {
    SCOPED_TRACE(row.cache);
    if (!row.unavailable.empty()) {
      EXPECT_TRUE(!kWholeCacheApi || row.cache == "naive_scm" || row.cache == "page_cache") << row.unavailable;
      continue;
    }
    EXPECT_EQ(row.windows.size(), 2u);
    EXPECT_EQ(row.cold_windows.size(), 1u);
    EXPECT_EQ(row.total.ops, 5600u);  // the warm-up of 30 % is not in it
    EXPECT_NEAR(row.total.tiers.dram_hit() + row.total.tiers.scm_hit() + row.total.per_op(row.total.tiers.flash_reads),
                1, 0.02)
        << "every get looks up one data block";
    const Latencies& latency = row.total.latency;
    EXPECT_GT(latency.p50_us, 0);
    EXPECT_LE(latency.p50_us, latency.p95_us);
    EXPECT_LE(latency.p95_us, latency.p99_us);
    EXPECT_LE(latency.p99_us, latency.p99_9_us);
    EXPECT_LE(latency.p99_9_us, latency.max_us);
    EXPECT_GT(row.total.cpu_seconds, 0);
  }
  EXPECT_EQ(Row("hcc").ratio.min, 1.0);
  EXPECT_EQ(Row("hcc").ratio.max, 1.0);
  EXPECT_LT(Row("lru").total.tiers.dram_hit(), 0.3);
  EXPECT_EQ(Row("lru").total.tiers.scm_hit(), 0);
  EXPECT_GT(Row("lru+compressed").total.tiers.scm_hit(), 0.2);
  EXPECT_GT(Row("all_dram").total.tiers.dram_hit(), 0.8);
  EXPECT_GT(Row("hybrid").total.tiers.scm_hit(), 0.5);
  EXPECT_GT(Row("scm_secondary+lru").total.tiers.scm_hit(), 0.5);
  if (Row("naive_scm").unavailable.empty()) {
    EXPECT_EQ(Row("naive_scm").total.tiers.dram_hit(), 0);
    EXPECT_GT(Row("naive_scm").total.tiers.scm_hit(), 0.8);
    EXPECT_THAT(Row("naive_scm").counters,
                AllOf(HasSubstr("memkind.arenas_per_kind: 1\n"), HasSubstr("memkind.heap_fallbacks: 0\n")));
  }
  EXPECT_FALSE(std::filesystem::exists(options.hybrid.scm.path)) << "the SCM files went with their caches";
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("db/run-0"))) << "so did the clones";
}

TEST_F(Replay, SaysHowMuchACacheOfOursPackedAndTheOthersNothing) {
  ReplayOptions options = Options("gen:uniform", "hybrid+raw,hybrid+lz4:dram_first");
  options.value_ratio = 2;
  options.hybrid.scm.capacity_bytes = kSegmentsMin * kSegmentBytesMin;
  RunOk(options);
  EXPECT_EQ(Row("hybrid+raw").total.packed.writes, 0u);
  const PackedCounts& packed = Row("hybrid+lz4:dram_first").total.packed;
  EXPECT_GT(packed.writes, 500u);
  EXPECT_GT(packed.hits, 100u);
  EXPECT_GT(packed.ratio(), 1.5);
  const std::string table = ReportTable(options, report_);
  EXPECT_NE(table.find("hybrid+lz4:dram_first: packed "), std::string::npos) << table;
  EXPECT_EQ(table.find("hybrid+raw: packed"), std::string::npos) << table;
  const json j = ReportJson(options, report_);
  EXPECT_FALSE(j["rows"][0].contains("packed"));
  EXPECT_EQ(j["rows"][1]["packed"]["scm_writes"], packed.writes);
}

TEST_F(Replay, SaysHowMuchOfAnSCMTierIsOfDeletedFiles) {
  ReplayOptions options = Options("gen:uniform", "hcc,hybrid+keep_dead:dram_first+nowarm,hybrid:dram_first+nowarm");
  options.put_share = 0.5;
  options.write_buffer_bytes = 64 << 10;
  // A compaction may have ended just now: then its inputs' blocks are still there. Not each time.
  double kept = 0, dropped = 1;
  for (int run = 0; run < 4 && dropped >= 0.8 * kept; ++run) {
    RunOk(options);
    kept = Row("hybrid+keep_dead:dram_first+nowarm").total.scm_dead_share;
    dropped = Row("hybrid:dram_first+nowarm").total.scm_dead_share;
  }
  EXPECT_GT(kept, 0.05) << "compactions replace files";
  EXPECT_LT(dropped, 0.8 * kept);
  EXPECT_GE(dropped, 0);
  const std::string table = ReportTable(options, report_);
  EXPECT_NE(table.find("hybrid+keep_dead:dram_first+nowarm: blocks of deleted files took "), std::string::npos)
      << table;
  const json j = ReportJson(options, report_);
  EXPECT_FALSE(j["rows"][0].contains("scm_dead_share"));
  EXPECT_EQ(j["rows"][1]["scm_dead_share"], kept);
}

TEST_F(Replay, ReportsTheAgreedJsonAndATableOf120Columns) {
  ReplayOptions options = Options("gen:zipf", "lru,hcc+compressed,tiered,hybrid");
  options.command_line = "mezz_replay --trace=gen:zipf";
  RunOk(options);
  const json j = ReportJson(options, report_);
  for (const char* key :
       {"medium", "emulated", "rocksdb", "seed", "rows", "command_line", "host", "options", "compiler"}) {
    EXPECT_TRUE(j.contains(key)) << key;
  }
  EXPECT_EQ(j["emulated"], !folder_.path().starts_with("/dev/shm/")) << "a file on a disk stands in for SCM";
  EXPECT_EQ(j["complete"], true);
  ASSERT_EQ(j["rows"].size(), 4u);
  for (const json& row : j["rows"]) {
    for (const char* key : {"cache", "p50_us", "p95_us", "p99_us", "p99_9_us", "latency_us", "latency_cdf", "dram_hit",
                            "scm_hit", "flash_reads_per_op", "scm_bytes_written_per_op", "cpu_s_per_mop", "windows",
                            "cold_ops_per_s", "medium", "emulated"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
    for (const char* spread : {"ops_per_s", "ratio"}) {
      for (const char* of : {"median", "min", "max"}) EXPECT_TRUE(row[spread].contains(of)) << spread << "." << of;
    }
    if (row["available"] == true) {
      EXPECT_EQ(row["windows"].size(), 2u);
    }
  }
  std::istringstream table(ReportTable(options, report_));
  for (std::string line; std::getline(table, line);) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_THAT(ReportCsv(options, report_), HasSubstr("hybrid,measured,2,"));
  const std::string path = folder_.Path("out.json");
  ASSERT_TRUE(WriteFileAtomically(path, j.dump()).ok());
  ASSERT_TRUE(WriteFileAtomically(path, j.dump()).ok());
  EXPECT_EQ(json::parse(std::ifstream(path)), j);
}

TEST_F(Replay, GivesEachHyperClockCacheTheSameShardsAndSaysWhatPagesAllHave) {
  ReplayOptions options = Options("gen:uniform", "hcc,all_dram,hcc+compressed,tiered,scm_secondary+hcc,hybrid,lru");
  options.hybrid.dram_shard_bits = -1;
  options.hybrid.dram_bytes = 16 << 20;
  options.hybrid.scm.capacity_bytes = 64 << 20;
  options.keys = options.ops = 2000;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    SCOPED_TRACE(row.cache);
    if (!row.unavailable.empty()) continue;
    const bool lru = row.cache == "lru" || (row.cache == "hybrid" && !kWholeCacheApi);
    // HyperClockCache: a shard for 2 MiB of --dram, whatever its own size.
    const bool reserves =
        row.cache == "tiered";  // its second tier's share, in entries that would fill shards by chance
    EXPECT_EQ(row.dram_shards, lru ? 32u : reserves ? 1u : 8u);
    EXPECT_EQ(row.dram_shards_usual, reserves ? 8u : 0u);
    EXPECT_GT(row.pages.resident_bytes, 0u);
    EXPECT_LE(row.pages.huge_bytes, row.pages.resident_bytes);
  }
  if (Row("tiered").unavailable.empty()) {
    EXPECT_THAT(ReportTable(options, report_), HasSubstr("tiered 1 (instead of 8)"));
  }
  EXPECT_THAT(ReportTable(options, report_),
              AllOf(HasSubstr("DRAM shards: hcc 8, all_dram 8"), HasSubstr("memory in huge pages: hcc ")));
  const json j = ReportJson(options, report_);
  EXPECT_EQ(j["rows"][0]["dram_shards"], 8);
  EXPECT_EQ(j["rows"][0]["pages"]["huge_bytes"], report_.rows[0].pages.huge_bytes);
}

TEST_F(Replay, RunsTheWindowsInABalancedOrderAndSaysWhich) {
  ReplayOptions options = Options("gen:uniform", "lru,lru,lru,lru");
  options.keys = options.ops = 2000;
  options.repeats = 4;
  RunOk(options);
  ASSERT_EQ(report_.window_order.size(), 4u);
  std::set<std::pair<std::string, std::string>> neighbours;
  for (const auto& round : report_.window_order) {
    ASSERT_EQ(round.size(), 4u);
    for (size_t i = 1; i < round.size(); ++i) neighbours.emplace(round[i - 1], round[i]);
  }
  EXPECT_EQ(neighbours.size(), 12u) << "each after each other one";
  EXPECT_EQ(ReportJson(options, report_)["window_order"], json(report_.window_order));
}

TEST_F(Replay, ReadsFromAnEmulatedDeviceAndSaysSo) {
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  ReplayOptions options = Options("gen:uniform", "lru,hybrid,page_cache");
  const TemporaryFolder memory("/dev/shm");
  options.db_dir = memory.Path("db");
  options.keys = options.ops = 2000;
  ASSERT_TRUE(ParseFlash("nvme_flash", &options.flash).ok());
  RunOk(options);
  const FlashCounts& flash = Row("lru").total.flash;
  EXPECT_GT(flash.waits, 500u);
  EXPECT_GE(flash.asked_us(), 69) << "no read is faster";
  EXPECT_GE(flash.took_us(), 69);
  EXPECT_THAT(Row("page_cache").unavailable, HasSubstr("with --flash=nvme_flash"));
  EXPECT_THAT(ReportTable(options, report_), AllOf(HasSubstr("flash: nvme_flash (emulated: Intel SSD DC P4500"),
                                                   HasSubstr("reads of the emulated flash")));
  const json j = ReportJson(options, report_);
  EXPECT_EQ(j["flash"]["name"], "nvme_flash");
  EXPECT_EQ(j["options"]["flash"], "nvme_flash");
  EXPECT_EQ(j["rows"][0]["flash"]["waits"], flash.waits);
  EXPECT_THAT(ReportCsv(options, report_), HasSubstr(",nvme_flash,"));
  options.db_dir = "/proc/mezz";
  EXPECT_THAT(Run(options).message(), HasSubstr("lies on a disk"));
}

TEST_F(Replay, ReusesADatabaseThatHoldsTheSameAndOnlyThat) {
  RunOk(Options("gen:uniform", "lru"));
  EXPECT_FALSE(report_.database_reused);
  RunOk(Options("gen:zipf", "lru"));
  EXPECT_TRUE(report_.database_reused) << "the same keys and values";
  ReplayOptions other_values = Options("gen:uniform", "lru");
  other_values.value_bytes = 500;
  RunOk(other_values);
  EXPECT_FALSE(report_.database_reused);
  EXPECT_NEAR(static_cast<double>(report_.database_bytes), 8000 * 520.0, 8000 * 30.0);
}

TEST_F(Replay, WarmsUpByCountOrUntilTheHitRatiosSettle) {
  ReplayOptions options = Options("gen:uniform", "lru,hybrid");
  options.warmup_ops = 1000;
  RunOk(options);
  EXPECT_EQ(report_.rows[0].total.ops, 7000u);
  options.warmup_ops = 0;
  options.warmup_settle = true;
  options.keys = 100;  // all in DRAM after the first window
  RunOk(options);
  EXPECT_TRUE(report_.warmup_settled);
  EXPECT_LT(report_.rows[0].cold_windows.size(), 8u);
  options.warmup_ops = 8000;
  EXPECT_THAT(Run(options).message(), HasSubstr("use one of them"));
  options.warmup_settle = false;
  EXPECT_THAT(Run(options).message(), HasSubstr("--warmup_ops=8000 leaves nothing"));
}

TEST_F(Replay, RebuildsADatabaseThatWasNotFinished) {
  RunOk(Options("gen:uniform", "lru"));
  json manifest = json::parse(std::ifstream(folder_.Path("db/mezz_replay.json")));
  manifest["complete"] = false;
  folder_.Write("db/mezz_replay.json", manifest.dump());
  RunOk(Options("gen:uniform", "lru"));
  EXPECT_FALSE(report_.database_reused);
}

TEST_F(Replay, LeavesAForeignFolderAlone) {
  std::filesystem::create_directory(folder_.Path("db"));
  folder_.Write("db/precious", "data");
  EXPECT_THAT(Run(Options("gen:uniform", "lru")).message(), HasSubstr("did not make"));
  std::filesystem::remove(folder_.Path("db/precious"));
  RunOk(Options("gen:uniform", "lru"));
  folder_.Write("db/precious", "data");
  EXPECT_THAT(Run(Options("gen:uniform", "lru")).message(), HasSubstr("did not make"))
      << "not even beside a database of its own";
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("db/precious")));
}

TEST_F(Replay, RefusesMoreKeysThanTheDiskHoldsBeforeWritingAny) {
  ReplayOptions options = Options("gen:uniform", "lru");
  options.keys = 1ull << 39;
  EXPECT_THAT(Run(options).message(), AllOf(HasSubstr("distinct keys"), HasSubstr("the disk has")));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("db/base")));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("scm")));
}

TEST_F(Replay, ACompressingTierHoldsMoreOfWhatCanBeCompressed) {
  ReplayOptions options = Options("gen:uniform",
                                  "lru+compressed,lru+compressed_lz4,lru+compressed_zstd,hybrid+raw:dram_first,"
                                  "hybrid+lz4:dram_first");
  options.value_ratio = 4;
  options.hybrid.scm.capacity_bytes = 2 << 20;  // of 8 MB
  options.ops = 30000;
  RunOk(options);
  const auto read_per_hit = [](const WindowRow& row) {
    return row.per_op(row.tiers.scm_bytes_read) / row.tiers.scm_hit();
  };
  for (const auto& [name, raw] : {std::pair{"lru+compressed_lz4", "lru+compressed"},
                                  {"lru+compressed_zstd", "lru+compressed"},
                                  {"hybrid+lz4:dram_first", "hybrid+raw:dram_first"}}) {
    const WindowRow& packed = Row(name).total;
    const WindowRow& plain = Row(raw).total;
    EXPECT_GT(packed.tiers.scm_hit(), 1.5 * plain.tiers.scm_hit()) << name;
    EXPECT_LT(read_per_hit(packed), 0.6 * read_per_hit(plain)) << name;
  }
}

TEST_F(Replay, CutsValuesFromASampleAndSaysSo) {
  std::string sample;
  while (sample.size() < (1 << 20)) sample += std::to_string(sample.size() * 7919) + " is a number\n";
  ReplayOptions options = Options("gen:zipf", "lru,hybrid+lz4:dram_first");
  options.values = folder_.Write("sample", sample);
  options.put_share = 0.2;
  RunOk(options);
  EXPECT_THAT(ReportTable(options, report_), HasSubstr("values cut from " + options.values));
  EXPECT_EQ(ReportJson(options, report_)["options"]["values"], options.values);
  RunOk(options);
  EXPECT_TRUE(report_.database_reused);
  sample[1000] ^= 1;
  folder_.Write("sample", sample);
  RunOk(options);
  EXPECT_FALSE(report_.database_reused) << "another sample gives other values";
  options.value_ratio = 2;
  EXPECT_THAT(Run(options).message(), HasSubstr("use one of them"));
  options.values = "";
  RunOk(options);
  EXPECT_FALSE(report_.database_reused);
  EXPECT_THAT(ReportTable(options, report_), HasSubstr("values made for codecs to pack to 1/2"));
}

TEST_F(Replay, RefusesAFolderInUse) {
  ReplayOptions options = Options("gen:uniform", "lru");
  options.seconds = 0.5;
  Status second;
  std::thread first([&] { RunOk(options); });
  while (!std::filesystem::exists(folder_.Path("db/base"))) std::this_thread::yield();
  ReplayReport report;
  Progress progress(/*quiet=*/true);
  second = RunReplay(options, ThreadLauncher(options, stop_), &progress, stop_, &report);
  first.join();
  EXPECT_THAT(second.message(), HasSubstr("in use by another mezz_replay"));
}

TEST_F(Replay, ReplaysATraceWholeAndInWindows) {
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    if (i == 100) text += "not a key\n";
    text += std::to_string(i * 7919 % 1500 + 1000000) + "\n";
  }
  ReplayOptions options = Options(folder_.Write("a.keys", text), "lru,hybrid");
  options.ops = 0;
  EXPECT_THAT(Run(options).message(), HasSubstr("line 101"));
  options.skip_bad = true;
  options.threads = 3;
  options.cold_windows = 4;
  options.repeats = 3;
  RunOk(options);
  EXPECT_EQ(report_.distinct_keys, 1500u);
  EXPECT_THAT(report_.workload, HasSubstr(", 1 damaged left out"));
  for (const CacheRow& row : report_.rows) {
    uint64_t ops = row.total.ops;
    EXPECT_EQ(row.cold_windows.size(), 4u);
    for (const WindowRow& window : row.cold_windows) ops += window.ops;
    EXPECT_EQ(ops, 4000u);
  }
}

TEST_F(Replay, MixesPutsAndSeeksAndStillChecksEveryByte) {
  for (uint32_t value_bytes : {0u, 300u}) {
    ReplayOptions options = Options("gen:production", "lru,lru+compressed,hybrid,hybrid:scm_first");
    options.value_bytes = value_bytes;
    options.index_in_cache = true;
    RunOk(options);
    for (const CacheRow& row : report_.rows) EXPECT_EQ(row.total.ops, 5600u) << row.cache;
  }
}

// What a scan looks up depends on no cache, though it reads ahead what a small one misses.
TEST_F(Replay, BlocksThatAScanReadAheadAreMisses) {
  ReplayOptions options = Options("gen:production", "lru,hcc,all_dram");
  options.write_buffer_bytes = 64 << 20;  // a flush comes earlier for one cache than for another
  RunOk(options);
  const double expected = static_cast<double>(Row("all_dram").total.roles.at("data").lookups);
  for (const CacheRow& row : report_.rows) {
    SCOPED_TRACE(row.cache);
    const TierCounts& tiers = row.total.tiers;
    EXPECT_NEAR(static_cast<double>(tiers.lookups()), expected, 0.01 * expected);
    EXPECT_EQ(row.total.roles.at("data").lookups, tiers.lookups());
    if (row.cache != "all_dram") {
      EXPECT_GT(tiers.read_ahead, tiers.flash_reads / 4);
    }
  }
}

TEST_F(Replay, PutsAsManyAsAskedForWhileCompactionsRun) {
  ReplayOptions options = Options("gen:zipf", "lru,hybrid,hybrid:scm_first");
  options.put_share = 0.5;
  options.ops = 60000;
  options.write_buffer_bytes = 256 << 10;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    EXPECT_EQ(row.total.ops, 42000u) << row.cache;
    const BackgroundCounts& did = row.total.background;
    EXPECT_GT(did.flushes, 10u) << row.cache;
    EXPECT_GT(did.flushed_bytes, 10u * (128 << 10)) << row.cache;
    EXPECT_GT(did.compactions, 0u) << row.cache;
    EXPECT_GT(did.compacted_read_bytes, 0u) << row.cache;
    EXPECT_GT(did.compacted_bytes, 0u) << row.cache;
    EXPECT_GT(did.compaction_ms, 0u) << row.cache;
    EXPECT_FALSE(row.total.only_fills_memtables()) << row.cache;
    EXPECT_GT(row.total.settle_seconds, 0) << row.cache << ": nobody waited for what still ran";
    uint64_t flushes = 0;
    for (const WindowRow& window : row.windows) {
      flushes += window.background.flushes;
      EXPECT_LT(window.background.compacted_bytes, uint64_t{1} << 32) << row.cache << ": no sum that was rounded down";
    }
    EXPECT_EQ(flushes, did.flushes) << row.cache << ": of the measured windows, and of no others";
  }
}

// Nine puts for a Get: compactions find far more blocks in SCM than users do.
TEST_F(Replay, CountsNoHitsOfCompactionsAsUsers) {
  ReplayOptions options = Options("gen:zipf", "hybrid+raw:dram_first+nowarm,hybrid+lz4:dram_first+nowarm");
  options.put_share = 0.9;
  options.ops = 60000;
  options.write_buffer_bytes = 256 << 10;
  options.value_ratio = 2;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    SCOPED_TRACE(row.cache);
    const uint64_t compactions = CounterOf(row, "scm.hit_by_compaction"),
                   users = CounterOf(row, "scm.hit") - compactions;
    EXPECT_GT(compactions, users) << "the premise";
    EXPECT_GT(row.total.tiers.second_hits, 0u);
    EXPECT_LE(row.total.tiers.second_hits, users);
    EXPECT_LE(row.total.tiers.second_hits, row.total.tiers.hits) << "which the replay's threads count";
    EXPECT_LE(row.total.packed.hits, row.total.tiers.second_hits);
    double by_role = 0;
    for (const auto& [role, shares] : row.total.roles)
      by_role += shares.scm_hit.value_or(0) * static_cast<double>(shares.lookups);
    EXPECT_NEAR(by_role, static_cast<double>(row.total.tiers.second_hits), 1);
  }
}

// A cache that slows compactions down must not look fast: what a window brought about is paid for within.
TEST_F(Replay, PaysForItsCompactionsWithinTheWindow) {
  ReplayOptions options = Options("gen:zipf", "lru");
  options.put_share = 0.5;
  options.ops = 30000;
  options.write_buffer_bytes = 256 << 10;
  for (const bool within : {true, false}) {
    options.settle_within = within;
    RunOk(options);
    const WindowRow& total = Row("lru").total;
    EXPECT_EQ(total.seconds > total.settle_seconds + 1e-9 * static_cast<double>(total.ops), true);
    double windows = 0;
    for (const WindowRow& window : Row("lru").windows) windows += static_cast<double>(window.ops) / window.ops_per_s();
    EXPECT_NEAR(windows, total.seconds, 1e-6);
    EXPECT_EQ(ReportJson(options, report_)["options"]["settle"], within ? "within" : "after");
  }
}

// A memtable that takes all puts shows nothing of a database that is written to, and the report says so.
TEST_F(Replay, WarnsOfPutsThatOnlyFillTheMemtable) {
  ReplayOptions options = Options("gen:zipf", "lru,hybrid");
  options.put_share = 0.5;
  options.write_buffer_bytes = 256 << 20;
  RunOk(options);
  EXPECT_TRUE(Row("lru").total.only_fills_memtables());
  EXPECT_THAT(ReportTable(options, report_), HasSubstr("lru: its windows have puts, and neither a flush nor a"));
  EXPECT_EQ(ReportJson(options, report_)["rows"][0]["only_fills_memtables"], true);
  options.put_share = 0;
  RunOk(options);
  EXPECT_FALSE(Row("lru").total.only_fills_memtables()) << "there is nothing to flush";
  EXPECT_THAT(ReportTable(options, report_), Not(HasSubstr("neither a flush")));
}

TEST_F(Replay, WarmsTheCachesThatAskForIt) {
  const bool compactions = kWarmsWithCompactions;
  ReplayOptions options = Options("gen:zipf", "lru,lru+warmflush,lru+warm,hybrid,hybrid+nowarm");
  options.put_share = 0.5;
  options.ops = 30000;
  options.write_buffer_bytes = 256 << 10;
  RunOk(options);
  EXPECT_EQ(Row("lru+warm").reported(), compactions) << Row("lru+warm").unavailable;
  if (!compactions) {
    EXPECT_THAT(Row("lru+warm").unavailable, HasSubstr("warms with flushes only"));
  }
  EXPECT_THAT(Row("hybrid").counters, HasSubstr(kTellsRoles ? "decision.warm." : "decision."));
  EXPECT_THAT(Row("hybrid+nowarm").counters, HasSubstr("were read back after compactions"));
}

// A cache that holds everything reads a block once. What the puts of the windows write is flushed, and no compaction
// replaces it, as which blocks one replaces before they are asked for is another matter in each run.
TEST_F(Replay, WhatAFlushWritesIsReadFromFlashUnlessItWarms) {
  ReplayOptions options = Options("gen:zipf", "lru,lru+warmflush");
  options.hybrid.dram_bytes = 64 << 20;
  options.put_share = 0.5;
  options.write_buffer_bytes = 2 << 20;
  options.warmup = 0.4;
  options.ops = 12000;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    EXPECT_GT(row.total.background.flushes, 0u) << row.cache;
    EXPECT_EQ(row.total.background.compactions, 0u) << row.cache;
  }
  EXPECT_LT(Row("lru+warmflush").total.tiers.flash_reads, 0.8 * Row("lru").total.tiers.flash_reads);
}

TEST_F(Replay, PutsWhereNoneCanBeAreRefused) {
  ReplayOptions options = Options("gen:zipf", "lru");
  options.put_share = -0.1;
  EXPECT_THAT(Run(options).message(), HasSubstr("--put_share=-0.1"));
  options.put_share = 0.1;
  options.trace = folder_.Path("trace");
  EXPECT_THAT(Run(options).message(), HasSubstr("gen:uniform or gen:zipf"));
  options = Options("gen:zipf", "lru");
  options.write_buffer_bytes = 1;
  EXPECT_THAT(Run(options).message(), HasSubstr("--write_buffer=1 "));
}

TEST_F(Replay, SeveralDatabasesShareACache) {
  ReplayOptions options = Options("gen:zipf", "lru,hybrid:dram_first");
  options.dbs = 3;
  options.put_share = 0.2;
  options.write_buffer_bytes = 64 << 10;
  RunOk(options);
  EXPECT_FALSE(report_.database_reused);
  for (const CacheRow& row : report_.rows) EXPECT_GT(row.total.background.flushes, 1u) << row.cache;
  RunOk(options);
  EXPECT_TRUE(report_.database_reused);
  options.dbs = 2;
  RunOk(options);
  EXPECT_FALSE(report_.database_reused) << "other databases hold other keys";
  options.dbs = 257;
  EXPECT_THAT(Run(options).message(), HasSubstr("--dbs=257"));
}

// RocksDB fills that tier from compressed blocks alone.
TEST_F(Replay, CompressedBlocksFillTheTierOfThreeQueue) {
  ReplayOptions options = Options("gen:zipf", "hcc,tiered:three_queue");
  options.compression = "lz4";
  options.value_ratio = 2;
  RunOk(options);
  EXPECT_LT(report_.database_bytes, 8000 * 1000 * 3 / 4);
  EXPECT_NEAR(static_cast<double>(report_.mean_block_bytes), 4096, 1024) << "as they are cached";
  const CacheRow& tiered = Row("tiered:three_queue");
  EXPECT_TRUE(!tiered.unavailable.empty() || tiered.total.tiers.scm_hit() > 0.1) << tiered.total.tiers.scm_hit();
  options.compression = "brotli";
  EXPECT_THAT(Run(options).message(), HasSubstr("--compression=brotli"));
}

TEST_F(Replay, RunsForATimeWhenAskedTo) {
  ReplayOptions options = Options("gen:uniform", "lru,all_dram_lru");
  options.seconds = 0.2;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    EXPECT_EQ(row.windows.size(), 2u);
    EXPECT_GT(row.total.ops, 0u);
  }
}

// Each window begins at its first request, whatever the warm-up or a window before it got through.
TEST_F(Replay, RunsForATimeAtARate) {
  ReplayOptions options = Options("gen:uniform", "lru,all_dram_lru");
  options.seconds = 0.1;
  options.rate = 2000;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    for (const WindowRow& window : row.windows) {
      EXPECT_GT(window.ops, 0u) << row.cache;
      EXPECT_LE(window.ops, 201u) << row.cache;
    }
  }
}

// A batch stays whole. What a window takes too much for that, the next one lacks, and nothing is asked for that the
// count of requests had left out of the database.
TEST_F(Replay, CutsNoBatchAndAsksForNothingBehindTheLast) {
  UseRocksdbQueryReader();
  constexpr uint64_t kBatch = 8;
  const std::string trace = folder_.Path("batches.trace");
  {
    std::unique_ptr<QueryTraceWriter> writer;
    ASSERT_TRUE(QueryTraceWriter::Create(trace, {}, &writer).ok());
    for (uint64_t n = 0; n < 100 * kBatch; ++n) {
      ASSERT_TRUE(writer
                      ->Add({.key = n,
                             .operation = Operation::kMultiGet,
                             .batch_left = static_cast<uint32_t>(kBatch - 1 - n % kBatch)})
                      .ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }
  ReplayOptions options = Options(trace, "lru");
  options.ops = 50 * kBatch - 3;
  options.repeats = 3;
  options.warmup = 0;
  RunOk(options);
  EXPECT_EQ(report_.requests, 50 * kBatch);
  EXPECT_EQ(report_.rows[0].total.ops, 50 * kBatch);
}

TEST_F(Replay, OfAModelThatDeletesKeysMayBeGoneAndItsFilesSayWhatIsLoaded) {
  folder_.Write("config.json", R"({"test_config": {"getRatio": 0.6, "setRatio": 0.2, "delRatio": 0.2,
                                   "popDistFile": "pop.json", "valSizeDistFile": "sizes.json"}})");
  folder_.Write("pop.json", R"({"popularityBuckets": [10, 990], "popularityWeights": [5000, 5000]})");
  folder_.Write("sizes.json", R"({"valSizeRange": [100, 200], "valSizeRangeProbability": [1, 1]})");
  ReplayOptions options = Options("gen:cachelib:" + folder_.Path(""), "lru");
  options.value_bytes = 0;
  RunOk(options);
  EXPECT_GT(report_.rows[0].total.not_found, 0u);
  RunOk(options);
  EXPECT_TRUE(report_.database_reused);
  folder_.Write("sizes.json", R"({"valSizeRange": [100, 300], "valSizeRangeProbability": [1, 1]})");
  RunOk(options);
  EXPECT_FALSE(report_.database_reused);
}

TEST_F(Replay, TellsWhatMovedAndWhichBlocksWereFoundWhere) {
  ReplayOptions options = Options("gen:uniform", "lru,lru+compressed,hybrid,naive_scm");
  options.index_in_cache = true;
  RunOk(options);
  for (const CacheRow& row : report_.rows) {
    if (!row.unavailable.empty()) continue;
    SCOPED_TRACE(row.cache);
    const WindowRow& t = row.total;
    EXPECT_EQ(t.operations, (std::map<std::string, uint64_t>{{"get", 5600}}));
    ASSERT_TRUE(t.roles.contains("data"));
    ASSERT_TRUE(t.roles.contains("index"));
    for (const auto& [role, shares] : t.roles) {
      EXPECT_NEAR(shares.hit + shares.miss, 1, 1e-9) << role;
      if (!shares.dram_hit) continue;
      EXPECT_NEAR(*shares.dram_hit + *shares.scm_hit, shares.hit, 1e-9) << role;
    }
    EXPECT_EQ(t.roles.at("data").dram_hit.has_value(), row.cache != "lru+compressed");
    EXPECT_NEAR(static_cast<double>(t.roles.at("data").lookups), 5600, 60);
    EXPECT_NEAR(static_cast<double>(t.tiers.flash_bytes), 4096 * t.per_op(t.tiers.flash_reads) * 5600,
                0.2 * static_cast<double>(t.tiers.flash_bytes));
    EXPECT_GT(t.context_switches, 0);
  }
  EXPECT_GT(Row("hybrid").total.demotions, 0u);
  EXPECT_GT(Row("hybrid").total.per_op(Row("hybrid").total.tiers.scm_bytes_read), 1000);
  EXPECT_EQ(Row("lru").total.demotions, 0u);
}

TEST_F(Replay, RecordsTheLookUpsOfBlocks) {
  ReplayOptions options = Options("gen:uniform", "lru");
  options.block_trace = folder_.Path("blocks.trace");
  RunOk(options);
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(options.block_trace, "", &source).ok());
  uint64_t data = 0;
  for (Request request; source->Next(&request);) data += request.role == BlockRole::kData ? 1 : 0;
  EXPECT_TRUE(source->status().ok()) << source->status().message();
  EXPECT_NEAR(static_cast<double>(data), 8000, 80) << "one a request, those of the warm-up too";
  EXPECT_THAT(Run(options).message(), HasSubstr("it exists; remove it"));
  options.block_trace = folder_.Path("other.trace");
  options.caches.push_back(options.caches.front());
  EXPECT_THAT(Run(options).message(), HasSubstr("--caches names 2"));
}

TEST_F(Replay, RecordsBlocksWithTheParentsOfThoseThatAreWritten) {
  if (!kWarmsWithCompactions) GTEST_SKIP() << "this RocksDB does not offer what compactions write";
  ReplayOptions options = Options("gen:uniform", "hybrid");
  options.put_share = 0.5;
  options.write_buffer_bytes = 256 << 10;
  options.lineage_trace = folder_.Path("blocks.csv");
  RunOk(options);
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(options.lineage_trace, "", &source).ok());
  LoadedTrace trace;
  ASSERT_EQ(LoadedTrace::Load(source.get(), {}, &trace).message(), "");
  EXPECT_GT(trace.accesses().size(), 3000u) << "users' look-ups";
  std::set<BlockEventKind> kinds;
  for (const TraceEvent& event : trace.events().events) kinds.insert(event.kind);
  EXPECT_EQ(kinds.size(), kWordsOf<BlockEventKind>.size()) << "of all";
  options.caches.push_back(options.caches.front());
  EXPECT_THAT(Run(options).message(), HasSubstr("--lineage_trace="));
}

TEST_F(Replay, MakesASeriesOfTheMeasuredWindowsOnly) {
  ReplayOptions options = Options("gen:uniform", "lru");
  options.seconds = 0.6;
  options.repeats = 2;
  RunOk(options);
  const CacheRow& row = report_.rows.front();
  ASSERT_FALSE(row.series.empty());
  double ops = 0;
  for (const SeriesPoint& point : row.series) ops += point.ops * point.seconds;
  EXPECT_LE(ops, static_cast<double>(row.total.ops) * 1.0001);
  EXPECT_LE(row.series.back().t_s, row.total.seconds * 1.0001);
}

TEST_F(Replay, PacesRequestsByRateAndByTheTracesOwnTimes) {
  ReplayOptions options = Options("gen:uniform", "lru");
  options.rate = 50000;
  RunOk(options);
  EXPECT_LE(report_.rows[0].ops_per_s.median, 50000 * 1.01) << "5600 requests take 56 ms each window, or longer";
  options.trace = folder_.Write("a.keys", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  options.timestamps = 1;
  EXPECT_THAT(Run(options).message(), HasSubstr("use one of them"));
  options.rate = 0;
  EXPECT_THAT(Run(options).message(), AllOf(HasSubstr("has no times"), HasSubstr("a.keys")));
  options.trace = "gen:uniform";
  EXPECT_THAT(Run(options).message(), HasSubstr("use --rate"));
  options.timestamps = 1e-7;
  EXPECT_THAT(Run(options).message(), HasSubstr("--timestamps=1e-07 is out of range; it goes from 1e-06"));
  options.rate = 1e-9;
  EXPECT_THAT(Run(options).message(), HasSubstr("--rate=1e-09 is out of range; it goes from 0.001"));
}

// A trace that tells its times by the second, as many do.
TEST_F(Replay, TheRequestsOfASecondAreNotAllDueAtOnce) {
  constexpr uint64_t kSecondUs = 1'000'000, kOfEach = 100;
  std::string text(kMezzCsvHeader);
  text += '\n';
  for (uint64_t i = 0; i < 4 * kOfEach; ++i)
    text += fmt::format("{},get,0,512,0,0,0,{},data,0,0,-1,unknown,0\n", i % 200, (7 + i / kOfEach) * kSecondUs);
  for (const ReplayMode mode : {ReplayMode::kDatabase, ReplayMode::kBlock}) {
    ReplayOptions options = Options(folder_.Write("seconds.csv", text), "lru");
    options.mode = mode;
    options.threads = 1;
    options.timestamps = 1;
    std::unique_ptr<Workload> workload;
    ASSERT_EQ(Workload::Open(options, &progress_, &workload).message(), "");
    uint64_t i = 0;
    for (const uint64_t requests : {150, 250}) {  // the first window ends within a second
      ASSERT_TRUE(workload->NextWindow(requests).ok());
      EXPECT_EQ(workload->window_first_time_us(), 7 * kSecondUs + i * kSecondUs / kOfEach);
      ASSERT_EQ(workload->window()[0].size(), requests);
      for (const Request& request : workload->window()[0]) {
        ASSERT_EQ(request.key, i % 200);
        ASSERT_EQ(request.time_us, 7 * kSecondUs + i * kSecondUs / kOfEach);
        ++i;
      }
    }
  }
}

TEST_F(Replay, ChargesStockTiersByTheSameModel) {
  ReplayOptions options = Options("gen:uniform", "lru+compressed,naive_scm,hybrid,all_dram_lru");
  options.hybrid.scm.model = MediumModelName::kOptane100;
  RunOk(options);
  EXPECT_THAT(Row("lru+compressed").medium, HasSubstr("optane100"));
  EXPECT_THAT(Row("hybrid").medium, HasSubstr("optane100"));
  EXPECT_EQ(Row("all_dram_lru").medium, "DRAM");
  EXPECT_FALSE(Row("all_dram_lru").emulated);
  EXPECT_TRUE(Row("hybrid").emulated);
}

TEST_F(Replay, EndsCleanlyWhenStopped) {
  stop_ = true;
  RunOk(Options("gen:uniform", "lru"));
  EXPECT_FALSE(report_.complete);
  stop_ = false;
  RunOk(Options("gen:uniform", "lru"));
  EXPECT_TRUE(report_.complete);
}

TEST(ReplayOptions, RefuseUnknownCachesByName) {
  std::vector<CacheSpec> caches;
  EXPECT_THAT(ParseCaches("hcc,hbrid", "dram_first", &caches).message(), HasSubstr("\"hbrid\""));
  EXPECT_THAT(ParseCaches("hybrid:nope", "dram_first", &caches).message(), HasSubstr("nope"));
  EXPECT_THAT(ParseCaches("lru:dram_first", "dram_first", &caches).message(), HasSubstr("\"lru:dram_first\""));
  EXPECT_THAT(ParseCaches("hcc,,lru", "dram_first", &caches).message(), HasSubstr("\"\""));
  EXPECT_THAT(ParseCaches("tiered:nope", "dram_first", &caches).message(), HasSubstr("three_queue"));
  EXPECT_TRUE(caches.empty());
}

TEST(Spread, IsTheMedianWithItsExtremes) {
  EXPECT_EQ(SpreadOf({3, 1, 2}).median, 2);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).min, 1);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).max, 4);
  EXPECT_EQ(SpreadOf({}).median, 0);
}

}  // namespace
}  // namespace mezz
