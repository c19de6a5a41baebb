// SPDX-License-Identifier: Apache-2.0
// Query traces: recorded by RocksDB and read here, written here and replayed by RocksDB; damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "compress.h"
#include "generate.h"
#include "rocksdb/db.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/statistics.h"
#include "rocksdb/trace_record_result.h"
#include "rocksdb/utilities/replayer.h"
#include "rocksdb_records.h"
#include "trace_files.h"
#include "workloads/rocksdb/open_db.h"
#include "workloads/rocksdb/query_keys.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/rocksdb/query_trace_writer.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AppendOperator final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& value, std::string* merged,
             rocksdb::Logger*) const override {
    *merged = (existing == nullptr ? "" : existing->ToString()) + value.ToString();
    return true;
  }
  const char* Name() const override { return "append"; }
};

// A small database with two column families, and RocksDB's own replayer over it.
class TestDb {
 public:
  explicit TestDb(const std::string& path) {
    options_.create_if_missing = true;
    options_.statistics = rocksdb::CreateDBStatistics();
    options_.merge_operator = std::make_shared<AppendOperator>();
    EXPECT_TRUE(OpenDb(options_, path, &db).ok());
    EXPECT_TRUE(db->CreateColumnFamily(options_, "other", &other).ok());
  }
  ~TestDb() { (void)db->DestroyColumnFamilyHandle(other); }

  uint64_t Ticker(rocksdb::Tickers ticker) const { return options_.statistics->getTickerCount(ticker); }

  // How many records of each type RocksDB's replayer executes.
  std::map<rocksdb::TraceType, uint64_t> Replay(const std::string& path) {
    std::unique_ptr<rocksdb::TraceReader> reader;
    EXPECT_TRUE(rocksdb::NewFileTraceReader(rocksdb::Env::Default(), rocksdb::EnvOptions(), path, &reader).ok());
    std::unique_ptr<rocksdb::Replayer> replayer;
    EXPECT_TRUE(db->NewDefaultReplayer({db->DefaultColumnFamily(), other}, std::move(reader), &replayer).ok());
    EXPECT_TRUE(replayer->Prepare().ok());
    std::map<rocksdb::TraceType, uint64_t> counts;
    const rocksdb::Status status =
        replayer->Replay(rocksdb::ReplayOptions(1, 1e6),
                         [&](rocksdb::Status done, std::unique_ptr<rocksdb::TraceRecordResult>&& result) {
                           EXPECT_TRUE(done.ok()) << done.ToString();
                           if (result != nullptr) ++counts[result->GetTraceType()];
                         });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return counts;
  }

  std::unique_ptr<rocksdb::DB> db;
  rocksdb::ColumnFamilyHandle* other = nullptr;

 private:
  rocksdb::Options options_;
};

class QueryTrace : public TraceFiles {
 protected:
  QueryTrace() { UseRocksdbQueryReader(); }

  std::string Read(const std::string& path, std::string_view format = "") {
    const RequestsRead read = ReadRequests(path, {.format = std::string(format), .skip_bad = skip_bad_});
    requests_ = read.requests;
    skipped_ = read.skipped;
    return read.status.message();
  }
  std::string ReadContent(const std::string& content) { return Read(folder_.Write("trace", content), "rocksdb_query"); }

  uint64_t Count(Operation operation) const {
    return static_cast<uint64_t>(
        std::count_if(requests_.begin(), requests_.end(), [=](const Request& r) { return r.operation == operation; }));
  }
  // What RocksDB's replayer counts: batches are one.
  std::map<rocksdb::TraceType, uint64_t> CountRecords() const {
    std::map<rocksdb::TraceType, uint64_t> counts;
    for (const Request& request : requests_) {
      if (request.batch_left > 0) continue;
      switch (request.operation) {
        case Operation::kGet:
          ++counts[rocksdb::kTraceGet];
          break;
        case Operation::kMultiGet:
          ++counts[rocksdb::kTraceMultiGet];
          break;
        case Operation::kSeek:
          ++counts[rocksdb::kTraceIteratorSeek];
          break;
        default:
          ++counts[rocksdb::kTraceWrite];
      }
    }
    return counts;
  }

  bool skip_bad_ = false;
  uint64_t skipped_ = 0;
  std::vector<Request> requests_;
};

std::string Key(uint64_t number) { return QueryKeyOfNumber(number, 16); }

void DoEverything(TestDb* t) {
  rocksdb::DB* db = t->db.get();
  std::string value;
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(db->Put({}, Key(i), std::string(i, 'v')).ok());
    (void)db->Get({}, db->DefaultColumnFamily(), Key(i + 50), &value);
    if (i % 3 == 0) {
      ASSERT_TRUE(db->Delete({}, Key(i)).ok());
    }
    if (i % 5 == 0) {
      ASSERT_TRUE(db->SingleDelete({}, Key(i + 1000)).ok());
    }
    if (i % 7 == 0) {
      ASSERT_TRUE(db->Merge({}, t->other, Key(i), "m").ok());
    }
    if (i % 11 == 0) {
      rocksdb::WriteBatch batch;
      ASSERT_TRUE(batch.Put(Key(i), "one").ok());
      ASSERT_TRUE(batch.Delete(t->other, Key(i + 1)).ok());
      ASSERT_TRUE(batch.Merge(Key(i + 2), "two").ok());
      ASSERT_TRUE(db->Write({}, &batch).ok());
    }
    if (i % 13 == 0) {
      const std::string keys[] = {Key(i), Key(i + 1), "not a number"};
      std::vector<std::string> values;
      (void)db->MultiGet({}, {db->DefaultColumnFamily(), t->other, t->other}, {keys[0], keys[1], keys[2]}, &values);
    }
    if (i % 17 == 0) {
      const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
      it->Seek(Key(i));
      if (it->Valid()) it->Next();  // not traced
    }
  }
}

TEST_F(QueryTrace, CountsWhatRocksDbsReplayerCountsExactly) {
  TestDb recorded(folder_.Path("recorded"));
  std::unique_ptr<rocksdb::TraceWriter> writer;
  const std::string path = folder_.Path("recording");
  ASSERT_TRUE(rocksdb::NewFileTraceWriter(rocksdb::Env::Default(), rocksdb::EnvOptions(), path, &writer).ok());
  ASSERT_TRUE(recorded.db->StartTrace({}, std::move(writer)).ok());
  DoEverything(&recorded);
  ASSERT_TRUE(recorded.db->EndTrace().ok());

  ASSERT_EQ(Read(path), "");
  TestDb replayed(folder_.Path("replayed"));
  EXPECT_EQ(CountRecords(), replayed.Replay(path));
  // And operation by operation, by RocksDB's own statistics of that replay.
  EXPECT_EQ(Count(Operation::kGet), replayed.Ticker(rocksdb::NUMBER_KEYS_READ));
  EXPECT_EQ(Count(Operation::kMultiGet), replayed.Ticker(rocksdb::NUMBER_MULTIGET_KEYS_READ));
  EXPECT_EQ(Count(Operation::kSeek), replayed.Ticker(rocksdb::NUMBER_DB_SEEK));
  EXPECT_EQ(Count(Operation::kPut) + Count(Operation::kDelete) + Count(Operation::kMerge),
            replayed.Ticker(rocksdb::NUMBER_KEYS_WRITTEN));
  EXPECT_EQ(Count(Operation::kMultiGet), 16u * 3);
  EXPECT_EQ(Count(Operation::kMerge), 29u + 19u);
  EXPECT_EQ(Count(Operation::kDelete), 67u + 40u + 19u);
}

TEST_F(QueryTrace, GivesWhatARecordSays) {
  TestDb recorded(folder_.Path("db"));
  std::unique_ptr<rocksdb::TraceWriter> writer;
  const std::string path = folder_.Path("recording");
  ASSERT_TRUE(rocksdb::NewFileTraceWriter(rocksdb::Env::Default(), rocksdb::EnvOptions(), path, &writer).ok());
  ASSERT_TRUE(recorded.db->StartTrace({}, std::move(writer)).ok());
  std::string value;
  (void)recorded.db->Get({}, recorded.other, Key(42), &value);
  rocksdb::WriteBatch batch;
  ASSERT_TRUE(batch.Put(Key(1), std::string(77, 'v')).ok());
  ASSERT_TRUE(batch.Delete(recorded.other, "a name").ok());
  ASSERT_TRUE(recorded.db->Write({}, &batch).ok());
  const std::unique_ptr<rocksdb::Iterator> it(recorded.db->NewIterator({}));
  it->SeekForPrev(Key(7));
  ASSERT_TRUE(recorded.db->EndTrace().ok());

  ASSERT_EQ(Read(path), "");
  ASSERT_EQ(requests_.size(), 4u);
  EXPECT_EQ(requests_[0].operation, Operation::kGet);
  EXPECT_EQ(requests_[0].key, 42u);
  EXPECT_EQ(requests_[0].key_bytes, 16u);
  EXPECT_EQ(requests_[0].column_family, 1u);
  EXPECT_GT(requests_[0].time_us, 0u);
  EXPECT_EQ(requests_[1].operation, Operation::kPut);
  EXPECT_EQ(requests_[1].value_bytes, 77u);
  EXPECT_EQ(requests_[1].batch_left, 1u);
  EXPECT_EQ(requests_[2].operation, Operation::kDelete);
  EXPECT_EQ(requests_[2].key, NumberOfQueryKey("a name"));
  EXPECT_EQ(requests_[2].batch_left, 0u);
  EXPECT_EQ(requests_[3].operation, Operation::kSeek);
  EXPECT_EQ(requests_[3].key, 7u);
}

TEST_F(QueryTrace, WrittenHereIsReplayedByRocksDbAndReadHere) {
  std::vector<Request> requests;
  for (const char* name : {"messaging", "ycsb_f", "blob_metadata"}) {
    for (const Request& request : GenerateAll({.name = name, .keys = 1000, .ops = 500})) requests.push_back(request);
  }
  for (uint32_t left : {2, 1, 0}) {
    requests.push_back({.key = left, .operation = Operation::kMultiGet, .batch_left = left});
  }
  for (uint32_t left : {1, 0}) requests.push_back({.key = left, .operation = Operation::kDelete, .batch_left = left});
  std::unique_ptr<QueryTraceWriter> writer;
  const std::string path = folder_.Path("written");
  ASSERT_TRUE(QueryTraceWriter::Create(path, {.key_bytes = 16, .value_bytes = 50}, &writer).ok());
  for (const Request& request : requests) ASSERT_TRUE(writer->Add(request).ok());
  ASSERT_TRUE(writer->Finish().ok());

  ASSERT_EQ(Read(path), "");
  ASSERT_EQ(requests_.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(requests_[i].key, requests[i].key);
    ASSERT_EQ(requests_[i].operation, requests[i].operation);
    ASSERT_EQ(requests_[i].batch_left, requests[i].batch_left);
    if (requests[i].operation != Operation::kPut) continue;
    ASSERT_EQ(requests_[i].value_bytes, requests[i].value_bytes);
  }
  TestDb replayed(folder_.Path("replayed"));
  EXPECT_EQ(CountRecords(), replayed.Replay(path));
  EXPECT_EQ(writer->records(), 1500u + 2);
  EXPECT_THAT(QueryTraceWriter::Create(path, {}, &writer).message(), HasSubstr("it exists"));
}

TEST_F(QueryTrace, IsReadCompressedAndRewound) {
  std::unique_ptr<RequestSource> generated;
  ASSERT_TRUE(MakeGenerator({.name = "ycsb_a", .keys = 100, .ops = 300}, &generated).ok());
  ASSERT_TRUE(WriteQueryTrace(generated.get(), 0, folder_.Path("plain"), {.rate = 1000}).ok());
  std::ifstream file(folder_.Path("plain"), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  for (Compression how : kCompressions) {
    std::unique_ptr<RequestSource> source;
    ASSERT_TRUE(OpenTrace(folder_.Write("packed", Compress(how, content)), "", &source).ok());
    for (int pass = 0; pass < 2; ++pass) {
      uint64_t read = 0;
      Request request;
      for (; source->Next(&request); ++read) ASSERT_EQ(request.time_us, read * 1000);
      EXPECT_EQ(read, 300u);
      EXPECT_TRUE(source->status().ok()) << source->status().message();
      ASSERT_TRUE(source->Rewind().ok());
    }
  }
}

std::string QueryHeader(std::string_view version = "0.2") {
  return RocksdbRecord(1, kRocksdbBegin,
                       "feedcafedeadbeef\tTrace Version: " + std::string(version) +
                           "\tRocksDB Version: 7.8\tFormat: Timestamp OpType Payload\n");
}
std::string Get(std::string_view key) {
  return RocksdbRecord(2, kRocksdbGet, Fixed(uint64_t{0b1100}) + Fixed(0u) + LengthPrefixed(key));
}
std::string Footer() { return RocksdbRecord(3, kRocksdbEnd, ""); }

TEST_F(QueryTrace, IsReadInTheFirstVersionToo) {
  rocksdb::WriteBatch batch;
  ASSERT_TRUE(batch.Put(Key(5), "value").ok());
  ASSERT_EQ(ReadContent(QueryHeader("0.1") + RocksdbRecord(2, kRocksdbGet, Fixed(1u) + LengthPrefixed(Key(9))) +
                        RocksdbRecord(3, kRocksdbWrite, batch.Data()) +
                        RocksdbRecord(4, kRocksdbSeek, Fixed(0u) + LengthPrefixed(Key(8))) + Footer()),
            "");
  ASSERT_EQ(requests_.size(), 3u);
  EXPECT_EQ(requests_[0].key, 9u);
  EXPECT_EQ(requests_[0].column_family, 1u);
  EXPECT_EQ(requests_[1].operation, Operation::kPut);
  EXPECT_EQ(requests_[1].key, 5u);
  EXPECT_EQ(requests_[2].operation, Operation::kSeek);
  EXPECT_EQ(requests_[2].key, 8u);
}

TEST_F(QueryTrace, NamesFileOffsetAndFieldOfDamage) {
  const std::string good = QueryHeader() + Get("key");
  EXPECT_THAT(ReadContent(good + RocksdbRecord(2, kRocksdbGet, Fixed(uint64_t{0b1100}) + Fixed(0u)) + Footer()),
              AllOf(HasSubstr(folder_.Path("trace")), HasSubstr("at byte " + std::to_string(good.size())),
                    HasSubstr("field key is cut short")));
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_THAT(ReadContent(good + RocksdbRecord(2, kRocksdbGet, Fixed(uint64_t{0b100000}))), HasSubstr("payload map"));
  EXPECT_THAT(ReadContent(good + RocksdbRecord(2, 9, "")), HasSubstr("type is 9"));
  EXPECT_THAT(ReadContent(good + RocksdbRecord(2, kRocksdbMultiGet,
                                               Fixed(uint64_t{0b11100000000}) + Fixed(uint32_t{0xfffffff}) +
                                                   LengthPrefixed(Fixed(0u)) + LengthPrefixed(LengthPrefixed("k")))),
              HasSubstr("number of keys is 268435455"));
  EXPECT_THAT(ReadContent(good + RocksdbRecord(2, kRocksdbWrite, Fixed(uint64_t{2}) + LengthPrefixed("short"))),
              HasSubstr("write batch is cut short"));
  EXPECT_THAT(ReadContent(good + RocksdbRecord(2, kRocksdbWrite,
                                               Fixed(uint64_t{2}) + LengthPrefixed(std::string(12, '\1') + "?"))),
              AllOf(HasSubstr("at byte " + std::to_string(good.size())), HasSubstr("WriteBatch")));
}

TEST_F(QueryTrace, SkipsDamagedRecordsWhenAskedTo) {
  skip_bad_ = true;
  const std::string bad_map = RocksdbRecord(2, kRocksdbGet, Fixed(uint64_t{0b100000}));
  const std::string bad_batch =
      RocksdbRecord(2, kRocksdbWrite, Fixed(uint64_t{2}) + LengthPrefixed(std::string(12, '\1') + "?"));
  const std::string bad_length = std::string(9, '\2') + "\xff\xff\xff\x7f";
  EXPECT_EQ(ReadContent(QueryHeader() + bad_map + Get("a") + bad_batch + bad_map + Get("b") + Footer()), "");
  EXPECT_EQ(requests_.size(), 2u);
  EXPECT_EQ(skipped_, 3u);
  EXPECT_EQ(ReadContent(QueryHeader() + Get("a") + bad_length + Get("b") + Footer()), "");
  EXPECT_EQ(requests_.size(), 1u) << "behind a wrong length nobody knows where a record begins";
  EXPECT_EQ(skipped_, 1u);
  const std::string unfinished = QueryHeader() + Get("a");
  EXPECT_EQ(ReadContent(unfinished), "");
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_EQ(skipped_, 1u);
  EXPECT_THAT(ReadContent(QueryHeader("two") + Get("a")), HasSubstr("header is damaged"));
}

TEST_F(QueryTrace, SaysWhatIsNoQueryTraceItCanRead) {
  EXPECT_THAT(ReadContent(QueryHeader("0.3")), HasSubstr("versions 0.1 and 0.2 can be read"));
  EXPECT_THAT(ReadContent(QueryHeader("two")), HasSubstr("header is damaged"));
  EXPECT_THAT(ReadContent(BlockTraceHeader()), HasSubstr("--format=rocksdb_block"));
  EXPECT_THAT(ReadContent("this is text, and more than a header's length of it"), HasSubstr("trace"));
  std::string swapped = QueryHeader();
  std::reverse(swapped.begin() + 9, swapped.begin() + 13);
  EXPECT_THAT(ReadContent(swapped), HasSubstr("byte order"));
}

TEST_F(QueryTrace, SaysThatARecordingWasNotFinishedWhereverItWasCut) {
  const std::string begin = QueryHeader() + Get("key");
  const std::string rest = Get("another") + Footer();
  for (size_t kept = 0; kept < rest.size(); ++kept) {
    ASSERT_THAT(ReadContent(begin + rest.substr(0, kept)), HasSubstr("unfinished recording")) << kept;
    ASSERT_GE(requests_.size(), 1u);
  }
  EXPECT_EQ(ReadContent(begin + rest), "");
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(QueryTrace, SurvivesEveryFlippedByte) {
  rocksdb::WriteBatch batch;
  ASSERT_TRUE(batch.Put("key", "value").ok());
  ASSERT_TRUE(batch.Merge("key", "value").ok());
  const std::string content =
      QueryHeader() + Get("key") + RocksdbRecord(2, kRocksdbWrite, Fixed(uint64_t{2}) + LengthPrefixed(batch.Data())) +
      RocksdbRecord(2, kRocksdbMultiGet,
                    Fixed(uint64_t{0b11100000000}) + Fixed(1u) + LengthPrefixed(Fixed(0u)) +
                        LengthPrefixed(LengthPrefixed("key"))) +
      RocksdbRecord(2, kRocksdbSeek, Fixed(uint64_t{0b110000}) + Fixed(0u) + LengthPrefixed("key")) + Footer();
  ASSERT_EQ(ReadContent(content), "");
  ASSERT_EQ(requests_.size(), 5u);
  for (size_t at = 0; at < content.size(); ++at) {
    for (int flip : {0x01, 0x80}) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const std::string error = ReadContent(damaged);
      ASSERT_LE(requests_.size(), 6u);
      ASSERT_TRUE(error.empty() || error.find(folder_.Path("trace")) != std::string::npos) << error;
    }
  }
}

TEST(QueryKeys, KeepNumbersAndTheirOrderAndHashTheRest) {
  for (uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, UINT64_MAX}) {
    for (size_t bytes : {8, 16, 48}) EXPECT_EQ(NumberOfQueryKey(QueryKeyOfNumber(number, bytes)), number);
  }
  EXPECT_LT(Key(255), Key(256)) << "as bytes, too";
  EXPECT_NE(NumberOfQueryKey("user0000000000000001"), NumberOfQueryKey("user0000000000000002"));
  EXPECT_NE(NumberOfQueryKey("short"), NumberOfQueryKey("shorter"));
}

}  // namespace
}  // namespace mezz
