// SPDX-License-Identifier: Apache-2.0
// mezz_replay --mode=block: the trace's accesses on the real caches, each block checked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "admission/curves/block_key.h"
#include "replay_fixture.h"
#include "rocksdb/version.h"
#include "workloads/readers/mezz_csv.h"
#include "workloads/replay/caches/block_cache.h"
#include "workloads/replay/caches/block_file.h"
#include "workloads/replay/caches/block_target.h"
#include "workloads/replay/caches/cache_factory.h"

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
    const Status claimed = BlockFile::Claim(folder_.Path("db"), values_, sectors * kSector, /*flash=*/nullptr, file);
    return claimed.ok() ? (*file)->Fill(&progress_, stop_) : claimed;
  }
  std::string path() const { return folder_.Path("db/mezz_blocks"); }

  TemporaryFolder folder_;
  Values values_;
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
    EXPECT_TRUE(file->Matches(at, {buffer.get(), bytes})) << at << " " << bytes;
    EXPECT_FALSE(file->Matches(at + kSector, {buffer.get(), std::max<size_t>(bytes, 8)})) << at << " " << bytes;
  }
  EXPECT_FALSE(file->Read(20'000 * kSector, 1, buffer.get()).ok());
}

TEST_F(BlockFileTest, OneWrongByteIsSeen) {
  std::unique_ptr<BlockFile> file;
  ASSERT_TRUE(Open(1, &file).ok());
  std::vector<std::byte> bytes(2 * kSector + 13);
  file->Content(7 * kSector, bytes);
  ASSERT_TRUE(file->Matches(7 * kSector, bytes));
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{1};
    ASSERT_FALSE(file->Matches(7 * kSector, bytes));
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
  EXPECT_TRUE(file->Matches(50 * kSector, {buffer.get(), kSector}));
}

TEST_F(BlockFileTest, ForeignFilesAndFilesInUseAreRefused) {
  std::unique_ptr<BlockFile> file, second;
  ASSERT_TRUE(Open(100, &file).ok());
  EXPECT_EQ(BlockFile::Claim(folder_.Path("db"), values_, 1, /*flash=*/nullptr, &second).code(), Status::Code::kBusy);
  EXPECT_EQ(BlockFile::OpenToRead(path(), values_, /*buffered=*/false, /*flash=*/nullptr, &second).message(), "")
      << "its workers may";
  file.reset();
  std::ofstream(path(), std::ios::binary) << std::string(100 * kSector, 'x');
  const Status refused = Open(100, &file);
  EXPECT_EQ(refused.code(), Status::Code::kForeignFile);
  EXPECT_THAT(refused.message(), HasSubstr("remove it"));
}

TEST_F(BlockFileTest, MoreThanIsFreeIsRefusedBeforeAnyIsWritten) {
  std::unique_ptr<BlockFile> file;
  constexpr uint64_t kPebibyte = uint64_t{1} << 50;
  EXPECT_THAT(Open(kPebibyte / kSector, &file).message(), HasSubstr("and its disk has"));
  const FlashModel* flash = nullptr;
  ASSERT_TRUE(ParseFlash("nvme_flash", &flash).ok());
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  const TemporaryFolder memory("/dev/shm");
  const Status refused = BlockFile::Claim(memory.Path("db"), values_, kPebibyte, flash, &file);
  EXPECT_EQ(refused.code(), Status::Code::kNoSpace);
  EXPECT_THAT(refused.message(), HasSubstr("and the memory has"));
}

TEST_F(BlockFileTest, GivesEachKeyOnePlaceInsideTheFile) {
  std::unique_ptr<BlockFile> file;
  ASSERT_TRUE(Open(100, &file).ok());
  ASSERT_TRUE(BlockFile::OpenToRead(path(), values_, /*buffered=*/false, /*flash=*/nullptr, &file).ok());
  std::mt19937_64 random(7);
  std::set<uint64_t> places;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t key = random();
    const uint64_t bytes = 1 + random() % (100 * kSector);
    const uint64_t place = file->PlaceOf(key, bytes);
    EXPECT_EQ(place % kSector, 0u);
    EXPECT_LE(place + bytes, 100 * kSector);
    EXPECT_EQ(place, file->PlaceOf(key, bytes));
    places.insert(file->PlaceOf(key, 1));
  }
  EXPECT_EQ(places.size(), 100u);
  EXPECT_EQ(file->PlaceOf(7, 100 * kSector), 0u) << "a block may fill the file";
}

// --- the replay ---

class BlockReplay : public ReplayTest {
 protected:
  ReplayOptions Options(const std::string& trace, const std::string& caches) const {
    ReplayOptions o;
    o.mode = ReplayMode::kBlock;
    o.trace = trace;
    EXPECT_EQ(ParseCaches(caches, "dram_first", &o.caches).message(), "");
    for (CacheSpec& spec : o.caches) {  // our own structures take more than such a tier
      if (spec.kind == CacheKind::kHybrid) spec.dram_bytes = 512 << 10;
    }
    o.hybrid.dram_cache = DramCacheKind::kLru;
    o.hybrid.dram_bytes = 200 << 10;
    o.hybrid.dram_shard_bits = 0;
    o.hybrid.scm.capacity_bytes = 4 << 20;
    o.hybrid.scm.path = folder_.Path("scm");
    o.hybrid.scm.expected_block_bytes = kUnit;
    o.hybrid.scm.pack = PackMode::kOff;  // a codec's workspace is as large as such a tier
    o.db_dir = folder_.Path("db");
    o.unit_bytes = kUnit;
    o.threads = 1;
    o.warmup = 0;
    o.keys = 10'000;
    o.ops = 30'000;
    o.repeats = 2;
    return o;
  }
};

uint64_t Misses(const CacheRow& row) { return row.total.tiers.flash_reads; }
uint64_t DramHits(const CacheRow& row) { return row.total.tiers.dram_hits(); }
uint64_t ScmHits(const CacheRow& row) { return row.total.tiers.second_hits; }

void ExpectEachAccessInOnePlace(const CacheRow& row, uint64_t accesses) {
  SCOPED_TRACE(row.cache);
  EXPECT_EQ(row.total.ops, accesses);
  EXPECT_EQ(row.total.tiers.lookups(), accesses);
  EXPECT_LE(ScmHits(row), row.total.tiers.hits);
  EXPECT_NEAR(row.total.tiers.dram_hit() + row.total.tiers.scm_hit() + row.total.tiers.miss(), 1, 1e-9);
  uint64_t by_role = 0;
  for (const auto& [role, shares] : row.total.roles) {
    by_role += shares.lookups;
    ASSERT_TRUE(shares.dram_hit && shares.scm_hit) << role;
    EXPECT_NEAR(*shares.dram_hit + *shares.scm_hit + shares.miss, 1, 1e-9) << role;
  }
  EXPECT_EQ(by_role, accesses);
  for (const std::vector<WindowRow>* windows : {&row.cold_windows, &row.windows}) {
    for (const WindowRow& window : *windows) EXPECT_EQ(window.tiers.lookups(), window.ops);
  }
}

TEST_F(BlockReplay, EveryCacheAnswersEachAccessInOneWay) {
  const ReplayOptions options =
      Options("gen:zipf",
              "hcc,lru,hcc+compressed,lru+compressed,naive_scm,all_dram,all_dram_lru,hybrid,hybrid:bidirectional,"
              "hybrid:scm_first,hybrid:placeholder,hybrid:three_queue,scm_secondary+lru,scm_secondary+hcc");
  RunOk(options);
  ASSERT_EQ(report_.rows.size(), options.caches.size());
  EXPECT_TRUE(report_.complete);
  for (const CacheRow& row : report_.rows) {
    SCOPED_TRACE(row.cache);
    if (!row.unavailable.empty()) {
      EXPECT_TRUE(!kWholeCacheApi || row.cache == "naive_scm") << row.unavailable;
      continue;
    }
    ExpectEachAccessInOnePlace(row, 30'000);
    EXPECT_GE(Misses(row), report_.distinct_keys) << "the first access to a block cannot hit";
  }
  EXPECT_EQ(ScmHits(Row("lru")) + Row("lru").total.scm_writes, 0u);
  EXPECT_LT(Misses(Row("hybrid")), Misses(Row("lru")));
  EXPECT_GT(ScmHits(Row("hybrid")), 1000u);
  EXPECT_GT(Row("hybrid").total.scm_writes, 1000u);
  EXPECT_EQ(Row("hybrid").total.promotions, 0u);
  EXPECT_GT(Row("hybrid:bidirectional").total.promotions, 1000u);
  EXPECT_GT(Misses(Row("hybrid:placeholder")), Misses(Row("hybrid"))) << "the first eviction stores nothing";
  EXPECT_GT(ScmHits(Row("scm_secondary+lru")), 1000u);
  EXPECT_GT(ScmHits(Row("lru+compressed")), 1000u);
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
  EXPECT_EQ(Row("lru").total.ops, kAccesses);
  EXPECT_EQ(report_.distinct_keys, kBlocks);
  EXPECT_NEAR(static_cast<double>(DramHits(Row("lru"))), static_cast<double>(hits), 0.05 * kAccesses);
}

TEST_F(BlockReplay, ResultsRepeatToTheLastBlock) {
  const ReplayOptions options = Options("gen:zipf", "lru,hybrid:bidirectional,hybrid:bidirectional");
  RunOk(options);
  EXPECT_EQ(DramHits(report_.rows[1]), DramHits(report_.rows[2]));
  const ReplayReport first = report_;
  RunOk(options);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(DramHits(report_.rows[i]), DramHits(first.rows[i])) << i;
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
  const ReplayReport first = report_;
  options.seed = 2;
  RunOk(options);
  EXPECT_EQ(DramHits(Row("lru")), DramHits(first.rows[0]));
  EXPECT_EQ(Row("hybrid").total.ops, 20'000u);
  EXPECT_NEAR(Row("hybrid").total.tiers.miss(), first.rows[1].total.tiers.miss(), 0.01);
}

// From one byte to more than the whole DRAM tier. A size that changes later in the trace is data.
TEST_F(BlockReplay, BlocksAreAsLongAsTheTraceSays) {
  std::mt19937_64 random(7);
  std::string text(kMezzCsvHeader);
  text += "\n";
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
  EXPECT_EQ(report_.database_bytes, footprint);
  for (const CacheRow& row : report_.rows) ExpectEachAccessInOnePlace(row, 4000);
  EXPECT_GT(ScmHits(Row("hybrid")), 500u);
  options.sizes = BlockSizes::kUnit;
  RunOk(options);
  EXPECT_EQ(report_.database_bytes, report_.distinct_keys * options.unit_bytes);
}

TEST_F(BlockReplay, ThreadsShareTheBlocksAndLoseNoAccess) {
  ReplayOptions options = Options("gen:zipf", "lru,hybrid,hybrid:bidirectional");
  options.warmup = 0.1;
  RunOk(options);
  const ReplayReport one = report_;
  options.threads = 4;
  RunOk(options);
  for (size_t i = 0; i < report_.rows.size(); ++i) {
    const CacheRow& row = report_.rows[i];
    ExpectEachAccessInOnePlace(row, 27'000);
    EXPECT_NEAR(row.total.tiers.miss(), one.rows[i].total.tiers.miss(), 0.1) << row.cache;
  }
}

TEST_F(BlockReplay, WarmUpIsNotCounted) {
  ReplayOptions options = Options("gen:zipf", "hybrid");
  RunOk(options);
  const double cold = Row("hybrid").total.tiers.miss();
  options.warmup = 0.5;
  RunOk(options);
  ExpectEachAccessInOnePlace(Row("hybrid"), 15'000);
  EXPECT_LT(Row("hybrid").total.tiers.miss(), cold);
}

// Whatever the windows, a cache sees the same accesses in the same order: what it answers in all of them together is
// the same to the last block.
TEST_F(BlockReplay, WindowsCutTheAccessesAndChangeNoAnswer) {
  std::mt19937_64 random(7);
  uint64_t misses = 0;
  for (int round = 0; round < 8; ++round) {
    ReplayOptions options = Options("gen:zipf", "lru,lru+compressed");
    options.ops = 10'000;
    if (round > 0) {
      options.repeats = 1 + random() % 7;
      options.cold_windows = random() % 4;
      options.warmup_ops = random() % 3 == 0 ? 0 : 1 + random() % 7000;
      options.warmup = options.warmup_ops == 0 && random() % 2 == 0 ? 0.25 : 0;
      options.rate = random() % 2 == 0 ? 0 : 1e8;
    }
    SCOPED_TRACE(fmt::format("repeats {}, cold windows {}, warm-up {} or {}, rate {}", options.repeats,
                             options.cold_windows, options.warmup_ops, options.warmup, options.rate));
    RunOk(options);
    const uint64_t warmup = options.warmup_ops > 0 ? options.warmup_ops : options.warmup > 0 ? 2500 : 0;
    for (const CacheRow& row : report_.rows) {
      ExpectEachAccessInOnePlace(row, 10'000 - warmup);
      EXPECT_EQ(row.windows.size(), options.repeats);
      EXPECT_EQ(row.cold_windows.size(), warmup == 0 ? 0 : std::max(options.cold_windows, 1u));
    }
    uint64_t all = Misses(Row("lru"));
    for (const WindowRow& window : Row("lru").cold_windows) all += window.tiers.flash_reads;
    if (round == 0) misses = all;
    EXPECT_EQ(all, misses);
  }
}

TEST_F(BlockReplay, WarmsUpUntilTheHitRatiosSettle) {
  ReplayOptions options = Options("gen:uniform", "lru");
  options.keys = 100;  // all in DRAM after the first window
  options.warmup_settle = true;
  RunOk(options);
  EXPECT_TRUE(report_.warmup_settled);
  EXPECT_LT(Row("lru").cold_windows.size(), 8u);
}

// Neither may be faster than it was asked to be, and neither may change what is found.
TEST_F(BlockReplay, PacesAccessesByRateAndByTheTracesOwnTimes) {
  std::mt19937_64 random(7);
  std::string text(kMezzCsvHeader);
  text += "\n";
  constexpr uint64_t kAccesses = 6000, kUsApart = 200;
  for (uint64_t i = 0; i < kAccesses; ++i)
    text += fmt::format("{},get,0,512,0,0,0,{},data,0,0,-1,unknown,0\n", random() % 900, 1'000'000 + i * kUsApart);
  ReplayOptions options = Options(folder_.Write("trace.csv", text), "lru");
  RunOk(options);
  const uint64_t misses = Misses(Row("lru"));
  options.timestamps = 1;
  RunOk(options);
  EXPECT_EQ(Misses(Row("lru")), misses);
  EXPECT_LE(Row("lru").ops_per_s.max, 1e6 / kUsApart * 1.01);
  double ops = 0;
  for (const SeriesPoint& point : Row("lru").series) ops += point.ops * point.seconds;
  EXPECT_GT(ops, kAccesses / 2) << "of 1.2 s in two windows the first point holds one";
  EXPECT_LE(ops, kAccesses * 1.0001);
  options.timestamps = 0;
  options.rate = 50'000;
  RunOk(options);
  EXPECT_EQ(Misses(Row("lru")), misses);
  EXPECT_LE(Row("lru").ops_per_s.max, 50'000 * 1.01);
  options.rate = 0;
  options.timestamps = 1;
  options.trace = folder_.Write("a.keys", "1\n2\n1\n");
  EXPECT_THAT(Run(options).message(), HasSubstr("has no times; use --rate"));
}

TEST_F(BlockReplay, ReportsTableJsonAndCsv) {
  const ReplayOptions options = Options("gen:zipf", "lru,hybrid:scm_first");
  RunOk(options);
  const nlohmann::json json = ReportJson(options, report_);
  EXPECT_EQ(json["mode"], "block");
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["options"]["unit_bytes"], kUnit);
  for (const char* key : {"rocksdb", "host", "command_line", "accesses", "unique"}) EXPECT_TRUE(json.contains(key));
  for (const nlohmann::json& row : json["rows"]) {
    EXPECT_NEAR(row["dram_hit"].get<double>() + row["scm_hit"].get<double>() + row["miss"].get<double>(), 1, 1e-9);
    for (const char* key : {"scm_writes_per_access", "promotions_per_access", "seconds", "cpu_s_per_mop"})
      EXPECT_TRUE(row.contains(key));
    uint64_t misses = 0;
    for (const nlohmann::json& window : row["windows"]) misses += window["misses"].get<uint64_t>();
    EXPECT_EQ(row["windows"].size(), 2u);
    EXPECT_EQ(row["misses"], misses);
    EXPECT_EQ(row["misses"].get<uint64_t>() + row["dram_hits"].get<uint64_t>() + row["scm_hits"].get<uint64_t>(),
              row["accesses"]);
    EXPECT_LE(row["latency_us"]["p50"], row["latency_us"]["max"]);
    EXPECT_EQ(row["latency_cdf"].back()[1], 1.0);
  }
  EXPECT_THAT(json["rows"][1]["counters"].get<std::string>(), HasSubstr("decision.miss.to_scm.policy_default"));
  std::istringstream table(ReportTable(options, report_));
  for (std::string line; std::getline(table, line);) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_THAT(ReportCsv(options, report_), HasSubstr("\nhybrid:scm_first,measured,2,15000,"));
}

TEST_F(BlockReplay, ABlockOfWrongBytesIsAnError) {
  // The SCM tier's own file is damaged while blocks lie in it: not through the cache, so it cannot know.
  const ReplayOptions options = Options("gen:zipf", "hybrid");
  BuiltCache built;
  ASSERT_TRUE(BuildCache(options, options.caches[0], 0, &progress_, &built).ok());
  std::unique_ptr<BlockFile> file;
  ASSERT_TRUE(BlockFile::Claim(options.db_dir, {}, 100 * kSector, /*flash=*/nullptr, &file).ok());
  ASSERT_TRUE(file->Fill(&progress_, stop_).ok());
  BlockTarget target(file.get(), built, {});
  target.Begin();
  Request request;
  request.key = 3;
  request.value_bytes = kUnit;
  ASSERT_TRUE(target.Execute(request)) << target.error();
  built.cache->SetCapacity(0);  // demotes it
  {
    const PinnedBlock record = const_cast<ScmTier&>(built.stats->scm()).Find(BlockKeyOf(3));
    ASSERT_TRUE(record);
    const_cast<std::byte&>(record.payload()[100]) ^= std::byte{1};
  }
  EXPECT_FALSE(target.Execute(request));
  EXPECT_THAT(target.error(), HasSubstr("block 3: the cache handed out wrong bytes"));
}

TEST_F(BlockReplay, BlocksHoldTheValuesThatWereAskedFor) {
  ReplayOptions options = Options("gen:zipf", "hybrid:scm_first");
  options.verify = true;
  RunOk(options);
  options.value_ratio = 3;
  RunOk(options);
  std::string sample;
  while (sample.size() < (1 << 20)) sample += fmt::format("{} {}\n", sample.size(), MixWord(sample.size()));
  options.values = folder_.Write("sample", sample);
  options.value_ratio = 1;
  RunOk(options);
  std::set<uintmax_t> sizes;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(options.db_dir)) {
    sizes.insert(entry.file_size());
    names.insert(entry.path().filename().string().substr(0, 18));
  }
  EXPECT_EQ(sizes.size(), 1u);
  EXPECT_EQ(names.size(), 3u) << "each kind has a file of its own, so that all can be reused";
  EXPECT_TRUE(names.contains("mezz_blocks"));
  EXPECT_TRUE(names.contains("mezz_blocks.ratio-"));
}

TEST_F(BlockReplay, ABlockThatWasUnpackedIntoDramTakesItsRoomThere) {
  if (!kWholeCacheApi) GTEST_SKIP() << "RocksDB 7.8 hands over no buffer";
  ReplayOptions options = Options("gen:zipf", "hybrid:bidirectional");
  options.caches.front().dram_bytes = 1 << 20;
  options.hybrid.scm.capacity_bytes = 2 << 20;
  options.hybrid.scm.pack = PackMode::kLz4;
  options.value_ratio = 3;
  RunOk(options);
  const CacheRow& row = report_.rows.front();
  EXPECT_GT(CounterOf(row, "scm.packed_hit"), 1000u);
  const uint64_t came = CounterOf(row, "insert") + CounterOf(row, "promotion");
  EXPECT_LE((came - CounterOf(row, "dram.eviction")) * kUnit, row.dram_tier_bytes);
}

// The table of 7.8's HyperClockCache is as large as the blocks it is told of need; and blobs leave first.
TEST_F(BlockReplay, AHyperClockCacheExpectsBlocksOfAUnitAndHasBlobsAtTheBottom) {
  ReplayOptions options = Options("gen:zipf", "hcc");
  options.hybrid.dram_bytes = 4 << 20;
  BuiltCache built;
  ASSERT_EQ(BuildCache(options, options.caches[0], 0, &progress_, &built).message(), "");
  if (built.cache == nullptr) GTEST_SKIP() << built.unavailable;
  BlockCache cache(built.cache);
  const std::vector<std::byte> block(kUnit);
  const auto role_of = [](uint64_t key) { return key % 2 == 0 ? BlockRole::kData : BlockRole::kBlob; };
  for (uint64_t key = 0; key < 20'000; ++key) cache.Insert(BlockKeyOf(key), role_of(key), block);
  EXPECT_GT(built.cache->GetUsage(), options.hybrid.dram_bytes / 2);
  std::map<BlockRole, int> resident;
  for (uint64_t key = 0; key < 20'000; ++key)
    resident[role_of(key)] += static_cast<bool>(cache.Lookup(BlockKeyOf(key), role_of(key)));
  EXPECT_GT(resident[BlockRole::kData], resident[BlockRole::kBlob] * 5 / 4);
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
  refused([](ReplayOptions& o) { o.seconds = 1; }, "--seconds=1 is for --mode=db");
  refused([](ReplayOptions& o) { o.value_bytes = 500; }, "--value_bytes=500 is for --mode=db");
  refused([](ReplayOptions& o) { o.block_bytes = 8192; }, "--block_bytes=8192 is for --mode=db");
  refused([](ReplayOptions& o) { o.value_ratio = 9; }, "--value_ratio=9 is out of range; it goes from 1 to 8");
  refused([&](ReplayOptions& o) { o.values = folder_.Write("small", std::string(1000, 'x')); },
          "small has 1000 bytes; values for --unit=512 are cut from at least 131072");
  refused([](ReplayOptions& o) { o.index_in_cache = true; }, "--index_in_cache=true is for --mode=db");
  refused([](ReplayOptions& o) { o.write_buffer_bytes = 1 << 20; }, "--write_buffer=1048576 is for --mode=db");
  refused([](ReplayOptions& o) { o.put_share = 0.1; }, "--put_share=0.1 is for --mode=db");
  refused([](ReplayOptions& o) { o.timestamps = 1; }, "--timestamps=1: gen:zipf has no times; use --rate");
  refused([](ReplayOptions& o) { o.repeats = 0; }, "--repeats=0");
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
  for (const CacheRow& row : report_.rows) EXPECT_TRUE(row.windows.empty());
}

}  // namespace
}  // namespace mezz
