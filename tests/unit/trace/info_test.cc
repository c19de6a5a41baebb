// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "../sim/test_traces.h"
#include "tests/support/temporary_folder.h"
#include "workloads/trace/info_report.h"
#include "workloads/trace/stack_distances.h"
#include "workloads/trace/zipf_fit.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Distances by the definition: a list in the order of last use.
std::vector<uint64_t> NaiveDistances(const std::vector<uint64_t>& keys) {
  std::vector<uint64_t> recent, distances;
  for (const uint64_t key : keys) {
    const auto found = std::find(recent.rbegin(), recent.rend(), key);
    if (found != recent.rend()) {
      distances.push_back(static_cast<uint64_t>(found - recent.rbegin()));
      recent.erase(std::next(found).base());
    }
    recent.push_back(key);
  }
  return distances;
}

TEST(StackDistances, AreThoseOfTheDefinition) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    const auto accesses = sim::MixedAccesses(random, 3000, 1 + static_cast<uint32_t>(random() % 200));
    StackDistances distances(/*keys_max=*/256);  // fewer positions than accesses, so that they are renumbered
    LogHistogram want;
    for (const uint32_t key : accesses) distances.Access(key);
    for (const uint64_t distance : NaiveDistances({accesses.begin(), accesses.end()})) want.Add(distance);
    ASSERT_EQ(distances.rate(), 1.0);
    ASSERT_EQ(distances.distances().count(), want.count());
    ASSERT_EQ(distances.distances().mean(), want.mean());
    for (const double share : {0.0, 0.1, 0.5, 0.9, 1.0})
      ASSERT_EQ(distances.distances().Percentile(share), want.Percentile(share)) << share;
  }
}

// A loop has one distance: a sample must find it, and the number of accesses that have it.
TEST(StackDistances, OfASampleAreScaledToAllKeys) {
  constexpr uint64_t kKeys = 40'000, kTurns = 5;
  StackDistances distances(/*keys_max=*/2'000, test::Seed());
  for (uint64_t i = 0; i < kKeys * kTurns; ++i) distances.Access(i % kKeys);
  EXPECT_LT(distances.rate(), 0.06);
  EXPECT_NEAR(static_cast<double>(distances.distances().Percentile(0.5)) / kKeys, 1.0, 0.12);
  EXPECT_NEAR(static_cast<double>(distances.distances().count()) / (kKeys * (kTurns - 1)), 1.0, 0.12);
}

TEST(LogHistogram, PercentilesAreWithinTheirPromise) {
  std::mt19937_64 random(test::Seed());
  LogHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 5000; ++i) values.push_back(random() >> (random() % 64));
  for (const uint64_t value : values) histogram.Add(value);
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto exact = static_cast<double>(values[static_cast<size_t>(std::ceil(share * 5000)) - 1]);
    const auto found = static_cast<double>(histogram.Percentile(share));
    EXPECT_LE(found, exact) << share;
    EXPECT_GE(found, exact * 0.992 - 1e-9) << share;
  }
}

TEST(FitZipf, FindsTheExponentThatMadeTheCounts) {
  for (const double exponent : {0.0, 0.5, 0.9, 1.0, 1.2}) {
    std::vector<uint32_t> counts;
    for (int rank = 1; rank <= 50'000; ++rank)
      counts.push_back(static_cast<uint32_t>(std::lround(1e8 * std::pow(rank, -exponent))));
    EXPECT_NEAR(FitZipf(counts), exponent, 0.005);
  }
  EXPECT_EQ(FitZipf({7}), 0);
}

class Info : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(Info, CountsWhatTheTraceHolds) {
  const std::string path = folder_.Write("trace",
                                         "key,op,value_bytes,extent_bytes,time_us,role,client,level,recorded\n"
                                         "1,get,100,0,1000000,index,7,0,hit\n"
                                         "1,get,300,0,4000000,index,7,0,miss\n"
                                         "2,put,0,0,3000000,data,8,,\n"
                                         "40960,get,0,8192,2000000,data,7,,\n"
                                         "x\n");
  TraceInfo info;
  EXPECT_THAT(InspectTrace({.path = path}, &info).message(), HasSubstr(path + ", line 6"));
  ASSERT_TRUE(InspectTrace({.path = path, .skip_bad = true}, &info).ok());
  EXPECT_EQ(info.format, "mezz_csv");
  EXPECT_EQ(info.damaged_records, 1u);
  EXPECT_EQ(info.requests, 4u);
  EXPECT_EQ(info.extents, 1u);
  EXPECT_EQ(info.accesses, 5u);
  EXPECT_EQ(info.distinct_keys, 4u) << "1, 2, and blocks 10 and 11";
  EXPECT_EQ(info.footprint_bytes, 100u + 2 * 4096) << "key 1 has its first size";
  EXPECT_EQ(info.keys_without_size, 1u);
  EXPECT_EQ(info.keys_of_changing_size, 1u);
  EXPECT_EQ(info.operations[static_cast<size_t>(Operation::kPut)], 1u);
  EXPECT_EQ(info.skew.one_hit_keys, 3u);
  EXPECT_EQ(info.reuse_distance.count(), 1u);
  EXPECT_EQ(info.reuse_us.Percentile(0.5), info.reuse_us.max());
  EXPECT_EQ(info.reuse_us.max(), 3'000'000u);
  EXPECT_EQ(info.roles[static_cast<size_t>(BlockRole::kIndex)], 2u);
  EXPECT_EQ(info.levels, (std::map<int, uint64_t>{{0, 2}}));
  EXPECT_EQ(info.recorded_hits + info.recorded_misses, 2u);
  EXPECT_EQ(info.clients, 2u);
  EXPECT_EQ(info.first_us, 1'000'000u);
  EXPECT_EQ(info.last_us, 4'000'000u);
  EXPECT_THAT(InfoTable(info), HasSubstr("damaged records  1, left out"));
  EXPECT_EQ(InfoJson(info)["footprint_bytes"], 100 + 2 * 4096);
  EXPECT_THAT(InfoTable(info), HasSubstr("the size of 1 key changes; each has the first that is not 0"));
}

TEST_F(Info, TakesZeroForATimeWhereThereAreTimes) {
  TraceInfo info;
  ASSERT_TRUE(InspectTrace({.path = folder_.Write("trace", "time,id\n0,7\n3600,8\n7200,7\n")}, &info).ok());
  EXPECT_TRUE(info.has_time);
  EXPECT_EQ(info.first_us, 0u);
  EXPECT_EQ(info.last_us, 7'200'000'000u);
  EXPECT_EQ(info.reuse_us.max(), 7'200'000'000u);
}

TEST_F(Info, SaysWhatItTookByItsShape) {
  TraceInfo info;
  const std::string path = folder_.Write("trace", "1 17 4096 8 1\n2 18 4096 8 0\n");
  ASSERT_TRUE(InspectTrace({.path = path}, &info).ok());
  EXPECT_EQ(info.format, "mqsim");
  EXPECT_THAT(info.remarks, testing::Contains(HasSubstr("by the shape of its lines alone")));
  ASSERT_TRUE(InspectTrace({.path = path, .format = "mqsim"}, &info).ok());
  EXPECT_TRUE(info.remarks.empty());
}

TEST_F(Info, SaysNothingOfWhatTheTraceDoesNotSay) {
  TraceInfo info;
  ASSERT_TRUE(InspectTrace({.path = folder_.Write("trace", "1\n2\n1\n")}, &info).ok());
  const std::string table = InfoTable(info);
  for (const char* absent : {"footprint", "bytes", "roles", "levels", "clients", "time", "recorded", "extents"})
    EXPECT_THAT(table, Not(HasSubstr(absent)));
}

TEST_F(Info, RefusesWhatDoesNotFitOrHoldsNothing) {
  TraceInfo info;
  EXPECT_THAT(
      InspectTrace({.path = folder_.Write("trace", "x\n"), .format = "text", .skip_bad = true}, &info).message(),
      HasSubstr("it holds no requests, only 1 damaged records"));
  std::string many;
  for (int i = 0; i < 70'000; ++i) many += std::to_string(i) + "\n";
  EXPECT_THAT(InspectTrace({.path = folder_.Write("trace", many), .memory_bytes_max = 1 << 20}, &info).message(),
              HasSubstr("--memory"));
}

}  // namespace
}  // namespace mezz
