// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "../../support/requests.h"
#include "../sim/test_traces.h"
#include "tests/support/temporary_folder.h"
#include "workloads/trace/info.h"
#include "workloads/trace/trace_writer.h"

namespace mezz {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Request RandomRequest(std::mt19937_64& random) {
  const auto maybe = [&](uint64_t bits) { return random() % 3 == 0 ? 0 : random() >> (64 - bits); };
  Request r{.key = random() % 2 == 0 ? random() % 50 : random(),
            .operation = static_cast<Operation>(random() % kWordsOf<Operation>.size()),
            .key_bytes = static_cast<uint32_t>(maybe(32)),
            .value_bytes = static_cast<uint32_t>(maybe(32)),
            .scan_length = static_cast<uint32_t>(maybe(32)),
            .batch_left = static_cast<uint32_t>(maybe(3)),
            .time_us = maybe(48),
            .role = static_cast<BlockRole>(random() % kBlockRoles),
            .client = static_cast<uint32_t>(maybe(32)),
            .column_family = static_cast<uint32_t>(maybe(32)),
            .level = static_cast<int8_t>(static_cast<int>(random() % 129) - 1),
            .recorded = static_cast<Recorded>(random() % 3),
            .no_insert = random() % 2 == 0};
  if (random() % 4 == 0) {
    r.key /= 2;
    r.extent_bytes = static_cast<uint32_t>(1 + random() % kExtentBytesMax);
  }
  return r;
}

// What is left of a request in a format.
Request Kept(const std::string& format, const Request& r) {
  if (format == "mezz_csv") return r;
  if (format == "oracle_general") {
    return {.key = r.key, .value_bytes = r.value_bytes, .time_us = r.time_us / 1'000'000 * 1'000'000};
  }
  if (format == "rocksdb_block_csv") {
    return {.key = r.key,
            .value_bytes = r.value_bytes,
            .time_us = r.time_us,
            .role = r.role == BlockRole::kBlob ? BlockRole::kData : r.role,
            .column_family = r.column_family,
            .level = r.level,
            .recorded = r.recorded == Recorded::kHit ? Recorded::kHit : Recorded::kMiss,
            .no_insert = r.no_insert};
  }
  return {.key = r.key};
}

// What libCacheSim would drop has a size: its object's first, or 1.
void GiveSizes(const std::vector<Request>& requests, std::vector<Request>* want) {
  std::map<uint64_t, uint32_t> first;
  for (const Request& r : requests) {
    uint32_t& bytes = first[r.key];
    bytes = bytes == 0 ? r.value_bytes : bytes;
  }
  for (Request& r : *want) {
    if (r.value_bytes == 0) r.value_bytes = std::max(1u, first[r.key]);
  }
}

class Convert : public ::testing::Test {
 protected:
  Status Write(const std::string& format, const std::string& name, const std::vector<Request>& requests) {
    std::unique_ptr<TraceWriter> writer;
    MEZZ_RETURN_IF_ERROR(OpenTraceWriter({.path = folder_.Path(name), .format = format}, &writer));
    for (const Request& request : requests) MEZZ_RETURN_IF_ERROR(writer->Write(request));
    return writer->Finish();
  }

  TemporaryFolder folder_;
};

TEST_F(Convert, GivesBackWhatEachFormatKeepsWhateverTheCompression) {
  std::mt19937_64 random(test::Seed());
  for (const WriterFormat& format : WriterFormats()) {
    for (const std::string suffix : {"", ".zst", ".gz", ".xz"}) {
      SCOPED_TRACE(std::string(format.name) + suffix);
      const std::string name(format.name);
      std::vector<Request> requests, want;
      for (uint64_t left = 1 + random() % 20'000; left > 0; --left) {
        Request request = RandomRequest(random);
        if (!format.takes_extents) request.extent_bytes = 0;
        requests.push_back(request);
        want.push_back(Kept(name, request));
      }
      if (name == "oracle_general") GiveSizes(requests, &want);
      ASSERT_EQ(Write(name, "out" + suffix, requests).message(), "");
      const RequestsRead read = ReadRequests(folder_.Path("out" + suffix), {.format = name});
      ASSERT_TRUE(read.status.ok()) << read.status.message();
      ASSERT_EQ(read.requests, want);
    }
  }
}

TEST_F(Convert, SamplesSayTheirShare) {
  std::string content = "key,op,extent_bytes,time_us\n";
  for (int i = 0; i < 4000; ++i) content += std::to_string(i) + ",get,0,0\n";
  const std::string whole = folder_.Write("whole", content);
  ConvertSummary summary;
  const auto rate_of = [&](const std::string& path) {
    std::unique_ptr<RequestSource> source;
    EXPECT_TRUE(OpenTrace(path, "", &source).ok());
    Request request;
    EXPECT_TRUE(source->Next(&request));
    return source->sample_rate();
  };
  EXPECT_EQ(rate_of(whole), 1);
  ASSERT_TRUE(ConvertTrace({.path = whole, .to = "mezz_csv", .out = folder_.Path("s"), .rate = 0.5}, &summary).ok());
  EXPECT_EQ(rate_of(folder_.Path("s")), 0.5);
  TraceInfo info;
  ASSERT_TRUE(InspectTrace({.path = folder_.Path("s")}, &info).ok());
  EXPECT_THAT(info.remarks, ElementsAre("a sample of 0.5 of the keys, so its sizes are a sample's"));
  ASSERT_TRUE(
      ConvertTrace({.path = folder_.Path("s"), .to = "mezz_csv", .out = folder_.Path("t"), .rate = 0.25, .seed = 2},
                   &summary)
          .ok());
  EXPECT_EQ(rate_of(folder_.Path("t")), 0.125) << "a sample of a sample";
  ConvertSummary again;
  ASSERT_TRUE(
      ConvertTrace({.path = folder_.Path("s"), .to = "mezz_csv", .out = folder_.Path("u"), .rate = 0.5}, &again).ok());
  EXPECT_EQ(rate_of(folder_.Path("u")), 0.25);
  EXPECT_NEAR(static_cast<double>(again.requests), 1000, 120) << "by the same seed, too";
}

TEST_F(Convert, RefusesEndingsThatPromiseWhatIsNotWritten) {
  ConvertSummary summary;
  for (const char* name : {"x.bz2", "x.lz4", "x.zstd", "x.GZ", "x.tgz"}) {
    const Status status =
        ConvertTrace({.path = folder_.Write("keys", "1\n2\n"), .to = "text", .out = folder_.Path(name)}, &summary);
    EXPECT_THAT(status.message(), HasSubstr("files are compressed that end in .zst, .gz or .xz")) << name;
  }
}

TEST_F(Convert, SaysWhatTheFormatLacks) {
  ConvertSummary summary;
  const std::string blobs = folder_.Write("b", "key,op,extent_bytes,time_us,role\n1,get,0,0,blob\n2,get,0,0,data\n");
  ASSERT_TRUE(ConvertTrace({.path = blobs, .to = "rocksdb_block_csv", .out = folder_.Path("o")}, &summary).ok());
  EXPECT_THAT(summary.remarks,
              ElementsAre("1 requests for blobs are written as data, because the format has no blobs"));
  const std::string lineage = folder_.Write(
      "l", "event,block,role,bytes,keys,time_us,parents\nflushed,1.0,data,9,1,0,\nread,1.0,data,9,1,1,\n");
  for (const double rate : {1.0, 0.999}) {
    ASSERT_TRUE(
        ConvertTrace({.path = lineage, .to = "mezz_csv", .out = folder_.Path("m"), .rate = rate}, &summary).ok());
    EXPECT_THAT(summary.remarks, Contains("1 events of flushes, compactions and deleted files are left out"));
  }
}

TEST_F(Convert, CutsDevicesAtPowersOfTwo) {
  ConvertSummary summary;
  const std::string io = folder_.Write("io", "device,offset,size\n1,0,12288\n");
  EXPECT_THAT(
      ConvertTrace({.path = io, .to = "text", .out = folder_.Path("o"), .unit_bytes = 12288}, &summary).message(),
      HasSubstr("--unit=12288"));
}

TEST_F(Convert, SaysWhichSizesItMadeUp) {
  ConvertSummary summary;
  ConvertOptions options{
      .path = folder_.Write("a.csv", "id\n7\n8\n7\n"), .to = "oracle_general", .out = folder_.Path("b")};
  ASSERT_TRUE(ConvertTrace(options, &summary).ok());
  ASSERT_EQ(summary.remarks.size(), 2u) << "how the CSV was read, and this";
  EXPECT_THAT(summary.remarks[1], HasSubstr("3 requests have no size in the trace and are written with 1 bytes"));
  EXPECT_EQ(ReadRequests(options.out, {.format = "oracle_general"}).requests[0].value_bytes, 1u);
  options.unknown_bytes = 512;
  ASSERT_TRUE(ConvertTrace(options, &summary).ok());
  EXPECT_EQ(ReadRequests(options.out, {.format = "oracle_general"}).requests[0].value_bytes, 512u);
}

// Each record must point to the next of its object, counted from 1.
TEST_F(Convert, WritesWhenEachObjectComesNext) {
  ASSERT_TRUE(Write("oracle_general", "out", {{.key = 5}, {.key = 6}, {.key = 5}, {.key = 5}}).ok());
  std::ifstream file(folder_.Path("out"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.size(), 4u * 24);
  const int64_t want[] = {3, -1, 4, -1};
  for (size_t i = 0; i < 4; ++i) {
    int64_t next = 0;
    std::memcpy(&next, bytes.data() + 24 * i + 16, sizeof(next));
    EXPECT_EQ(next, want[i]) << i;
  }
}

TEST_F(Convert, CutsExtentsUnlessTheFormatTakesThem) {
  const std::string path = folder_.Write("P3.lis", "8 16 0 0\n");
  ConvertSummary summary;
  ASSERT_TRUE(ConvertTrace({.path = path, .to = "text", .out = folder_.Path("out.keys")}, &summary).ok());
  EXPECT_EQ(summary.requests, 2u);
  EXPECT_EQ(ReadRequests(folder_.Path("out.keys")).requests, (std::vector<Request>{{.key = 1}, {.key = 2}}));
  ASSERT_TRUE(ConvertTrace({.path = path, .to = "mezz_csv", .out = folder_.Path("out")}, &summary).ok());
  EXPECT_EQ(ReadRequests(folder_.Path("out")).requests, ReadRequests(path).requests);
}

// All requests for the sampled keys in their order, and none for the others; the same keys as another sampling finds.
TEST_F(Convert, SamplesWholeKeys) {
  std::mt19937_64 random(test::Seed());
  std::vector<Request> requests;
  for (int i = 0; i < 30'000; ++i)
    requests.push_back({.key = random() % 3000, .time_us = static_cast<uint64_t>(i) + 1});
  ASSERT_TRUE(Write("mezz_csv", "in", requests).ok());
  ConvertSummary summary;
  ASSERT_TRUE(
      ConvertTrace({.path = folder_.Path("in"), .to = "mezz_csv", .out = folder_.Path("out"), .rate = 0.1}, &summary)
          .ok());
  const auto sampled = ReadRequests(folder_.Path("out")).requests;
  std::set<uint64_t> keys;
  for (const Request& request : sampled) keys.insert(request.key);
  EXPECT_NEAR(static_cast<double>(keys.size()), 300, 100);
  std::vector<Request> want;
  for (const Request& request : requests) {
    if (keys.contains(request.key)) want.push_back(request);
  }
  EXPECT_EQ(sampled, want);
  EXPECT_EQ(summary.requests, want.size());

  LoadedTrace loaded;
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(folder_.Path("in"), "", &source).ok());
  ASSERT_TRUE(LoadedTrace::Load(source.get(), {.sample = 0.1, .seed = 1}, &loaded).ok());
  EXPECT_EQ(std::set<uint64_t>(loaded.keys().begin(), loaded.keys().end()), keys) << "mezz_sim --sample keeps others";
}

TEST_F(Convert, KeepsBatchesWholeWhenSampling) {
  std::mt19937_64 random(test::Seed());
  std::vector<Request> requests;
  while (requests.size() < 5000) {
    const auto batch = static_cast<uint32_t>(random() % 5);
    for (uint32_t left = batch; left > 0; --left)
      requests.push_back({.key = random() % 100, .operation = Operation::kMultiGet, .batch_left = left - 1});
    requests.push_back({.key = random() % 100});
  }
  ASSERT_TRUE(Write("mezz_csv", "in", requests).ok());
  ConvertSummary summary;
  ASSERT_TRUE(
      ConvertTrace({.path = folder_.Path("in"), .to = "mezz_csv", .out = folder_.Path("out"), .rate = 0.3}, &summary)
          .ok());
  uint32_t left = 0;
  for (const Request& request : ReadRequests(folder_.Path("out")).requests) {
    if (left > 0) {
      ASSERT_EQ(request.operation, Operation::kMultiGet);
      ASSERT_EQ(request.batch_left, left - 1);
    }
    left = request.batch_left;
  }
  EXPECT_EQ(left, 0u);
}

TEST_F(Convert, LeavesNoFileWhenItFails) {
  const std::string path = folder_.Write("in", "1\nx\n");
  ConvertSummary summary;
  const auto convert = [&](ConvertOptions options) {
    options.path = path;
    const Status status = ConvertTrace(options, &summary);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  const std::string out = folder_.Path("out");
  EXPECT_THAT(convert({.format = "text", .to = "text", .out = out}), HasSubstr(path + ", line 2"));
  EXPECT_THAT(convert({.to = "arc", .out = out}), HasSubstr("--to=arc cannot be written; one of mezz_csv"));
  EXPECT_THAT(convert({.out = out}), HasSubstr("--to is missing"));
  EXPECT_THAT(convert({.to = "text"}), HasSubstr("--out is missing"));
  EXPECT_THAT(convert({.to = "text", .out = path}), HasSubstr("is the trace itself"));
  EXPECT_THAT(convert({.to = "text", .out = folder_.Path("none/out")}), HasSubstr("folder is missing"));
  EXPECT_THAT(convert({.to = "text", .out = out, .rate = 0}), HasSubstr("--rate=0 is out of range"));
  EXPECT_THAT(convert({.format = "text", .skip_bad = true, .to = "text", .out = out, .rate = 1e-9}),
              HasSubstr("none of its requests are left at --rate=1e-09"));
  EXPECT_EQ(Write("oracle_general", "out", {{.time_us = 5'000'000'000'000'000}}).code(),
            Status::Code::kInvalidArgument);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.Path(""))) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "only the trace itself is left";
}

}  // namespace
}  // namespace mezz
