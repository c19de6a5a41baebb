// SPDX-License-Identifier: Apache-2.0
// The new formats' public samples, as their publishers and an independent count describe them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../../support/public_traces.h"
#include "../../support/requests.h"
#include "workloads/requests/cut_extents.h"

namespace mezz {
namespace {

RequestsRead ReadSample(const std::string& path) {
  RequestsRead read = ReadRequests(path);
  EXPECT_TRUE(read.status.ok()) << read.status.message();
  return read;
}

std::map<Operation, uint64_t> Mix(const std::vector<Request>& requests) {
  std::map<Operation, uint64_t> mix;
  for (const Request& request : requests) ++mix[request.operation];
  return mix;
}

size_t DistinctKeys(const std::vector<Request>& requests) {
  std::set<uint64_t> keys;
  for (const Request& request : requests) keys.insert(request.key);
  return keys.size();
}

TEST(PublicSamples, Twitter) {
  const std::string path = PublicTracePath("twitter/twitter_sample.csv");
  MEZZ_SKIP_WITHOUT_TRACE(path);
  const auto requests = ReadSample(path).requests;
  EXPECT_EQ(Mix(requests), (std::map<Operation, uint64_t>{{Operation::kGet, 93}, {Operation::kPut, 7}}));
  EXPECT_EQ(DistinctKeys(requests), 85u);
}

TEST(PublicSamples, MetaKv) {
  const std::string path = PublicTracePath("meta/kv_traces_1.csv");
  MEZZ_SKIP_WITHOUT_TRACE(path);
  const auto requests = ReadSample(path).requests;
  EXPECT_EQ(requests.size(), 691u);
  EXPECT_EQ(DistinctKeys(requests), 52u);
  EXPECT_EQ(Mix(requests)[Operation::kDelete], 3u) << "two rows, one of two operations";
}

TEST(PublicSamples, MetaBlock) {
  const std::string path = PublicTracePath("meta/block_traces_1.csv");
  MEZZ_SKIP_WITHOUT_TRACE(path);
  const auto requests = ReadSample(path).requests;
  EXPECT_EQ(requests.size(), 1023u);
  EXPECT_EQ(Mix(requests)[Operation::kPut], 400u);
  std::set<uint64_t> blocks;
  for (const Request& request : requests) blocks.insert(request.key / kExtentBytesMax);
  EXPECT_EQ(blocks.size(), 625u);
}

TEST(PublicSamples, VscsiEqualsItsCsv) {
  const std::string vscsi = PublicTracePath("cloudphysics/cloudPhysicsIO.vscsi.zst");
  const std::string csv = PublicTracePath("cloudphysics/cloudPhysicsIO.csv.zst");
  MEZZ_SKIP_WITHOUT_TRACE(vscsi);
  MEZZ_SKIP_WITHOUT_TRACE(csv);
  const auto binary = ReadSample(vscsi).requests, text = ReadSample(csv).requests;
  ASSERT_EQ(binary.size(), 113'872u);
  ASSERT_EQ(text.size(), binary.size());
  for (size_t i = 0; i < binary.size(); ++i) {
    Request whole_second = binary[i];
    whole_second.time_us = whole_second.time_us / 1'000'000 * 1'000'000;
    ASSERT_EQ(whole_second, text[i]) << i;
  }
}

TEST(PublicSamples, Mqsim) {
  const std::string path = PublicTracePath("mqsim/tpcc-small.trace");
  MEZZ_SKIP_WITHOUT_TRACE(path);
  const auto requests = ReadSample(path).requests;
  EXPECT_EQ(requests.size(), 6999u);
  EXPECT_EQ(Mix(requests)[Operation::kGet], 4381u);
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(path, "", &source).ok());
  source = CutExtents(std::move(source), 4096);
  std::vector<Request> blocks;
  for (Request request; source->Next(&request);) blocks.push_back(request);
  EXPECT_EQ(blocks.size(), 20'669u);
  EXPECT_EQ(DistinctKeys(blocks), 20'470u) << "blocks of different devices differ";
}

}  // namespace
}  // namespace mezz
