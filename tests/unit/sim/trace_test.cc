// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <unordered_map>

#include "admission/curves/key_map.h"
#include "test_traces.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/requests/cut_extents.h"

namespace mezz::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Status LoadWith(const std::vector<uint64_t>& keys, const LoadOptions& options, LoadedTrace* trace) {
  VectorSource source = VectorSource::OfKeys(keys);
  return LoadedTrace::Load(&source, options, trace);
}

TEST(KeyMap, NumbersKeysInTheOrderTheyCome) {
  std::mt19937_64 random(test::Seed());
  KeyMap map;
  std::unordered_map<uint64_t, uint32_t> model;
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t key = random() % 30'000 * (random() % 2 == 0 ? 1 : UINT64_MAX / 7);
    const auto number = static_cast<uint32_t>(model.size());
    ASSERT_EQ(map.Number(key), model.emplace(key, number).first->second);
    ASSERT_EQ(map.size(), model.size());
  }
}

TEST(LoadedTrace, NumbersBlocksByFirstAccess) {
  const LoadedTrace trace = LoadKeys({70, 5, 70, UINT64_MAX, 5, 0});
  EXPECT_THAT(trace.accesses(), ElementsAre(0, 1, 0, 2, 1, 3));
  EXPECT_THAT(trace.keys(), ElementsAre(70, 5, UINT64_MAX, 0));
  EXPECT_EQ(trace.bytes(3), 4096u);
  EXPECT_EQ(trace.role(0), BlockRole::kData);
  EXPECT_FALSE(trace.has_time());
  EXPECT_EQ(trace.footprint_bytes(), 4u * 4096);
}

TEST(LoadedTrace, TakesSizesRolesAndTimesWhereTheTraceHasThem) {
  VectorSource source({{.key = 1},
                       {.key = 2, .value_bytes = 100, .time_us = 7},
                       {.key = 3, .role = BlockRole::kIndex},
                       {.key = 1, .time_us = 9}});
  LoadedTrace trace;
  ASSERT_TRUE(LoadedTrace::Load(&source, {}, &trace).ok());
  EXPECT_EQ(trace.bytes(0), 4096u);
  EXPECT_EQ(trace.bytes(1), 100u);
  EXPECT_EQ(trace.bytes(2), 4096u);
  EXPECT_EQ(trace.role(1), BlockRole::kData);
  EXPECT_EQ(trace.role(2), BlockRole::kIndex);
  EXPECT_THAT(trace.time_us(), ElementsAre(0, 7, 0, 9));
  EXPECT_EQ(trace.footprint_bytes(), 2u * 4096 + 100);
  EXPECT_DOUBLE_EQ(trace.mean_access_bytes(), (3 * 4096 + 100) / 4.0);
}

// A look-up that missed tells 0, the write behind it the size; a size that changes later does not count.
TEST(LoadedTrace, GivesAKeyTheFirstSizeThatIsNotZero) {
  VectorSource source({{.key = 1},
                       {.key = 2, .value_bytes = 4096},
                       {.key = 1, .value_bytes = 82},
                       {.key = 1, .value_bytes = 90},
                       {.key = 3},
                       {.key = 3}});
  LoadedTrace trace;
  ASSERT_TRUE(LoadedTrace::Load(&source, {}, &trace).ok());
  EXPECT_EQ(trace.bytes(0), 82u);
  EXPECT_EQ(trace.bytes(1), 4096u);
  EXPECT_EQ(trace.bytes(2), 4096u) << "no request tells it";
  EXPECT_EQ(trace.footprint_bytes(), 82u + 2 * 4096);
  EXPECT_THAT(trace.remarks(), ElementsAre("the size of 1 key changes; each has the first that is not 0"));
}

TEST(LoadedTrace, RefusesATraceWithoutReuseAndOneWithoutRequests) {
  LoadedTrace trace;
  EXPECT_THAT(LoadWith({1, 2, 3}, {}, &trace).message(), HasSubstr("no cache helps"));
  EXPECT_THAT(LoadWith({}, {}, &trace).message(), HasSubstr("no requests"));
}

TEST(LoadedTrace, RefusesWhatDoesNotFitAndSaysHowToSample) {
  std::vector<uint64_t> keys(200'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i % 1000;
  LoadedTrace trace;
  const Status refused = LoadWith(keys, {.memory_bytes_max = 100 << 10}, &trace);
  EXPECT_EQ(refused.code(), Status::Code::kNoSpace);
  EXPECT_THAT(refused.message(), HasSubstr("--sample=0.01"));
}

TEST(LoadedTrace, SamplesBlocksNotAccesses) {
  std::mt19937_64 random(test::Seed());
  std::vector<uint64_t> keys(200'000);
  std::map<uint64_t, uint32_t> wanted;
  for (uint64_t& key : keys) ++wanted[key = random() % 10'000];
  LoadedTrace trace;
  ASSERT_TRUE(LoadWith(keys, {.sample = 0.1}, &trace).ok());
  EXPECT_GT(trace.unique(), 800u);  // 1,000 expected, with a deviation of 30
  EXPECT_LT(trace.unique(), 1200u);
  EXPECT_EQ(trace.skipped_accesses() + trace.accesses().size(), keys.size());
  std::vector<uint32_t> counts(trace.unique());
  for (const BlockId block : trace.accesses()) ++counts[block];
  for (BlockId block = 0; block < trace.unique(); ++block) EXPECT_EQ(counts[block], wanted[trace.key(block)]);
}

TEST(CutExtents, GivesEveryBlockThatIsTouched) {
  auto source = std::make_unique<VectorSource>(
      std::vector<Request>{{.key = 4095, .extent_bytes = 2},     // the end of one, the start of the next
                           {.key = 8192, .extent_bytes = 4096},  // exactly one
                           {.key = 7, .value_bytes = 3},         // no extent
                           {.key = 512, .operation = Operation::kPut, .extent_bytes = 8192, .time_us = 5}});
  const auto cut = CutExtents(std::move(source), 4096);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<uint64_t> keys;
    Request request;
    while (cut->Next(&request)) {
      EXPECT_EQ(request.extent_bytes, 0u);
      keys.push_back(request.key);
    }
    EXPECT_THAT(keys, ElementsAre(0, 1, 2, 7, 0, 1, 2));
    EXPECT_EQ(request.operation, Operation::kPut);
    EXPECT_EQ(request.time_us, 5u);
    ASSERT_TRUE(cut->Rewind().ok());
  }
}

}  // namespace
}  // namespace mezz::sim
