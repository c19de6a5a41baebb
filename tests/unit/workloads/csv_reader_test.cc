// SPDX-License-Identifier: Apache-2.0
// CSV with any columns: what is understood, what is refused, and the published traces that have no header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "trace_files.h"
#include "workloads/readers/block_io.h"
#include "workloads/readers/csv_time.h"
#include "workloads/readers/key_hash.h"

namespace mezz {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kSecondUs = 1'000'000;

class CsvReader : public TraceFiles {
 protected:
  CsvReader() : TraceFiles("trace.csv") {}
  std::vector<std::string> Remarks(const std::string& content, const std::string& format = "") {
    std::unique_ptr<RequestSource> source;
    EXPECT_TRUE(OpenTrace(folder_.Write("trace.csv", content), format, &source).ok());
    for (Request request; source->Next(&request);) {
    }
    return source->remarks();
  }
  std::string FormatOf(const std::string& content) {
    std::string name;
    const Status status = FindTraceFormat(folder_.Write("trace", content), "", &name);
    return status.ok() ? name : std::string(status.message());
  }
};

TEST_F(CsvReader, KnowsTheCommonestHeader) {
  const std::string content = "time,id,size\n1,7,4096\n2.5,8,100\n";
  EXPECT_EQ(FormatOf(content), "csv");
  EXPECT_THAT(Read(content), ElementsAre(Request{.key = 7, .value_bytes = 4096, .time_us = kSecondUs},
                                         Request{.key = 8, .value_bytes = 100, .time_us = 5 * kSecondUs / 2}));
  EXPECT_THAT(Remarks(content), ElementsAre("read as CSV: key=id, time=time in seconds, size=size"));
}

// The same two requests, as other programs write them.
TEST_F(CsvReader, ReadsWhatOtherProgramsWrite) {
  const std::vector<Request> want = Read("time,id,size\n1,7,4096\n2,8,100\n");
  for (const char* content : {"time,id,size\r\n1,7,4096\r\n2,8,100\r\n",
                              "\xef\xbb\xbftime,id,size\n1,7,4096\n2,8,100\n",
                              "\"time\",\"id\",\"size\"\n\"1\",\"7\",\"4096\"\n\"2\",\"8\",\"100\"\n",
                              "time;id;size\n1;7;4096\n2;8;100\n",
                              "time\tid\tsize\n1\t7\t4096\n2\t8\t100\n",
                              "time|id|size\n1|7|4096\n2|8|100\n",
                              "sep=;\ntime;id;size\n1;7;4096\n2;8;100\n",
                              "# time,id,size\n1,7,4096\n2,8,100\n",
                              "# made by x, on a Friday\n#\n#time,id,size\n1,7,4096\n2,8,100\n",
                              "# of a day\n\ntime,id,size\n1,7,4096\n2,8,100\n",
                              "time,id,size\n1,7,4096\ntime,id,size\n2,8,100\n",
                              "time_millis,id,size\n1000,7,4096\n2000,8,1e+02\n",
                              "Time (milliseconds),id,size\n1000,7,4096\n2000,8,100\n",
                              "\n\nTime, ID, Size\n\n1, 7, 4096\n\n2, 8, 100",
                              ",time,id,size\n0,1,7,4096\n1,2,8,100\n",
                              "\ttime\tid\tsize\n0\t1\t7\t4096\n1\t2\t8\t100\n",
                              "Timestamp (ms),Object_ID,obj-size\n1000,7,4096\n2000,8,100\n",
                              "ts_us,key,bytes\n1000000,0x7,4096.0\n2000000,0X8,100.0\n",
                              "time_ns,url,length\n1000000000,7,4096\n2000000000,8,100\n",
                              "date,id,size\n1970-01-01 00:00:01,7,4096\n1970-01-01T00:00:02Z,8,100\n"})
    EXPECT_EQ(Read(content), want) << content;
}

TEST_F(CsvReader, TakesTheColumnsThatAreNamed) {
  EXPECT_THAT(Read("ts;who;bytes;type;id\n5;x;10;READ;a\n6;y;11;w;b\n",
                   "csv:key=id,time=ts,size=bytes,op=type,client=who,delimiter=;"),
              ElementsAre(Request{.key = HashKey("a"),
                                  .value_bytes = 10,
                                  .time_us = 5 * kSecondUs,
                                  .client = static_cast<uint32_t>(HashKey("x") | 1)},
                          Request{.key = HashKey("b"),
                                  .operation = Operation::kPut,
                                  .value_bytes = 11,
                                  .time_us = 6 * kSecondUs,
                                  .client = static_cast<uint32_t>(HashKey("y") | 1)}));
  EXPECT_THAT(Read("5,7,1\n", "csv:key=#2,time=#1,op=#3,get=0,put=1,time_unit=ms,size=512"),
              ElementsAre(Request{.key = 7, .operation = Operation::kPut, .value_bytes = 512, .time_us = 5000}));
  EXPECT_THAT(
      Read("id,count\n7,2\n8,0\n9,1\n", "csv:op=put"),
      ElementsAre(Request{.key = 7, .operation = Operation::kPut}, Request{.key = 7, .operation = Operation::kPut},
                  Request{.key = 9, .operation = Operation::kPut}));
}

// Ids that differ as text differ as keys.
TEST_F(CsvReader, KeepsIdsApart) {
  const std::vector<Request> read =
      Read("id\n1\n01\n0x1\n-1\n1.0\nabc\nABC\n\"a,b\"\n\"a\nb\"\n\"a\"\"b\"\n18446744073709551616\n");
  std::vector<uint64_t> keys;
  for (const Request& request : read) keys.push_back(request.key);
  EXPECT_THAT(keys, ElementsAre(1, HashKey("01"), 1, HashKey("-1"), HashKey("1.0"), HashKey("abc"), HashKey("ABC"),
                                HashKey("a,b"), HashKey("a\nb"), HashKey("a\"b"), HashKey("18446744073709551616")));
}

TEST_F(CsvReader, CountsWhatGoesBackInTime) {
  EXPECT_THAT(Remarks("ts,id,extra\n3,1,x\n2,1,x\n5,1,x\n4,1,x\n"),
              ElementsAre("read as CSV: key=id, time=ts in seconds; not used: extra",
                          HasSubstr("2 requests are at an earlier time")));
}

TEST_F(CsvReader, FindsTheUnitOfAbsoluteTimes) {
  EXPECT_EQ(UnitOfTime("1574072461.57"), TimeUnit::kSeconds);
  EXPECT_EQ(UnitOfTime("1574072461570"), TimeUnit::kMillis);
  EXPECT_EQ(UnitOfTime("1574072461570000"), TimeUnit::kMicros);
  EXPECT_EQ(UnitOfTime("1574072461570000000"), TimeUnit::kNanos);
  EXPECT_EQ(UnitOfTime("128166372003061629"), TimeUnit::kFileTime);
  uint64_t us = 0;
  ASSERT_TRUE(ParseTime("2026-11-27T12:00:00.25Z", TimeUnit::kSeconds, &us));
  EXPECT_EQ(us, 1'795'780'800'250'000u);
  for (const char* same : {"2026-11-27T13:30:00.25+01:30", "2026-11-27 06:30:00.25-0530", "2026-11-27 14:00:00.25+02",
                           "2026-11-27 12:00:00.250000+00:00", "2026-11-28 11:59:00.25 +23:59"}) {
    uint64_t again = 0;
    EXPECT_TRUE(ParseTime(same, TimeUnit::kSeconds, &again)) << same;
    EXPECT_EQ(again, us) << same;
  }
  for (const char* coarse : {"2026-11-27", "2026-11-27T00:00", "2026-11-27 01:00+01:00"}) {
    EXPECT_TRUE(ParseTime(coarse, TimeUnit::kSeconds, &us)) << coarse;
    EXPECT_EQ(us, 1'795'737'600'000'000u) << coarse;
  }
  for (const char* wrong :
       {"", "x", "-1", "2026-13-01 00:00:00", "2026-11-27 24:00:00", "1e300", "nan", "2026-11", "2026-11-27T12",
        "2026-11-27 12:00:00+", "2026-11-27 12:00:00+1", "2026-11-27 12:00:00+01:", "2026-11-27 12:00:00+01:0",
        "2026-11-27 12:00:00+24:00", "2026-11-27 12:00:00+01:60", "2026-11-27 12:00:00+01-00",
        "2026-11-27 12:00:00+01x00", "1970-01-01 00:30:00+01:00", "2026-11-27 12:00:00ZZ"})
    EXPECT_FALSE(ParseTime(wrong, TimeUnit::kSeconds, &us)) << wrong;
}

TEST_F(CsvReader, RefusesWhatItWouldHaveToGuess) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"id,key,size\n1,2,3\n", "line 1: its columns id and key may both be the key"},
      {"time,id,size\n1,7\n", "line 2: 2 fields; the header has 3"},
      {"time,id,size\n1,7,8,9\n", "line 2: 4 fields; the header has 3"},
      {"time,id,size\n1,,8\n", "line 2: field id is \"\"; want a key"},
      {"time,id,size\n1,7,x\n", "line 2: field size is \"x\"; want a whole number"},
      {"time,id,size\n1,7,-8\n", "line 2: field size is \"-8\""},
      {"time,id,size\n1,7,8.5\n", "line 2: field size is \"8.5\""},
      {"time,id,size\n1,7,4294967296\n", "line 2: field size is \"4294967296\""},
      {"time,id,size\nnoon,7,8\n", "line 2: field time is \"noon\""},
      {"id,op\n7,peek\n", "line 2: field op is \"peek\"; want get, put"},
      {"id,op\n7,1\n", "say what it means, such as put=1"},
      {"id,size\n1.23457E+12,8\n", "line 2: field id is \"1.23457E+12\"; want a key that is not rounded"},
      {"id,count\n1,\n", "line 2: field count is \"\""},
      {"offset,size\n,4096\n", "line 2: field offset is \"\""},
      {"offset,size\nnan,4096\n", "line 2: field offset is \"nan\""},
      {"lba,len\n-,4096\n", "line 2: field lba is \"-\""},
      {"offset,size\n1.23457E+12,4096\n",
       "field offset is \"1.23457E+12\"; want a whole number up to 18446744073709551615, not a rounded one"},
      {"id,size\n1,1.23457E+06\n", "field size is \"1.23457E+06\""},
      {"time,id\n1.7E+09,1\n", "want a time that is not rounded"},
      {"time,id,size,size\n1,2,3,4\n", "size is the name of two columns; say which is what by number"},
      {"id,time,id\n1,2,3\n", "id is the name of two columns; say which is the key by number, such as"},
      {"id,time,lba,size,op\n1,2,3,4,get\n", "its column id may be the key, and lba the place on a device"},
      {"key;op;extent_bytes\n1;get;4096\n", "this was mezz_csv, and another program wrote it anew"},
      {"id,size\n\"7,8\n", "a quote opens in this record and is not closed"},
      {"id,size\r1,2\r3,4\r", "single carriage returns"}};
  for (const auto& [content, message] : kRefused) EXPECT_THAT(Refused(content, "csv"), HasSubstr(message)) << content;
  const std::pair<const char*, const char*> kFormats[] = {
      {"csv:key", "\"key\" is not understood"},
      {"csv:color=red", "it names key, time"},
      {"csv:key=id,key=id", "key is named twice"},
      {"csv:delimiter=;,delimiter=tab", "delimiter is named twice"},
      {"csv:time_unit=s,time_unit=ms", "time_unit is named twice"},
      {"csv:key=id,device=time", "device goes with offset or sector"},
      {"csv:key=id,sectors=size", "sectors goes with offset or sector"},
      {"csv:offset=id,sector=time,sectors=size", "offset (bytes) and sector (512 bytes) are one too many"},
      {"csv:offset=id,size=512,sectors=size", "size (bytes) and sectors (512 bytes) are one too many"},
      {"csv:delimiter=ab", "delimiter is one character"},
      {"csv:time_unit=h", "time_unit is s, ms"},
      {"csv:key=nope", "key=nope is no column of its header; there are time, id, size"},
      {"csv:key=#4", "key=#4 is no column: the first line has 3"},
      {"csv:key=id,size=id", "size=id is the column that key is, too"}};
  for (const auto& [format, message] : kFormats)
    EXPECT_THAT(Refused("time,id,size\n1,7,8\n", format), HasSubstr(message)) << format;
}

// Where columns are named by number, only "# " begins a comment: a key may begin with '#'.
TEST_F(CsvReader, ALineOfANumberSignIsAHeaderACommentOrARecord) {
  EXPECT_EQ(Read("# of a day\n#when;what\n1;7\n", "csv:key=what,time=when,delimiter=;"),
            Read("when;what\n1;7\n", "csv:key=what,time=when"));
  EXPECT_EQ(Read("#a\n#b\n", "csv:key=#1").size(), 2u);
  EXPECT_EQ(Read("#a\n#b\n", "csv:key=#1,header=no").size(), 2u);
  EXPECT_EQ(Read("# of a day\n1,7\n", "csv:key=#2,time=#1"), Read("1,7\n", "csv:key=#2,time=#1"));
}

// A constant is no name of a column, and a first line of words above numbers is a header, whatever the words.
TEST_F(CsvReader, FindsTheHeaderOfColumnsByNumber) {
  EXPECT_EQ(Read("17,4096\n18,4096\n17,4096\n", "csv:key=#1,size=4096").size(), 3u);
  EXPECT_EQ(Read("abc,get\nabd,get\nabc,get\n", "csv:key=#1,op=get").size(), 3u);
  EXPECT_EQ(Read("1,4096,0\n2,8192,1\n", "csv:key=#2,time=#1,size=4096,op=#3,get=0,put=1,time_unit=ms").size(), 2u);
  EXPECT_THAT(Read("sku\n17\n18\n17\n", "csv:key=#1"),
              ElementsAre(Request{.key = 17}, Request{.key = 18}, Request{.key = 17}));
  EXPECT_EQ(Read("# made by a, b, 2026\n1,2,3\n2,2,3\n", "csv:key=#2,size=#3").size(), 2u);
  EXPECT_EQ(Read("abc\nabd\n", "csv:key=#1").size(), 2u);
  EXPECT_EQ(Read("abc,1\n17,2\n", "csv:key=#1,size=#2").size(), 2u) << "a number stands in the first line";
  EXPECT_THAT(Remarks("17\t1\n18\t2\n", "csv:key=#1,size=#2"),
              ElementsAre("read as CSV with tabs without a header: key=#1, size=#2"));
}

TEST_F(CsvReader, TakesTheDelimiterThatThereIsMostOf) {
  const auto keys = [&](const std::string& content, const std::string& format) {
    std::vector<uint64_t> read;
    for (const Request& request : Read(content, format)) read.push_back(request.key);
    return read;
  };
  EXPECT_THAT(keys("1,5;42;100\n2,5;43;100\n", "csv:key=#2"), ElementsAre(42, 43));
  EXPECT_THAT(keys("1\ta,b\t100\n2\ta,c\t200\n", "csv:key=#2"), ElementsAre(HashKey("a,b"), HashKey("a,c")));
}

// A clock may begin at 0, which tells no unit; a time that is missing is the one before.
TEST_F(CsvReader, BeginsAtZero) {
  const std::vector<Request> read = Read("ts,id\n0,1\n1700000000000,2\n,3\n");
  EXPECT_THAT(read, ElementsAre(Request{.key = 1}, Request{.key = 2, .time_us = 1'700'000'000 * kSecondUs},
                                Request{.key = 3, .time_us = 1'700'000'000 * kSecondUs}));
}

// Text in columns is no list of keys, whatever its name.
TEST_F(CsvReader, AsksWhichColumnIsTheKeyWhereNoneIsKnown) {
  for (const char* content : {"0,20,136\n1,25,264\n", "time,,size\n1,2,3\n", "0\t20\n1\t25\n", "0 20\n1 25\n",
                              "\xef\xbb\xbfwhen;what\n1;2\n", "# of a day\n0|20\n"}) {
    for (const char* name : {"trace", "trace.txt", "trace.keys"}) {
      for (const bool skip_bad : {false, true}) {
        const Status status = ReadRequests(folder_.Write(name, content), {.skip_bad = skip_bad}).status;
        EXPECT_THAT(status.message(), HasSubstr("no column is known as the key; say which")) << content << name;
      }
    }
  }
  EXPECT_THAT(Refused("time,id\r1,2\r"), HasSubstr("single carriage returns"));
}

TEST_F(CsvReader, SkipsDamagedRecordsAlone) {
  const RequestsRead read =
      ReadAs("id,size\n1,2\nx\n\"3\n4,5\n" + std::string(70'000, '6') + "\n7,8\n", {.skip_bad = true});
  EXPECT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.skipped, 2u) << "one of one field, and a quote that a line without end follows";
  EXPECT_THAT(read.requests, ElementsAre(Request{.key = 1, .value_bytes = 2}, Request{.key = 4, .value_bytes = 5},
                                         Request{.key = 7, .value_bytes = 8}));
  std::string open = "id,size\n1,2\n\"3,4\n";
  for (int i = 0; i < 20'000; ++i) open += "5,6\n";
  const RequestsRead rest = ReadAs(open, {.skip_bad = true});
  EXPECT_EQ(rest.skipped, 1u) << "a quote that stays open costs its line alone";
  EXPECT_EQ(rest.requests.size(), 1u + 20'000);
  EXPECT_THAT(Refused("id,size\n1,2\n\"3,4\n5,6\n"),
              HasSubstr("line 3: a quote opens in this record and is not closed"));
}

// Devices by number are their own, those by name are others, in whatever order they come.
TEST_F(CsvReader, KeepsDevicesApart) {
  const std::vector<Request> read = Read("device,offset,size\n3,0,4096\na,0,4096\n0,0,4096\n3,0,4096\nb,0,4096\n");
  ASSERT_EQ(read.size(), 5u);
  EXPECT_EQ(read[0], read[3]);
  std::set<uint64_t> keys;
  for (const Request& request : read) keys.insert(request.key);
  EXPECT_EQ(keys.size(), 4u);
}

// Numbers in columns may be something else.
TEST_F(CsvReader, SaysWhatItTookByItsShape) {
  const auto told = testing::Contains(HasSubstr("by the shape of its lines alone"));
  EXPECT_THAT(Remarks("1 17 4096 8 1\n2 18 4096 8 0\n"), told);
  EXPECT_THAT(Remarks("1538323200,80,16,0,3\n"), told);
  EXPECT_THAT(Remarks("1\t17\t3\t0.5\n"), told);
  EXPECT_THAT(Remarks("1 17 0 5\n"), told);
  EXPECT_THAT(Remarks("1 17 4096 8 1\n", "mqsim"), testing::Not(told));
  EXPECT_THAT(Remarks("Timestamp,Offset,Size,IOType,VolumeID\n1538323200,80,16,0,3\n"), testing::Not(told));
}

// Published files to which somebody gave the header of their description.
TEST_F(CsvReader, KnowsPublishedTracesByTheirHeader) {
  EXPECT_EQ(Read("Timestamp,Offset,Size,IOType,VolumeID\n1538323200,80,16,0,3\n"),
            Read("1538323200,80,16,0,3\n", "tencent_cbs"));
  EXPECT_EQ(Read("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
                 "128166372003061629,usr,0,Read,7014609920,24576,41286\n"),
            Read("128166372003061629,usr,0,Read,7014609920,24576,41286\n", "msr"));
}

TEST_F(CsvReader, ReadsBlockIo) {
  EXPECT_THAT(Read("time,device,offset,size,op\n1,2,1000,512,R\n1,2,0,0,R\n"),
              ElementsAre(Request{.key = (2ull << kDeviceShift) + 1000, .extent_bytes = 512, .time_us = kSecondUs}));
  EXPECT_THAT(Read("lba,sectors,disk\n8,4,sda\n8,4,sdb\n"),
              ElementsAre(Request{.key = ((kDevicesMax - 1) << kDeviceShift) + 4096, .extent_bytes = 2048},
                          Request{.key = ((kDevicesMax - 2) << kDeviceShift) + 4096, .extent_bytes = 2048}));
}

TEST_F(CsvReader, ReadsPublishedBlockTraces) {
  const std::string msr =
      "128166372003061629,hm,1,Read,383496192,32768,1331\n128166372016382155,hm,0,Write,2822144,4096,1\n";
  EXPECT_EQ(FormatOf(msr), "msr");
  EXPECT_THAT(Read(msr), ElementsAre(Request{.key = 383496192, .extent_bytes = 32768, .time_us = 12816637200306162},
                                     Request{.key = (1ull << kDeviceShift) + 2822144,
                                             .operation = Operation::kPut,
                                             .extent_bytes = 4096,
                                             .time_us = 12816637201638215}));
  const std::string alibaba = "64,R,126703644672,4096,1577808000000046\n";
  EXPECT_EQ(FormatOf(alibaba), "alibaba_block");
  EXPECT_THAT(Read(alibaba),
              ElementsAre(Request{
                  .key = (64ull << kDeviceShift) + 126703644672, .extent_bytes = 4096, .time_us = 1577808000000046}));
  const std::string tencent = "1538323199,105352008,8,1,1576\n";
  EXPECT_EQ(FormatOf(tencent), "tencent_cbs");
  EXPECT_THAT(Read(tencent), ElementsAre(Request{.key = (1576ull << kDeviceShift) + 105352008ull * 512,
                                                 .operation = Operation::kPut,
                                                 .extent_bytes = 4096,
                                                 .time_us = 1538323199 * kSecondUs}));
  const std::string fiu = "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n";
  EXPECT_EQ(FormatOf(fiu), "fiu");
  EXPECT_THAT(
      Read(fiu),
      ElementsAre(Request{.key = 283193184ull * 512, .extent_bytes = 4096, .time_us = 89968195792, .client = 20782}));
  const std::string systor = "Timestamp,Response,IOType,LUN,Offset,Size\n1455592800.5,0.001,W,3,4096,512\n";
  EXPECT_EQ(FormatOf(systor), "systor17");
  EXPECT_THAT(Read(systor), ElementsAre(Request{.key = (3ull << kDeviceShift) + 4096,
                                                .operation = Operation::kPut,
                                                .extent_bytes = 512,
                                                .time_us = 1455592800'500'000}));
}

TEST_F(CsvReader, ReadsPublishedCdnTraces) {
  const std::vector<Request> want = {{.key = HashKey("-833"), .value_bytes = 900, .time_us = 7 * kSecondUs}};
  EXPECT_EQ(FormatOf("7\t-833\tjpeg\t900\t0.01\n"), "wiki_cdn");
  EXPECT_EQ(Read("7\t-833\tjpeg\t900\t0.01\n"), want);
  EXPECT_EQ(FormatOf("7\t-833\t900\t0.01\n"), "wiki_cdn_text");
  EXPECT_EQ(Read("7\t-833\t900\t0.01\n"), want);
  EXPECT_EQ(
      Read("relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n7\t-833\tjpeg\t900\t.1\n"),
      want);
  const std::string meta =
      "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,SamplingRate,"
      "cache_hit\n7,-833,1,900,1000,100,-1,-1,60,1.5,0\n";
  EXPECT_EQ(FormatOf(meta), "meta_cdn");
  EXPECT_EQ(Read(meta), want);
  EXPECT_EQ(FormatOf("7,k1,1,900,1000,100,-1,-1,60,1.5,0\n"), "meta_cdn");
}

}  // namespace
}  // namespace mezz
