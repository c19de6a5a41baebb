// SPDX-License-Identifier: Apache-2.0
// What each format yields, and how it names what is damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace_files.h"
#include "workloads/readers/block_io.h"
#include "workloads/readers/key_hash.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/cut_extents.h"

namespace mezz {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kSecond = 1'000'000;

template <typename T>
std::string Little(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return bytes;
}

class TraceFormats : public TraceFiles {
 protected:
  // `before` is whole, `damaged` is not: the error names the file and `message`, and what is whole is given.
  void ExpectDamage(const std::string& format, const std::string& before, size_t requests, const std::string& damaged,
                    const std::string& message) {
    const RequestsRead read = ReadAs(before + damaged, {.format = format});
    EXPECT_EQ(read.requests.size(), requests) << damaged;
    EXPECT_THAT(read.status.message(), HasSubstr("trace " + folder_.Path(name_) + ", " + message)) << damaged;
  }
};

TEST_F(TraceFormats, LineageHoldsUsersLookUpsWithTheEventsBetweenThem) {
  const std::string path = folder_.Write("trace",
                                         "event,block,role,bytes,keys,time_us,parents\n"
                                         "read,0.0,data,4000,4,10,\n"
                                         "flushed,1.0,data,3000,3,11,\n"
                                         "compaction_read,0.0,data,4000,4,12,\n"
                                         "compaction_read,1.0,data,3000,3,13,\n"
                                         "compacted,2.0,data,4100,6,14,3:0.0 1:0.0+1.0 2:\n"
                                         "compacted,2.1,filter,500,,14,\n"
                                         "deleted,1,,,,15,\n"
                                         "read,2.0,data,4100,6,16,\n"
                                         "read,2.0,data,4100,6,17,\n");
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(path, "", &source).ok());
  Request request;
  ASSERT_TRUE(source->Next(&request));
  EXPECT_EQ(request, (Request{.key = KeyInFile(0, 0), .value_bytes = 4000, .time_us = 10}));
  EXPECT_TRUE(source->events().empty());
  ASSERT_TRUE(source->Next(&request)) << source->status().message();
  EXPECT_EQ(request, (Request{.key = KeyInFile(2, 0), .value_bytes = 4100, .time_us = 16}));
  const std::span<const BlockEvent> events = source->events();
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0].kind, BlockEventKind::kFlushed);
  EXPECT_EQ(events[2].kind, BlockEventKind::kCompactionLookUp);
  EXPECT_EQ(events[2].keys, 3u);
  using Share = ParentShare<uint64_t>;
  EXPECT_THAT(events[3].parents, ElementsAre(Share{3, KeyInFile(0, 0)}, Share{1, KeyInFile(0, 0)},
                                             Share{0, KeyInFile(1, 0)}, Share{2, Share::kNoParent}));
  EXPECT_EQ(events[4].role, BlockRole::kFilter);
  EXPECT_EQ(events[5].kind, BlockEventKind::kFileDeleted);
  EXPECT_EQ(FileOfKey(events[5].key), 1u);
  ASSERT_TRUE(source->Next(&request));
  EXPECT_TRUE(source->events().empty());
  EXPECT_FALSE(source->Next(&request));
  EXPECT_TRUE(source->status().ok());
  ASSERT_TRUE(source->Rewind().ok());
  ASSERT_TRUE(source->Next(&request));
  EXPECT_TRUE(source->events().empty());
}

TEST_F(TraceFormats, LineageNamesWhatIsDamaged) {
  const std::string header = "event,block,role,bytes,keys,time_us,parents\n";
  const std::pair<const char*, const char*> kDamaged[] = {
      {"write,0.0,data,1,1,1,\n", "line 2: field event is \"write\""},
      {"read,0,data,1,1,1,\n", "line 2: field block is \"0\""},
      {"read,0.4294967296,data,1,1,1,\n", "line 2: field block is"},
      {"read,0.0,date,1,1,1,\n", "line 2: field role is \"date\""},
      {"read,0.0,data,0,1,1,\n", "line 2: field bytes is \"0\""},
      {"flushed,0.0,data,1,many,1,\n", "line 2: field keys is \"many\""},
      {"flushed,0.0,data,1,1,1,1:0.1\n", "line 2: field parents is \"1:0.1\""},
      {"compacted,0.0,data,1,1,1,1\n", "line 2: field parents is \"1\""},
      {"compacted,0.0,data,1,1,1,1:0.1+\n", "line 2: field parents is"},
      {"compacted,0.0,data,1,1,1,0:0.1\n", "line 2: field parents is"},
      {"compacted,0.0,data,1,3,1,1:0.1 1:0.2\n", "line 2: field parents is \"1:0.1 1:0.2\"; want shares of all 3 keys"},
      {"deleted,1.0,,,,1,\n", "line 2: field block is \"1.0\""},
      {"read,0.0,data,1,1,1\n", "line 2: 6 fields"},
  };
  for (const auto& [line, message] : kDamaged) ExpectDamage("lineage_csv", header, 0, line, message);
}

TEST_F(TraceFormats, ArcListsAsExtents) {
  EXPECT_THAT(
      Read("230027 8 0 0\n\n1842745 64 0 1\r\n 7\t1 0 2", "arc"),
      ElementsAre(Request{.key = 230027 * 512, .extent_bytes = 4096},
                  Request{.key = 1842745 * 512, .extent_bytes = 32768}, Request{.key = 7 * 512, .extent_bytes = 512}));
  const std::pair<const char*, const char*> kDamaged[] = {
      {"1 8 0", "line 2: 3 fields"},
      {"1 8 0 0 0", "line 2: 5 fields"},
      {"x 8 0 0", "line 2: field 1 (starting block) is \"x\""},
      {"-1 8 0 0", "line 2: field 1 (starting block) is \"-1\""},
      {"1 8 0 18446744073709551616", "line 2: field 4 (request number)"},
      {"1 99999999 0 0", "line 2: field 2 (number of blocks) is 99999999"},
      {"18446744073709551615 8 0 0", "line 2: field 1 (starting block) is 18446744073709551615"}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("arc", "5 8 0 0\n", 1, line, message);
}

TEST_F(TraceFormats, CloudPhysicsByItsHeader) {
  const std::string header = "version,time,op,size,lbn\n";
  EXPECT_THAT(
      Read(header + "1,7,2a,512,3\n1,8,28,8192,16\n"),
      ElementsAre(Request{.key = 3 * 512, .operation = Operation::kPut, .extent_bytes = 512, .time_us = 7 * kSecond},
                  Request{.key = 16 * 512, .extent_bytes = 8192, .time_us = 8 * kSecond}));
  const std::pair<const char*, const char*> kDamaged[] = {
      {"1,7,28,512", "line 3: 4 fields"},
      {"1,7,zz,512,3", "line 3: field op is \"zz\""},
      {"1,7,12,512,3", "line 3: field op is 12"},
      {"1,7,28,9999999999,3", "line 3: field size is 9999999999"},
      {"1,7,28,512,-3", "line 3: field lbn is \"-3\""},
      {"1,7,28,512,18446744073709551615", "line 3: field lbn is 18446744073709551615"},
      {"1,18446744073709551615,28,512,3", "line 3: field time is"},
      {"1,1e5,28,512,3", "line 3: field time is \"1e5\""}};
  for (const auto& [line, message] : kDamaged)
    ExpectDamage("cloudphysics_csv", header + "1,7,28,512,3\n", 1, line, message);
  ExpectDamage("cloudphysics_csv", "", 0, "1,7,28,512,3\n", "line 1: \"1,7,28,512,3\" is not");
}

TEST_F(TraceFormats, Twitter) {
  const std::string content =
      "0,q:q:1:8WTwl7huJeQ,17,249,1,get,0\n"
      "7,a,b,c,5,27,18,add,86400\r\n"
      "7,k,1,0,4294967295,delete,0\n"
      "8,k,1,8,2,incr,0\n";
  EXPECT_THAT(
      Read(content),
      ElementsAre(Request{.key = HashKey("q:q:1:8WTwl7huJeQ"), .key_bytes = 17, .value_bytes = 249, .client = 1},
                  Request{.key = HashKey("a,b,c"),
                          .operation = Operation::kPut,
                          .key_bytes = 5,
                          .value_bytes = 27,
                          .time_us = 7 * kSecond,
                          .client = 18},
                  Request{.key = HashKey("k"),
                          .operation = Operation::kDelete,
                          .key_bytes = 1,
                          .time_us = 7 * kSecond,
                          .client = UINT32_MAX},
                  Request{.key = HashKey("k"),
                          .operation = Operation::kMerge,
                          .key_bytes = 1,
                          .value_bytes = 8,
                          .time_us = 8 * kSecond,
                          .client = 2}));
  const std::pair<const char*, const char*> kDamaged[] = {
      {"0,k,1,2,3,get", "line 5: fewer than 7 fields in \"0,k,1,2,3,get\""},
      {"x,k,1,2,3,get,0", "line 5: field timestamp is \"x\""},
      {"18446744073709551615,k,1,2,3,get,0", "line 5: field timestamp is \"18446744073709551615\""},
      {"0,k,-1,2,3,get,0", "line 5: field key_size is \"-1\""},
      {"0,k,1,4294967296,3,get,0", "line 5: field value_size is \"4294967296\""},
      {"0,k,1,2,,get,0", "line 5: field client_id is \"\""},
      {"0,k,1,2,3,peek,0", "line 5: field op is \"peek\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("twitter_csv", content, 4, line, message);
}

TEST_F(TraceFormats, MetaKvByTheNamesOfItsColumns) {
  const Request get{.key = HashKey("a"), .key_bytes = 24, .value_bytes = 10, .time_us = 9 * kSecond};
  const auto recorded = [](Request request, Recorded how) {
    request.recorded = how;
    return request;
  };
  Request put = get;
  put.operation = Operation::kPut;
  // As published, and with the columns in another order and some gone.
  EXPECT_THAT(
      Read("op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n"
           "9,a,24,GET_LEASE,3,10,1,0,366387042,3003229276\n"
           "9,a,24,SET,1,10,0,0,366387042,3003229276\n"),
      ElementsAre(recorded(get, Recorded::kMiss), recorded(get, Recorded::kMiss), recorded(get, Recorded::kHit), put));
  EXPECT_THAT(Read("size,op,extra,key,op_count,op_time,key_size\n10,GET,zz,a,2,9,24\n10,SET_LEASE,,a,1,9,24\n"),
              ElementsAre(get, get, put));
  const std::string header = "key,op,size,op_count\n";
  EXPECT_THAT(Read(header + "a,DELETE,0,1\nb,GET,0,0\n"),
              ElementsAre(Request{.key = HashKey("a"), .operation = Operation::kDelete}));
  const std::pair<const char*, const char*> kDamaged[] = {
      {"a,GET,1", "line 2: 3 fields in \"a,GET,1\"; the header names 4"},
      {"a,GET,1,1,1", "line 2: 5 fields"},
      {"a,PEEK,1,1", "line 2: field op is \"PEEK\""},
      {"a,GET,x,1", "line 2: field size is \"x\""},
      {"a,GET,1,1000001", "line 2: field op_count is \"1000001\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("meta_kv_csv", header, 0, line, message);
  // As CacheLib's own reader, which wants no op_count.
  EXPECT_THAT(Read("key,op,size\na,GET,1\n", "meta_kv_csv"),
              ElementsAre(Request{.key = HashKey("a"), .value_bytes = 1}));
  EXPECT_THAT(Read("key,op,size\na,SET,1\n"),
              ElementsAre(Request{.key = HashKey("a"), .operation = Operation::kPut, .value_bytes = 1}));
  ExpectDamage("meta_kv_csv", "", 0, "key,op,op_count\na,GET,1\n",
               "line 1: the header \"key,op,op_count\" does not name a column size");
}

// Reads and writes of two blocks: what one covers twice is the same, and no two blocks meet however they are cut.
TEST_F(TraceFormats, MetaBlocksNeverMeet) {
  const std::string content =
      "op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,rs_shard_"
      "id\n"
      "5,A,40,8192,4096,1,1,getChunkData.Permanent,2,1,1\n"
      "5,B,40,1073741824,0,1,1,putChunk.NotInitialized,1,1,1\n"
      "6,A,40,4096,8192,1,1,getChunkData.NotInitialized,1,1,1\n";
  const std::vector<Request> requests = Read(content);
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0], requests[1]);
  EXPECT_EQ(requests[0].operation, Operation::kGet);
  EXPECT_EQ(requests[2].operation, Operation::kPut);
  EXPECT_EQ(requests[2].extent_bytes, kExtentBytesMax);
  EXPECT_EQ(requests[3].key, requests[0].key + 4096);
  for (const Request& a : {requests[0], requests[3]}) {
    EXPECT_TRUE(a.key + a.extent_bytes <= requests[2].key || a.key >= requests[2].key + requests[2].extent_bytes);
  }
  const std::string path = folder_.Write("trace", content);
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(path, "", &source).ok());
  for (Request request; source->Next(&request);) {
  }
  ASSERT_TRUE(source->Rewind().ok());
  for (const Request& want : requests) {
    Request request;
    ASSERT_TRUE(source->Next(&request));
    EXPECT_EQ(request, want);
  }

  const std::string header = "block_id,io_size,io_offset,op_name,op_count\n";
  const std::pair<const char*, const char*> kDamaged[] = {
      {"A,1073741825,0,getChunkData.X,1", "line 2: field io_size is \"1073741825\""},
      {"A,2,1073741823,getChunkData.X,1", "line 2: field io_offset is \"1073741823\""},
      {"A,2,0,eraseChunk,1", "line 2: field op_name is \"eraseChunk\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("meta_block_csv", header, 0, line, message);
}

std::string OracleRecord(uint32_t seconds, uint64_t object, uint32_t bytes, int64_t next) {
  return Little(seconds) + Little(object) + Little(bytes) + Little(static_cast<uint64_t>(next));
}

TEST_F(TraceFormats, OracleGeneral) {
  const std::string content = OracleRecord(3, ~uint64_t{0}, 500, 3) + OracleRecord(3, 8, 0, -1) +
                              OracleRecord(4, ~uint64_t{0}, 500, INT64_MAX) + OracleRecord(9, 7, 1, 1000);
  EXPECT_THAT(Read(content), ElementsAre(Request{.key = ~uint64_t{0}, .value_bytes = 500, .time_us = 3 * kSecond},
                                         Request{.key = 8, .time_us = 3 * kSecond},
                                         Request{.key = ~uint64_t{0}, .value_bytes = 500, .time_us = 4 * kSecond},
                                         Request{.key = 7, .value_bytes = 1, .time_us = 9 * kSecond}));
  ExpectDamage("oracle_general", content, 4, "12345", "at byte 96: the last record is cut short: 5 of 24 bytes");
  ExpectDamage("oracle_general", content, 4, OracleRecord(9, 1, 1, -2), "at byte 96: field next_access_vtime is -2");
  std::string swapped = OracleRecord(9, 1, 1, 77);
  std::reverse(swapped.end() - 8, swapped.end());
  ExpectDamage("oracle_general", content, 4, swapped,
               "at byte 96: field next_access_vtime is 5548434740920451072; the records seem to be big-endian");
}

std::string Vscsi1Record(uint16_t command, uint16_t version, uint32_t bytes, uint64_t sector, uint64_t us) {
  return Little<uint32_t>(7) + Little(bytes) + Little<uint32_t>(1) + Little(command) + Little(version) +
         Little(sector) + Little(us);
}
std::string Vscsi2Record(uint16_t command, uint16_t version, uint32_t bytes, uint64_t sector, uint64_t us) {
  return Little(command) + Little(version) + Little<uint32_t>(7) + Little(bytes) + Little<uint32_t>(1) +
         Little(sector) + Little(us) + Little<uint64_t>(99);
}

TEST_F(TraceFormats, BothFormsOfVscsi) {
  const Request write{.key = 3 * 512, .operation = Operation::kPut, .extent_bytes = 4096, .time_us = 12};
  const Request read{.key = 1024 * 512, .extent_bytes = 512, .time_us = 13};
  const std::string first = Vscsi1Record(0x2a, 0x100, 4096, 3, 12), second = Vscsi2Record(0x2a, 0x201, 4096, 3, 12);
  EXPECT_THAT(Read(first + Vscsi1Record(0x28, 0x1ff, 512, 1024, 13)), ElementsAre(write, read));
  EXPECT_THAT(Read(second + Vscsi2Record(0x88, 0x200, 512, 1024, 13)), ElementsAre(write, read));
  ExpectDamage("vscsi1", first, 1, Vscsi1Record(0x2a, 0x200, 4096, 3, 12), "at byte 32: field version is 0x0200");
  ExpectDamage("vscsi1", first, 1, Vscsi1Record(0x12, 0x100, 4096, 3, 12), "at byte 32: field cmd is 12");
  // A read of nothing is sound, and WRITE AND VERIFY is a write.
  EXPECT_THAT(Read(second + Vscsi2Record(0x28, 0x200, 0, 3, 12) + Vscsi2Record(0x88, 0x200, 512, 1024, 13)),
              ElementsAre(write, read));
  EXPECT_THAT(Read(Vscsi2Record(0x2e, 0x201, 4096, 3, 12)), ElementsAre(write));
  ExpectDamage("vscsi2", second, 1, Vscsi2Record(0x28, 0x200, 1, ~uint64_t{0}, 12),
               "at byte 40: field lbn is 1844674407");
  ExpectDamage("vscsi2", second, 1, second.substr(1), "at byte 40: the last record is cut short: 39 of 40 bytes");
}

// Names do not overrule what the versions of the records say.
TEST_F(TraceFormats, TellsTheFormOfVscsiByItsVersions) {
  std::string records;
  for (int i = 0; i < 6; ++i) records += Vscsi2Record(i == 2 ? 0x35 : 0x28, 0x200, 512, 8 * i, 12);
  const std::string path = folder_.Write("disk.vscsi", records);
  EXPECT_THAT(ReadRequests(path, {}).status.message(), HasSubstr("at byte 80: field cmd is 35"));
  const RequestsRead read = ReadRequests(path, {.skip_bad = true});
  EXPECT_EQ(read.requests.size(), 5u);
  EXPECT_EQ(read.skipped, 1u);
  EXPECT_THAT(ReadRequests(folder_.Write("other.vscsi", std::string(80, '\x07')), {.skip_bad = true}).status.message(),
              HasSubstr("neither content nor name tells its format"));
}

TEST_F(TraceFormats, LeavesOutWhatTouchesNothing) {
  const std::tuple<const char*, const char*, size_t> kFiles[] = {
      {"mqsim", "1 2 3 0 0\n1 2 3 4 0\n", 1},
      {"spc", "0,1,0,R,1\n0,1,512,R,1\n", 1},
      {"arc", "1 0 0 0\n1 8 0 0\n", 1},
      {"cloudphysics_csv", "version,time,op,size,lbn\n1,7,28,0,3\n1,7,28,512,3\n", 1},
      {"meta_block_csv", "block_id,io_size,io_offset,op_name\nA,0,0,getChunkData.X\nA,1,0,getChunkData.X\n", 1}};
  for (const auto& [format, content, left] : kFiles) EXPECT_EQ(Read(content, format).size(), left) << format;
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(folder_.Write("trace", "0,1,0,R,1\n0,1,512,R,1\n"), "spc", &source).ok());
  for (Request request; source->Next(&request);) {
  }
  EXPECT_THAT(source->remarks(), ElementsAre("1 reads and writes of length 0 touch nothing and are left out"));
}

// Header and record of libCacheSim's lcs.
std::string LcsHeader(uint64_t version) {
  std::string header = Little(uint64_t{0x123456789abcdef0}) + Little(version);
  return header + std::string(8192 - 24, '\0') + Little(uint64_t{0x123456789abcdef0});
}

TEST_F(TraceFormats, LcsInAllItsVersions) {
  const Request get{.key = 9, .value_bytes = 100, .time_us = 7 * kSecond};
  Request put = get;
  put.operation = Operation::kPut;
  put.client = 5;
  const std::string start = Little(uint32_t{7}) + Little(uint64_t{9});
  const std::string next = Little(uint64_t{2});
  EXPECT_THAT(Read(LcsHeader(1) + start + Little(uint32_t{100}) + next), ElementsAre(get));
  const std::string op = Little(uint32_t{3 | 5 << 8});
  EXPECT_THAT(Read(LcsHeader(2) + start + Little(uint32_t{100}) + op + next), ElementsAre(put));
  for (uint64_t version = 3; version <= 8; ++version) {
    const size_t features = version == 3 ? 0 : size_t{1} << (version - 4);
    const std::string record =
        start + Little(uint64_t{100}) + op + Little(uint32_t{60}) + next + std::string(4 * features, 'f');
    EXPECT_THAT(Read(LcsHeader(version) + record + record), ElementsAre(put, put)) << version;
  }
  // Whatever the name, and whether or not damage is skipped.
  const std::string path = folder_.Write("a.oracleGeneral", LcsHeader(1) + start + Little(uint32_t{100}) + next);
  EXPECT_EQ(ReadRequests(path, {.skip_bad = true}).requests.size(), 1u);
  EXPECT_THAT(ReadRequests(folder_.Write("a", LcsHeader(9)), {.skip_bad = true}).status.message(),
              HasSubstr("version 9 of lcs; 1 to 8 are read"));
  EXPECT_THAT(ReadRequests(folder_.Write("a", LcsHeader(1).substr(0, 5000)), {}).status.message(),
              HasSubstr("the header of lcs is cut short"));
  std::string old =
      Little(uint64_t{0x123456789abcdef0}) + std::string(1008, '\0') + Little(uint64_t{0x123456789abcdef0});
  EXPECT_THAT(ReadRequests(folder_.Write("a", old + std::string(8192, '\0')), {}).status.message(),
              HasSubstr("the older form of lcs"));
}

// Its name does not make records of what points nowhere.
TEST_F(TraceFormats, TakesNoOtherFileForOracleGeneral) {
  std::string swapped;
  for (uint32_t i = 0; i < 8; ++i) {
    std::string record = OracleRecord(252 + i, i % 3, 4100, -1);
    std::reverse(record.begin(), record.begin() + 4);
    std::reverse(record.begin() + 4, record.begin() + 12);
    std::reverse(record.begin() + 12, record.begin() + 16);
    swapped += record;
  }
  EXPECT_FALSE(ReadRequests(folder_.Write("a.oracleGeneral", swapped)).status.ok()) << "big-endian";
  std::string foreign;
  for (int i = 0; i < 1000; ++i) foreign += Little(uint64_t{0xf123456789abcdefu} * static_cast<uint64_t>(2 * i + 1));
  EXPECT_THAT(ReadRequests(folder_.Write("a.oracleGeneral", foreign), {.skip_bad = true}).status.message(),
              HasSubstr("neither content nor name tells its format"));
}

TEST_F(TraceFormats, MqsimAndItsDevices) {
  const std::string content = "938513000 4 264719034 16 0\n938828999\t0  8 1 1\r\n";
  EXPECT_THAT(Read(content), ElementsAre(Request{.key = (uint64_t{4} << kDeviceShift) + 264719034ull * 512,
                                                 .operation = Operation::kPut,
                                                 .extent_bytes = 8192,
                                                 .time_us = 938513},
                                         Request{.key = 8 * 512, .extent_bytes = 512, .time_us = 938828}));
  const std::pair<const char*, const char*> kDamaged[] = {
      {"1 2 3 4", "line 3: 4 fields in \"1 2 3 4\""},
      {"x 2 3 4 0", "line 3: field arrival_ns is \"x\""},
      {"1 65536 3 4 0", "line 3: field device is 65536"},
      {"1 2 18446744073709551615 4 0", "line 3: field start_sector is 18446744073709551615"},
      {"1 2 3 4 2", "line 3: field op is \"2\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("mqsim", content, 2, line, message);
}

TEST_F(TraceFormats, SpcWithBlanksAndOptionalFields) {
  const std::string content = "0,20941264,8192,W,0.551706\n 1, 16,512,r, 2.5 ,x,\"y\"\n";
  EXPECT_THAT(
      Read(content),
      ElementsAre(
          Request{.key = 20941264ull * 512, .operation = Operation::kPut, .extent_bytes = 8192, .time_us = 551706},
          Request{.key = (uint64_t{1} << kDeviceShift) + 16 * 512, .extent_bytes = 512, .time_us = 2'500'000}));
  const std::pair<const char*, const char*> kDamaged[] = {{"0,1,512,R", "line 3: 4 fields"},
                                                          {"65536,1,512,R,1", "line 3: field ASU is \"65536\""},
                                                          {"0,a,512,R,1", "line 3: field LBA is \"a\""},
                                                          {"0,1,512,read,1", "line 3: field opcode is \"read\""},
                                                          {"0,1,512,R,-1", "line 3: field timestamp is \"-1\""},
                                                          {"0,1,512,R,nan", "line 3: field timestamp is \"nan\""},
                                                          {"0,1,512,R,1e300", "line 3: field timestamp is \"1e300\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("spc", content, 2, line, message);
}

// As BlockCacheHumanReadableTraceWriter prints it.
TEST_F(TraceFormats, RocksdbBlocksOfEveryTypeAndChangingSize) {
  const std::string content =
      "1700000000000001,5,9,4096,0,default,6,12,1,0,77,3,100,1,1,40,0,0,22,16,8192\n"
      "1700000000000002,5,9,2048,0,default,6,12,1,0,77,3,100,0,1,40,0,0,22,16,8192\n"
      "1700000000000003,6,7,300,3,a,b,0,12,3,0,0,0,0,1,0,0,0,0,22,0,0\n"
      "1700000000000004,7,8,300,3,,4294967295,12,10,1,0,0,0,0,0,0,0,0,22,0,0\n"
      "1700000000000005,8,10,1,3,c,1,12,10,1,0,0,0,0,0,0,0,0,22,0,0\n"
      "1700000000000006,9,11,0,3,c,1,12,10,1,0,0,0,0,0,0,0,0,22,0,0\n";
  const std::vector<Request> requests = Read(content);
  ASSERT_EQ(requests.size(), 6u);
  EXPECT_EQ(
      requests[0],
      (Request{.key = 5, .value_bytes = 4096, .time_us = 1700000000000001, .level = 6, .recorded = Recorded::kHit}));
  EXPECT_EQ(requests[1].key, 5u);
  EXPECT_EQ(requests[1].value_bytes, 2048u);
  EXPECT_EQ(requests[1].recorded, Recorded::kMiss);
  EXPECT_EQ(requests[2].role, BlockRole::kIndex);
  EXPECT_EQ(requests[2].level, 0);
  EXPECT_EQ(requests[2].column_family, 3u);
  EXPECT_EQ(requests[3].role, BlockRole::kFilter);
  EXPECT_EQ(requests[3].level, -1);
  EXPECT_TRUE(requests[3].no_insert);
  EXPECT_EQ(requests[4].role, BlockRole::kDictionary);
  EXPECT_EQ(requests[5].role, BlockRole::kOther);
  const std::pair<const char*, const char*> kDamaged[] = {
      {"1,5,9,4096,0,default,6,12,1,0,77,3,100,1,1,40,0,0,22,16", "line 7: "},
      {"1,5,6,4096,0,default,6,12,1,0,77,3,100,1,1,40,0,0,22,16,8192", "line 7: field block_type is 6"},
      {"1,5,9,4096,0,default,6,12,1,0,77,3,100,2,1,40,0,0,22,16,8192", "line 7: field is_cache_hit is \"2\""},
      {"1,5,9,4096,x,default,6,12,1,0,77,3,100,1,1,40,0,0,22,16,8192", "line 7: field cf_id is \"x\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("rocksdb_block_csv", content, 6, line, message);
}

TEST_F(TraceFormats, RawKeysOfEitherByteOrder) {
  const std::string bytes("\x01\x02\x03\x04\x05\x06\x07\x08", 8);
  EXPECT_THAT(Read(bytes, "be64"), ElementsAre(Request{.key = 0x0102030405060708}));
  EXPECT_THAT(Read(bytes, "le64"), ElementsAre(Request{.key = 0x0807060504030201}));
  EXPECT_THAT(Read(bytes, "be32"), ElementsAre(Request{.key = 0x01020304}, Request{.key = 0x05060708}));
  EXPECT_THAT(Read(bytes, "le32"), ElementsAre(Request{.key = 0x04030201}, Request{.key = 0x08070605}));
}

TEST_F(TraceFormats, OurCsvNamesWhatIsDamaged) {
  const std::string header = "key,op,extent_bytes,time_us,role,level,recorded\n";
  EXPECT_THAT(Read(header + "1,,0,0,,,\n"), ElementsAre(Request{.key = 1}));
  const std::pair<const char*, const char*> kDamaged[] = {
      {"1,peek,0,0,,,", "line 2: field op is \"peek\""},
      {"1,get,0,0,meta,,", "line 2: field role is \"meta\""},
      {"1,get,0,0,,-2,", "line 2: field level is \"-2\""},
      {"1,get,0,0,,,maybe", "line 2: field recorded is \"maybe\""},
      {"18446744073709551615,get,512,0,,,", "line 2: field extent_bytes is \"512\""}};
  for (const auto& [line, message] : kDamaged) ExpectDamage("mezz_csv", header, 0, line, message);
}

// The name is asked only where the content does not tell, and never against it.
TEST_F(TraceFormats, ContentTellsTheFormatBeforeTheName) {
  const auto found = [&](const std::string& name, const std::string& content) {
    std::string format;
    const Status status = FindTraceFormat(folder_.Write(name, content), "auto", &format);
    return status.ok() ? format : status.message();
  };
  const std::string raw("\0\0\0\0\0\0\0\1", 8);
  EXPECT_EQ(found("web07.trace", "0,1,512,R,1\n"), "spc");
  EXPECT_EQ(found("scarab.txt", "17\n4\n"), "text");
  EXPECT_EQ(found("P3.lis", "1 2 3 4\n"), "arc");
  EXPECT_EQ(found("unnamed", "1 2 3 4\n5 6 7 8\n"), "arc");
  EXPECT_EQ(found("OLTP.lis", "1 1 3 4\n"), "arc_pages");
  EXPECT_EQ(found("P3.lis", "1 2 3 4 0\n"), "mqsim");
  EXPECT_EQ(found("unnamed", "1 2 3 4 0\n1 2 3 4 2\n"), "csv") << "MQSim's op is 0 or 1";
  EXPECT_EQ(found("keys.le64", raw), "le64");
  EXPECT_EQ(found("keys.be64", raw), "be64");
  EXPECT_EQ(found("trace.oracleGeneral.bin", OracleRecord(1, 2, 3, -1)), "oracle_general");
  EXPECT_THAT(found("unnamed", raw), HasSubstr("neither content nor name tells its format"));
}

}  // namespace
}  // namespace mezz
