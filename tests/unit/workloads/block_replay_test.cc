// SPDX-License-Identifier: Apache-2.0
// mezz_replay --mode=block: the trace's accesses on the real caches, each block checked.
#include "workloads/replay/block_replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "rocksdb/version.h"
#include "temporary_folder.h"
#include "workloads/block_key.h"
#include "workloads/readers/mezz_csv.h"
#include "workloads/replay/block_cache.h"
#include "workloads/replay/block_file.h"
#include "workloads/replay/cache_factory.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

constexpr bool kWholeCacheApi = ROCKSDB_MAJOR >= 8;
constexpr uint32_t kUnit = 512;

// --- the file ---

constexpr uint64_t kSector = BlockFile::kSectorBytes;

class BlockFileTest : public ::testing::Test {
 protected:
  Status Open(uint64_t sectors, std::unique_ptr<BlockFile>* file) {
    file->reset();
    return BlockFile::Open(folder_.Path("db"), sectors * kSector, &progress_, stop_, file);
  }
  std::string path() const { return folder_.Path("db/mezz_blocks"); }

  TemporaryFolder folder_;
  Progress progress_{/*quiet=*/true};
  std::atomic<bool> stop_{false};
};

TEST_F(BlockFileTest, HoldsWhatFollowsFromThePlaceAndGrowsWithoutWritingWhatIsThere) {
  std::unique_ptr<BlockFile> file;
  ASSERT_EQ(Open(1000, &file).message(), "");
  EXPECT_EQ(std::filesystem::file_size(path()), 1000 * kSector);
  ASSERT_EQ(Open(20'000, &file).message(), "");
  ASSERT_EQ(Open(10, &file).message(), "");
  EXPECT_EQ(std::filesystem::file_size(path()), 20'000 * kSector) << "a smaller trace must not shrink it";
  const BlockFile::Buffer buffer = BlockFile::MakeBuffer(8 * kSector);
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    const uint64_t at = random() % (20'000 - 8) * kSector;
    const size_t bytes = 1 + random() % (8 * kSector);
    ASSERT_TRUE(file->Read(at, bytes, buffer.get()).ok());
    EXPECT_TRUE(BlockFile::Matches(at, {buffer.get(), bytes})) << at << " " << bytes;
    EXPECT_FALSE(BlockFile::Matches(at + kSector, {buffer.get(), std::max<size_t>(bytes, 8)})) << at << " " << bytes;
  }
  EXPECT_FALSE(file->Read(20'000 * kSector, 1, buffer.get()).ok());
}

TEST_F(BlockFileTest, OneWrongByteIsSeen) {
  std::vector<std::byte> bytes(2 * kSector + 13);
  BlockFile::Fill(7 * kSector, bytes);
  ASSERT_TRUE(BlockFile::Matches(7 * kSector, bytes));
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{1};
    ASSERT_FALSE(BlockFile::Matches(7 * kSector, bytes));
    bytes[at] ^= std::byte{1};
  }
}

TEST_F(BlockFileTest, WhatAnInterruptedRunLeftIsCompleted) {
  std::unique_ptr<BlockFile> file;
  ASSERT_TRUE(Open(100, &file).ok());
  file.reset();
  std::filesystem::resize_file(path(), 50 * kSector + 17);
  ASSERT_EQ(Open(100, &file).message(), "");
  const BlockFile::Buffer buffer = BlockFile::MakeBuffer(kSector);
  ASSERT_TRUE(file->Read(50 * kSector, kSector, buffer.get()).ok());
  EXPECT_TRUE(BlockFile::Matches(50 * kSector, {buffer.get(), kSector}));
}

TEST_F(BlockFileTest, ForeignFilesAndFilesInUseAreRefused) {
  std::unique_ptr<BlockFile> file, second;
  ASSERT_TRUE(Open(100, &file).ok());
  EXPECT_EQ(BlockFile::Open(folder_.Path("db"), 1, &progress_, stop_, &second).code(), Status::Code::kBusy);
  file.reset();
  std::ofstream(path(), std::ios::binary) << std::string(100 * kSector, 'x');
  const Status refused = Open(100, &file);
  EXPECT_EQ(refused.code(), Status::Code::kForeignFile);
  EXPECT_THAT(refused.message(), HasSubstr("remove it"));
}

// --- the replay ---

class BlockReplay : public ::testing::Test {
 protected:
  ReplayOptions Options(const std::string& trace, const std::string& caches) const {
    ReplayOptions o;
    o.mode = ReplayMode::kBlock;
    o.trace = trace;
    EXPECT_EQ(ParseCaches(caches, "dram_first", &o.caches).message(), "");
    o.hybrid.dram_cache = DramCacheKind::kLru;
    o.hybrid.dram_bytes = 200 << 10;
    o.hybrid.dram_shard_bits = 0;
    o.hybrid.scm.capacity_bytes = 4 << 20;
    o.hybrid.scm.path = folder_.Path("scm");
    o.hybrid.scm.expected_block_bytes = kUnit;
    o.db_dir = folder_.Path("db");
    o.unit_bytes = kUnit;
    o.threads = 1;
    o.warmup = 0;
    o.keys = 10'000;
    o.ops = 30'000;
    return o;
  }
  Status Run(const ReplayOptions& options) {
    report_ = {};
    return RunBlockReplay(options, &progress_, stop_, &report_);
  }
  void RunOk(const ReplayOptions& options) {
    const Status status = Run(options);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const BlockRow& Row(const std::string& cache) const {
    for (const BlockRow& row : report_.rows) {
      if (row.cache == cache) return row;
    }
    ADD_FAILURE() << "no row " << cache;
    return report_.rows.front();
  }

  TemporaryFolder folder_;
  Progress progress_{/*quiet=*/true};
  std::atomic<bool> stop_{false};
  BlockReport report_;
};

TEST_F(BlockReplay, EveryCacheAnswersEachAccessInOneWay) {
  const ReplayOptions options =
      Options("gen:zipf",
              "hcc,lru,hcc+compressed,lru+compressed,naive_scm,all_dram,all_dram_lru,hybrid,hybrid:bidirectional,"
              "hybrid:scm_first,hybrid:placeholder,hybrid:three_queue,scm_secondary+lru,scm_secondary+hcc");
  RunOk(options);
  ASSERT_EQ(report_.rows.size(), options.caches.size());
  EXPECT_TRUE(report_.complete);
  for (const BlockRow& row : report_.rows) {
    SCOPED_TRACE(row.cache);
    if (!row.unavailable.empty()) {
      EXPECT_TRUE(!kWholeCacheApi || row.cache == "naive_scm") << row.unavailable;
      continue;
    }
    EXPECT_EQ(row.accesses, 30'000u);
    EXPECT_EQ(row.dram_hits + row.scm_hits + row.misses, row.accesses);
    EXPECT_EQ(row.latencies.count(), row.accesses);
    EXPECT_GE(row.misses, report_.unique) << "the first access to a block cannot hit";
  }
  EXPECT_EQ(Row("lru").scm_hits + Row("lru").scm_writes, 0u);
  EXPECT_LT(Row("hybrid").misses, Row("lru").misses);
  EXPECT_GT(Row("hybrid").scm_hits, 1000u);
  EXPECT_GT(Row("hybrid").scm_writes, 1000u);
  EXPECT_EQ(Row("hybrid").promotions, 0u);
  EXPECT_GT(Row("hybrid:bidirectional").promotions, 1000u);
  EXPECT_GT(Row("hybrid:placeholder").misses, Row("hybrid").misses) << "the first eviction stores nothing";
  EXPECT_GT(Row("scm_secondary+lru").scm_hits, 1000u);
  EXPECT_FALSE(std::filesystem::exists(options.hybrid.scm.path)) << "the SCM file went with its cache";
}

// A stock LRUCache of one shard and our bookkeeping around it, against an LRU list of the same number of blocks.
TEST_F(BlockReplay, AccessesComeInTheTracesOrder) {
  std::mt19937_64 random(7);
  std::string text;
  std::vector<uint64_t> order;  // least recent first
  uint64_t hits = 0;
  constexpr uint64_t kAccesses = 20'000, kBlocks = 600;
  constexpr size_t kCapacity = 100;
  for (uint64_t i = 0; i < kAccesses; ++i) {
    const uint64_t key = random() % 4 == 0 ? random() % kBlocks : random() % (kBlocks / 10);
    text += std::to_string(key) + "\n";
    const auto found = std::find(order.begin(), order.end(), key);
    if (found != order.end()) {
      ++hits;
      order.erase(found);
    } else if (order.size() == kCapacity) {
      order.erase(order.begin());
    }
    order.push_back(key);
  }
  ReplayOptions options = Options(folder_.Write("trace.txt", text), "lru");
  options.format = "text";
  options.ops = 0;
  // With its default pool for what was hit LRUCache is a little better than the list; of that share the test is aware.
  constexpr size_t kHandleBytes = 112;  // what LRUCache adds to a block of this size
  options.hybrid.dram_bytes = kCapacity * (kUnit + kHandleBytes);
  RunOk(options);
  EXPECT_EQ(Row("lru").accesses, kAccesses);
  EXPECT_EQ(report_.unique, kBlocks);
  EXPECT_NEAR(static_cast<double>(Row("lru").dram_hits), static_cast<double>(hits), 0.05 * kAccesses);
}

TEST_F(BlockReplay, ResultsRepeatToTheLastBlock) {
  const ReplayOptions options = Options("gen:zipf", "lru,hybrid:bidirectional,hybrid:bidirectional");
  RunOk(options);
  EXPECT_EQ(report_.rows[1].dram_hits, report_.rows[2].dram_hits);
  const BlockReport first = report_;
  RunOk(options);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(report_.rows[i].dram_hits, first.rows[i].dram_hits) << i;
}

// One list of LRUCache does not care where a key hashes to; what cares is another draw, of as many accesses.
TEST_F(BlockReplay, AnotherSeedPlacesTheSameBlocksOtherwise) {
  std::mt19937_64 random(7);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(random() % 4 == 0 ? random() % 600 : random() % 60) + "\n";
  ReplayOptions options = Options(folder_.Write("trace.txt", text), "lru,hybrid");
  options.format = "text";
  options.ops = 0;
  RunOk(options);
  const BlockReport first = report_;
  options.seed = 2;
  RunOk(options);
  EXPECT_EQ(Row("lru").dram_hits, first.rows[0].dram_hits);
  EXPECT_EQ(Row("hybrid").accesses, 20'000u);
  EXPECT_NEAR(Row("hybrid").per_access(Row("hybrid").misses), first.rows[1].per_access(first.rows[1].misses), 0.01);
}

// From one byte to more than the whole DRAM tier. A size that changes later in the trace is data.
TEST_F(BlockReplay, BlocksAreAsLongAsTheTraceSays) {
  std::mt19937_64 random(7);
  std::string text = std::string(kMezzCsvHeader) + "\n";
  std::map<uint64_t, uint64_t> first_bytes;
  for (int i = 0; i < 4000; ++i) {
    const uint64_t key = random() % 300;
    const uint64_t bytes = key == 7 ? 300'000 : 1 + (key * 977 + i / 3000) % 5000;
    text += fmt::format("{},get,0,{},0,0,0,0,data,0,0,-1,unknown,0\n", key, bytes);
    first_bytes.emplace(key, bytes);
  }
  uint64_t footprint = 0;
  for (const auto& [key, bytes] : first_bytes) footprint += bytes;
  ReplayOptions options = Options(folder_.Write("trace.csv", text), "lru,hybrid,hybrid:bidirectional");
  options.ops = 0;
  RunOk(options);
  EXPECT_EQ(report_.footprint_bytes, footprint);
  for (const BlockRow& row : report_.rows) {
    EXPECT_EQ(row.accesses, 4000u);
    EXPECT_EQ(row.dram_hits + row.scm_hits + row.misses, row.accesses);
  }
  EXPECT_GT(Row("hybrid").scm_hits, 500u);
  options.sizes = BlockSizes::kUnit;
  RunOk(options);
  EXPECT_EQ(report_.footprint_bytes, uint64_t{report_.unique} * options.unit_bytes);
}

TEST_F(BlockReplay, ThreadsShareTheBlocksAndLoseNoAccess) {
  ReplayOptions options = Options("gen:zipf", "lru,hybrid,hybrid:bidirectional");
  RunOk(options);
  const BlockReport one = report_;
  options.threads = 4;
  options.warmup = 0.1;
  RunOk(options);
  for (size_t i = 0; i < report_.rows.size(); ++i) {
    const BlockRow& row = report_.rows[i];
    EXPECT_EQ(row.accesses, 27'000u);
    EXPECT_EQ(row.dram_hits + row.scm_hits + row.misses, row.accesses);
    EXPECT_NEAR(row.per_access(row.misses), one.rows[i].per_access(one.rows[i].misses), 0.1) << row.cache;
  }
}

TEST_F(BlockReplay, WarmUpIsNotCounted) {
  ReplayOptions options = Options("gen:zipf", "hybrid");
  RunOk(options);
  const double cold = Row("hybrid").per_access(Row("hybrid").misses);
  options.warmup = 0.5;
  RunOk(options);
  EXPECT_EQ(Row("hybrid").accesses, 15'000u);
  EXPECT_EQ(Row("hybrid").dram_hits + Row("hybrid").scm_hits + Row("hybrid").misses, 15'000u);
  EXPECT_LT(Row("hybrid").per_access(Row("hybrid").misses), cold);
}

TEST_F(BlockReplay, ReportsTableJsonAndCsv) {
  const ReplayOptions options = Options("gen:zipf", "lru,hybrid:scm_first");
  RunOk(options);
  const nlohmann::json json = BlockJson(options, report_);
  EXPECT_EQ(json["mode"], "block");
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["options"]["unit_bytes"], kUnit);
  for (const char* key : {"rocksdb", "host", "command_line", "accesses", "unique"}) EXPECT_TRUE(json.contains(key));
  for (const nlohmann::json& row : json["rows"]) {
    EXPECT_NEAR(row["dram_hit"].get<double>() + row["scm_hit"].get<double>() + row["miss"].get<double>(), 1, 1e-9);
    for (const char* key : {"scm_writes_per_access", "promotions_per_access"}) EXPECT_TRUE(row.contains(key));
    EXPECT_LE(row["latency_us"]["p50"], row["latency_us"]["max"]);
    EXPECT_EQ(row["latency_cdf"].back()[1], 1.0);
  }
  EXPECT_THAT(json["rows"][1]["counters"].get<std::string>(), HasSubstr("decision.miss.to_scm.policy_default"));
  std::istringstream table(BlockTable(options, report_));
  for (std::string line; std::getline(table, line);) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_THAT(BlockCsv(report_), HasSubstr("\nhybrid:scm_first,30000,"));
}

TEST_F(BlockReplay, ABlockOfWrongBytesFailsTheRun) {
  // The SCM tier's own file is damaged while blocks lie in it: not through the cache, so it cannot know.
  const ReplayOptions options = Options("gen:zipf", "hybrid");
  BuiltCache built;
  ASSERT_TRUE(BuildCache(options, options.caches[0], 0, &progress_, &built).ok());
  BlockCache cache(built.cache);
  std::vector<std::byte> bytes(kUnit);
  BlockFile::Fill(0, bytes);
  { ASSERT_TRUE(cache.Insert(BlockKeyOf(3), BlockRole::kData, bytes)); }
  built.cache->SetCapacity(0);  // demotes it
  {
    const PinnedBlock record = built.stats->scm().Find(BlockKeyOf(3));
    ASSERT_TRUE(record);
    const_cast<std::byte&>(record.payload()[100]) ^= std::byte{1};
  }
  const BlockCache::Held held = cache.Lookup(BlockKeyOf(3), BlockRole::kData);
  ASSERT_TRUE(held);
  EXPECT_FALSE(BlockFile::Matches(0, held.bytes()));
}

TEST_F(BlockReplay, BadOptionsAreRefusedByNameBeforeTheRun) {
  const auto refused = [&](auto change, const char* part) {
    ReplayOptions options = Options("gen:zipf", "hybrid");
    change(options);
    const Status status = Run(options);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(options.db_dir)) << part;
  };
  refused([](ReplayOptions& o) { o.unit_bytes = 32; }, "--unit=32");
  refused([](ReplayOptions& o) { o.unit_bytes = 32 << 20; }, "--unit=33554432");
  refused([](ReplayOptions& o) { o.threads = 0; }, "--threads=0");
  refused([](ReplayOptions& o) { o.seconds = 1; }, "--seconds");
  refused([](ReplayOptions& o) { o.ops = 0; }, "--ops=0");
  refused([](ReplayOptions& o) { o.trace = "/nonexistent"; }, "/nonexistent");
  refused(
      [&](ReplayOptions& o) {
        o.trace = folder_.Write("once.txt", "1\n2\n3\n");
        o.format = "text";
      },
      "no reuse");
}

TEST_F(BlockReplay, StopsSoonAndSaysSo) {
  stop_ = true;
  RunOk(Options("gen:zipf", "lru,hybrid"));
  EXPECT_FALSE(report_.complete);
  EXPECT_TRUE(report_.rows.empty());
}

}  // namespace
}  // namespace mezz
