// SPDX-License-Identifier: Apache-2.0
#include "workloads/rocksdb/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "generate.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "trace_files.h"
#include "workloads/rocksdb/open_db.h"
#include "workloads/rocksdb/query_keys.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/rocksdb/query_trace_writer.h"

namespace mezz {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t kKeys = 5000;

class Record : public ::testing::Test {
 protected:
  Record() {
    UseRocksdbQueryReader();
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::BlockBasedTableOptions table;
    table.cache_index_and_filter_blocks = true;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    std::unique_ptr<rocksdb::DB> db;
    EXPECT_TRUE(OpenDb(options, folder_.Path("db"), &db).ok());
    for (uint64_t key = 0; key < kKeys; ++key) {
      EXPECT_TRUE(db->Put({}, QueryKeyOfNumber(key, 16), std::string(200, 'v')).ok());
    }
    EXPECT_TRUE(db->Flush({}).ok());
    EXPECT_TRUE(db->Put({}, QueryKeyOfNumber(kKeys, 16), "in the log").ok());
  }

  RecordOptions Options(const std::string& workload) const {
    RecordOptions options;
    options.db = folder_.Path("db");
    options.workload = workload;
    options.ops = 3000;
    options.query_trace = folder_.Path("query");
    options.block_trace = folder_.Path("block");
    options.cache_bytes = 256 << 10;
    return options;
  }
  // Name, size and time of every file of the database.
  std::map<std::string, std::pair<uint64_t, int64_t>> Files() const {
    std::map<std::string, std::pair<uint64_t, int64_t>> files;
    for (const auto& entry : fs::directory_iterator(folder_.Path("db"))) {
      files[entry.path().filename()] = {entry.is_regular_file() ? entry.file_size() : 0,
                                        entry.last_write_time().time_since_epoch().count()};
    }
    return files;
  }
  std::vector<Request> Read(const std::string& path) const {
    const RequestsRead read = ReadRequests(path);
    EXPECT_TRUE(read.status.ok()) << read.status.message();
    return read.requests;
  }

  TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
  RecordReport report_;
};

TEST_F(Record, WritesBothTracesOfAWorkloadAndLeavesTheDatabaseAlone) {
  const auto before = Files();
  ASSERT_EQ(RecordTraces(Options("gen:blob_metadata"), stop_, &report_).message(), "");
  EXPECT_EQ(Files(), before);
  EXPECT_TRUE(report_.complete);
  EXPECT_EQ(report_.keys, kKeys + 1);
  EXPECT_EQ(report_.reads + report_.seeks + report_.writes_left_out, 3000u);
  EXPECT_EQ(report_.writes, 0u);
  EXPECT_EQ(report_.not_found, 0u);

  std::vector<Request> want;
  for (const Request& r : GenerateAll({.name = "blob_metadata", .keys = kKeys + 1, .ops = 3000})) {
    if (r.operation != Operation::kPut) want.push_back(r);
  }
  const auto queries = Read(folder_.Path("query"));
  ASSERT_EQ(queries.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(queries[i].key, want[i].key) << "the k-th key is asked for as key k";
    ASSERT_EQ(queries[i].operation, want[i].operation);
  }
  std::set<BlockRole> roles;
  std::set<Recorded> recorded;
  for (const Request& r : Read(folder_.Path("block"))) {
    roles.insert(r.role);
    recorded.insert(r.recorded);
    EXPECT_GT(r.value_bytes, 0u);
  }
  EXPECT_EQ(roles, (std::set<BlockRole>{BlockRole::kData, BlockRole::kIndex}));
  EXPECT_EQ(recorded, (std::set<Recorded>{Recorded::kMiss, Recorded::kHit})) << "a small cache, cold at the start";
}

TEST_F(Record, WritesHowBlocksPackWhereAFileIsNamed) {
  RecordOptions options = Options("gen:zipf");
  options.pack_ratios = folder_.Path("ratios");
  ASSERT_EQ(RecordTraces(options, stop_, &report_).message(), "");
  EXPECT_GT(report_.packing.blocks, 100u);
  const auto lines_of = [&](const char* codec) {
    std::ifstream file(options.pack_ratios + codec);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(lines_of(".lz4"), RatiosFile(report_.packing.lz4));
  EXPECT_EQ(lines_of(".zstd"), RatiosFile(report_.packing.zstd));
}

TEST_F(Record, AStopBeforeTheFirstKeyIsNoError) {
  stop_.store(true);
  ASSERT_EQ(RecordTraces(Options("gen:zipf"), stop_, &report_).message(), "");
  EXPECT_FALSE(report_.complete);
}

TEST_F(Record, WritesToTheDatabaseOnlyWhenAsked) {
  RecordOptions options = Options("gen:ycsb_a");
  options.writes = true;
  ASSERT_EQ(RecordTraces(options, stop_, &report_).message(), "");
  EXPECT_GT(report_.writes, 1000u);
  EXPECT_EQ(report_.writes_left_out, 0u);
  uint64_t puts = 0;
  for (const Request& r : Read(folder_.Path("query"))) puts += r.operation == Operation::kPut;
  EXPECT_EQ(puts, report_.writes);
}

// The writes are too few for a flush: all are look-ups by users.
TEST_F(Record, WritesTheLookUpsOfBlocksForTheirLineage) {
  RecordOptions options = Options("gen:ycsb_a");
  options.block_trace.clear();
  options.lineage_trace = folder_.Path("lineage");
  options.writes = true;
  const Status recorded = RecordTraces(options, stop_, &report_);
  if (recorded.code() == Status::Code::kNotSupported) GTEST_SKIP() << recorded.message();
  ASSERT_EQ(recorded.message(), "");
  uint64_t data = 0;
  for (const Request& r : Read(options.lineage_trace)) data += r.role == BlockRole::kData ? 1 : 0;
  EXPECT_GE(data, report_.reads);
  EXPECT_THAT(RecordTraces(options, stop_, &report_).message(), HasSubstr("it exists"));
}

TEST_F(Record, ReplaysATraceInsteadOfAGenerator) {
  std::unique_ptr<QueryTraceWriter> writer;
  ASSERT_TRUE(QueryTraceWriter::Create(folder_.Path("workload"), {}, &writer).ok());
  for (uint32_t left : {3, 2, 1, 0}) {
    ASSERT_TRUE(writer->Add({.key = 10 + left, .operation = Operation::kMultiGet, .batch_left = left}).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  ASSERT_EQ(RecordTraces(Options(folder_.Path("workload")), stop_, &report_).message(), "");
  const auto queries = Read(folder_.Path("query"));
  ASSERT_EQ(queries.size(), 4u);
  EXPECT_EQ(queries[0].operation, Operation::kMultiGet);
  EXPECT_EQ(queries[0].key, 13u);
  EXPECT_EQ(queries[0].batch_left, 3u);
}

TEST_F(Record, AsksForKeysSpreadOverALargerDatabase) {
  RecordOptions options = Options("gen:uniform");
  options.keys_max = 100;
  options.block_trace.clear();
  ASSERT_EQ(RecordTraces(options, stop_, &report_).message(), "");
  EXPECT_GE(report_.keys, 50u);
  EXPECT_LE(report_.keys, 100u);
  std::set<uint64_t> tenths;
  for (const Request& r : Read(folder_.Path("query"))) tenths.insert(r.key * 10 / (kKeys + 1));
  EXPECT_EQ(tenths.size(), 10u);
  EXPECT_FALSE(fs::exists(folder_.Path("block")));
}

TEST_F(Record, RefusesWhatItShouldNotTouchOrCannotUse) {
  const auto error = [&](auto change) {
    RecordOptions options = Options("gen:zipf");
    change(&options);
    return RecordTraces(options, stop_, &report_).message();
  };
  EXPECT_THAT(error([&](auto* o) { o->db = folder_.Path("nowhere"); }), HasSubstr("nowhere"));
  EXPECT_FALSE(fs::exists(folder_.Path("nowhere")));
  EXPECT_THAT(error([](auto* o) { o->workload = "gen:zipff"; }), HasSubstr("gen:zipff"));
  EXPECT_THAT(error([](auto* o) { o->workload = ""; }), HasSubstr("--workload"));
  EXPECT_THAT(error([](auto* o) { o->query_trace = o->block_trace = ""; }), HasSubstr("--query_trace"));
  EXPECT_THAT(error([](auto* o) { o->query_trace = o->block_trace; }), HasSubstr("both name"));
  EXPECT_THAT(error([](auto* o) { o->ops = 0; }), HasSubstr("--ops=0"));
  EXPECT_THAT(error([&](auto* o) { o->pack_ratios = "t", o->query_trace = "t.lz4"; }), HasSubstr("would write t.lz4"));
  const std::string ratios = folder_.Path("ratios");
  folder_.Write("ratios.zstd", "precious");
  EXPECT_THAT(error([&](auto* o) { o->pack_ratios = ratios; }),
              HasSubstr("--pack_ratios=" + ratios + ".zstd: it exists"));
  folder_.Write("query", "precious");
  EXPECT_THAT(error([](auto*) {}), HasSubstr("it exists"));
}

}  // namespace
}  // namespace mezz
