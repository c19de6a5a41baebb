// SPDX-License-Identifier: Apache-2.0
// Curves against closed forms, and sampled curves against exact ones.
#include "tests/support/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cache/log_rules.h"
#include "tests/support/public_traces.h"
#include "tests/support/seed.h"
#include "tests/unit/sim/test_traces.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/readers/open_trace.h"
#include "workloads/sim/runner.h"

namespace mezz::plan {
namespace {

using test::CurveOf;
using test::KeySource;
using test::Random;
using ::testing::HasSubstr;

constexpr double kLruCharge = 4096 + 88;

std::string Bytes(double bytes) { return std::to_string(static_cast<uint64_t>(bytes)); }

// A loop through more blocks than fit misses always, through fewer once each.
TEST(Curves, OfALoopIsAStep) {
  constexpr uint64_t kBlocks = 30'000, kTurns = 6;
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < kBlocks * kTurns; ++i) keys.push_back(i % kBlocks);
  for (const bool exact : {true, false}) {
    for (const std::string policy : {"lru", "naive_scm"}) {
      CurveOptions options{.policy = policy, .exact = exact, .blocks_max = 2000};
      (policy == "lru" ? options.dram : options.scm) =
          Bytes(0.9 * kBlocks * kLruCharge) + "," + Bytes(1.15 * kBlocks * kLruCharge);
      KeySource source(keys);
      const Curve curve = CurveOf(&source, options);
      EXPECT_EQ(curve.exact(), exact);
      // Exact ones have the live cache's 64 shards, of which one or the other gets few enough blocks, or too many.
      const double off = exact ? 0.04 : 0.008;
      EXPECT_NEAR(curve.Shares(curve.points[0]).both.value, 0, off) << policy << exact;
      EXPECT_NEAR(curve.Shares(curve.points[1]).both.value, 1 - 1.0 / kTurns, off) << policy << exact;
      EXPECT_EQ(curve.Shares(curve.points[1]).scm.value > 0.5, policy == "naive_scm");
    }
  }
}

// Where all blocks are asked for alike, any cache that is full hits with its share of them.
TEST(Curves, OfUniformRequestsIsALine) {
  constexpr uint64_t kBlocks = 20'000;
  Random random(test::Seed());
  std::vector<uint64_t> keys(300'000);
  for (uint64_t& key : keys) key = random.Below(kBlocks);
  for (const bool exact : {true, false}) {
    CurveOptions options{.policy = "lru", .warmup = 0.5, .seed = random.Next(), .exact = exact, .blocks_max = 4000};
    options.dram = Bytes(0.1 * kBlocks * kLruCharge) + "," + Bytes(0.5 * kBlocks * kLruCharge);
    KeySource source(keys);
    const Curve curve = CurveOf(&source, options);
    for (const auto& [point, share] : {std::pair(0, 0.1), std::pair(1, 0.5)}) {
      const Estimate hits = curve.Shares(curve.points[static_cast<size_t>(point)]).both;
      EXPECT_NEAR(hits.value, share, exact ? 0.005 : std::max(0.01, 2 * hits.band)) << "exact " << exact;
    }
  }
}

CurveOptions Grid(double footprint) {
  CurveOptions options{.blocks_max = 3000};
  options.dram = Bytes(footprint / 20) + "," + Bytes(footprint / 6);
  options.scm = "0," + Bytes(footprint / 8) + "," + Bytes(footprint / 2);
  return options;
}

struct Errors {
  double worst = 0;
  double mean = 0;
  double in_band = 0;  // share of the points
};

Errors Compare(const Curve& sampled, const Curve& exact) {
  Errors errors;
  const auto points = static_cast<double>(exact.points.size());
  for (size_t i = 0; i < exact.points.size(); ++i) {
    const Estimate of = sampled.Shares(sampled.points[i]).both;
    const double off = std::abs(of.value - exact.Shares(exact.points[i]).both.value);
    errors.worst = std::max(errors.worst, off);
    errors.mean += off / points;
    errors.in_band += (off <= of.band) / points;
  }
  return errors;
}

TEST(Curves, SampledAreNearExactOnes) {
  Random random(test::Seed());
  for (const std::string policy : {"adaptive", "dram_first", "hcc"}) {
    const std::vector<uint64_t> keys = test::SkewedKeys(&random, 250'000, 30'000);
    CurveOptions options = Grid(30'000.0 * 4500);
    options.policy = policy;
    options.seed = random.Next();
    if (policy == "hcc") options.scm.clear();
    KeySource source(keys, "skewed", /*varied=*/true);
    const Curve sampled = CurveOf(&source, options);
    EXPECT_LT(sampled.rate_min, 0.15);
    ASSERT_TRUE(source.Rewind().ok());
    options.exact = true;
    const Curve exact = CurveOf(&source, options);
    const Errors errors = Compare(sampled, exact);
    EXPECT_LT(errors.mean, 0.03) << policy;
    EXPECT_LT(errors.worst, 0.05) << policy;
    EXPECT_NEAR(static_cast<double>(sampled.sums.blocks) / static_cast<double>(exact.sums.blocks), 1, 0.01);
    EXPECT_EQ(sampled.sums.operations, exact.sums.operations);
    EXPECT_EQ(sampled.sums.role_requests, exact.sums.role_requests);
    EXPECT_EQ(sampled.sums.counted_bytes, exact.sums.counted_bytes);
  }
}

TEST(Curves, OfScmAloneHaveNoServerWithoutMemory) {
  Random random(test::Seed());
  KeySource source(test::SkewedKeys(&random, 20'000, 5'000), "skewed", /*varied=*/false);
  const Curve curve = CurveOf(&source, {.policy = "naive_scm"});
  ASSERT_FALSE(curve.points.empty());
  for (const CurvePoint& point : curve.points) {
    EXPECT_EQ(point.dram_bytes, 0u);
    EXPECT_GT(point.scm_bytes, 0u);
  }
}

// What mezz_sim --sizes=bytes counts with both tiers as they live: segments, lanes, shards. To the last request, so
// that nothing of the one goes its own way.
TEST(Curves, ExactOnesAreTheSimulators) {
  Random random(test::Seed());
  const std::vector<uint64_t> keys = test::SkewedKeys(&random, 150'000, 30'000);
  for (const std::string policy : {"adaptive", "dram_first", "scm_first", "naive_scm"}) {
    const bool alone = policy == "naive_scm";
    CurveOptions options{.policy = policy, .warmup = 0.5, .dram = "4M", .scm = "96M", .exact = true};
    if (alone) options.dram.clear();
    options.writers = log_rules::WriterLanes(UINT32_MAX);  // mezz_sim's are those of the machine
    KeySource source(keys, "skewed", /*varied=*/true);
    const Curve curve = CurveOf(&source, options);
    ASSERT_TRUE(source.Rewind().ok());
    LoadedTrace trace;
    ASSERT_TRUE(LoadedTrace::Load(&source, {}, &trace).ok());
    sim::SimOptions simulated;
    simulated.policies = {policy};
    simulated.sizes = sim::Sizes::kBytes;
    simulated.warmup = 0.5;
    simulated.threads = 1;
    simulated.totals = {{.text = "all", .bytes = uint64_t{alone ? 96u : 100u} << 20}};
    simulated.dram_share = 0.04;
    sim::SimReport report;
    const Status status = sim::RunTrace(trace, simulated, &report);
    ASSERT_TRUE(status.ok()) << status.message();
    const PointCounts& counts = curve.points.front().seeds.front();
    const sim::SimCounts& expected = report.rows.front().counts;
    EXPECT_EQ(counts.dram_hits + counts.scm_hits(), expected.dram_hits + expected.scm_hits()) << policy;
    EXPECT_EQ(counts.scm_writes, expected.scm_writes()) << policy;
    EXPECT_GT(counts.scm_hits(), 10'000u) << policy;
  }
}

TEST(Curves, ExactOnesDependOnWriters) {
  Random random(test::Seed());
  KeySource source(test::SkewedKeys(&random, 150'000, 30'000), "skewed", /*varied=*/true);
  CurveOptions options{.policy = "dram_first", .warmup = 0.5, .dram = "4M", .scm = "96M", .exact = true};
  options.writers = 4;
  const Curve four = CurveOf(&source, options);
  ASSERT_TRUE(source.Rewind().ok());
  options.writers = 1;
  const Curve one = CurveOf(&source, options);
  EXPECT_NE(four.points, one.points) << "of each lane a segment is kept free";
  Curve sum = four;
  EXPECT_THAT(std::string(Merge(one, &sum).message()), HasSubstr("numbers of writers cannot be merged: 4 and 1"));
}

TEST(Curves, ExactOfSeveralSeedsAreTheMeanOfThePolicys) {
  Random random(test::Seed());
  KeySource source(test::SkewedKeys(&random, 60'000, 10'000), "skewed", /*varied=*/true);
  CurveOptions options{.dram = "2M", .scm = "0,8M", .seeds = 3, .seed = 7, .exact = true};
  const Curve three = CurveOf(&source, options);
  ASSERT_EQ(three.form.seeds, 3u);
  options.seeds = 0;
  bool differ = false;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    ASSERT_TRUE(source.Rewind().ok());
    options.seed = 7 + seed;
    const Curve one = CurveOf(&source, options);
    ASSERT_EQ(one.form.seeds, 1u);
    for (size_t i = 0; i < one.points.size(); ++i) {
      EXPECT_EQ(three.points[i].seeds[seed], one.points[i].seeds[0]) << "point " << i << ", seed " << options.seed;
      differ |= three.points[i].seeds[seed] != three.points[i].seeds[0];
    }
  }
  EXPECT_TRUE(differ);
  EXPECT_GT(three.Shares(three.points[1]).both.band, 0);
}

// 19 of 20 are promised; the points of a trace err together, so few traces tell no more than this.
TEST(Curves, HoldTheExactOnesInTheirBands) {
  Random random(test::Seed());
  constexpr int kRounds = 20;
  double in_band = 0;
  for (int round = 0; round < kRounds; ++round) {
    CurveOptions options{.policy = "lru", .dram = "2M,8M", .seed = random.Next(), .blocks_max = 1000};
    KeySource source(test::SkewedKeys(&random, 30'000, 5000 + random.Below(5000)));
    const Curve sampled = CurveOf(&source, options);
    ASSERT_TRUE(source.Rewind().ok());
    options.exact = true;
    in_band += Compare(sampled, CurveOf(&source, options)).in_band / kRounds;
  }
  EXPECT_GE(in_band, 0.7);
}

// A hot block takes a tenth of all requests: in the sample or not, it must not change the curve much.
TEST(Curves, AreCorrectedForAHotBlock) {
  Random random(test::Seed());
  std::vector<uint64_t> keys = test::SkewedKeys(&random, 200'000, 30'000);
  for (uint64_t& key : keys) key = random.OneIn(10) ? 7 : key;
  CurveOptions options = Grid(30'000.0 * 4096);
  options.policy = "hcc";
  options.scm.clear();
  options.seed = random.Next();
  KeySource source(keys);
  const Curve sampled = CurveOf(&source, options);
  ASSERT_TRUE(source.Rewind().ok());
  options.exact = true;
  EXPECT_LT(Compare(sampled, CurveOf(&source, options)).worst, 0.03);
}

// What is read again in parts is counted as what was kept.
TEST(Curves, AreTheSameHoweverFewRequestsAreKept) {
  Random random(test::Seed());
  const std::vector<uint64_t> keys = test::SkewedKeys(&random, 60'000, 20'000);
  for (const std::string pack : {"off", "zstd"}) {
    CurveOptions options = Grid(20'000.0 * 4500);
    options.blocks_max = 1500;
    options.seeds = 2;
    options.pack = pack;
    options.warmup = 0.3;
    options.seed = random.Next();
    KeySource source(keys, "keys", /*varied=*/true);
    const Curve kept = CurveOf(&source, options);
    EXPECT_EQ(source.rewinds, 0);
    ASSERT_TRUE(source.Rewind().ok());
    options.log_max = 1000;
    const Curve again = CurveOf(&source, options);
    EXPECT_EQ(source.rewinds, 1 + 2);
    EXPECT_EQ(kept, again);
    const bool packed = std::ranges::any_of(kept.points, [](const CurvePoint& p) { return p.seeds[0].packed_writes; });
    EXPECT_EQ(packed, pack == "zstd");
  }
}

TEST(Curves, CountEveryRequestInOneRole) {
  Random random(test::Seed());
  KeySource source(test::SkewedKeys(&random, 50'000, 10'000), "keys", /*varied=*/true);
  CurveOptions options = Grid(10'000.0 * 4500);
  options.exact = true;
  const Curve curve = CurveOf(&source, options);
  for (const CurvePoint& point : curve.points) {
    uint64_t dram = 0;
    uint64_t scm = 0;
    for (const RoleCounts& role : point.roles) {
      dram += role.dram_hits;
      scm += role.scm_hits;
    }
    EXPECT_EQ(dram, point.seeds[0].dram_hits);
    EXPECT_EQ(scm, point.seeds[0].scm_hits());
    EXPECT_GT(point.roles[static_cast<size_t>(BlockRole::kIndex)].dram_hits, 0u);
  }
}

TEST(Curves, OfWhatTheSampleHoldsWholeAreExact) {
  Random random(test::Seed());
  KeySource source(test::SkewedKeys(&random, 20'000, 2000));
  const Curve curve = CurveOf(&source, {});
  EXPECT_TRUE(curve.exact());
  EXPECT_EQ(curve.points.size(), 8u * 9u);
  EXPECT_EQ(curve.points[5].seeds.size(), 5u);
  EXPECT_EQ(curve.Shares(curve.points[5]).both.band, 0);
  EXPECT_LE(curve.sums.blocks, 2000u);
}

// Two hosts, each with the sizes of the grid: sampled apart and added, or exactly.
TEST(Curves, OfHostsAddUp) {
  Random random(test::Seed());
  CurveOptions options = Grid(30'000.0 * 4096);
  options.policy = "dram_first";
  Curve sum[2];
  for (const uint64_t host : {0, 1}) {
    std::vector<uint64_t> keys = test::SkewedKeys(&random, 100'000 + 50'000 * host, 20'000 + 10'000 * host);
    for (uint64_t& key : keys) key += host << 32;
    for (const bool exact : {false, true}) {
      options.exact = exact;
      KeySource source(keys, "host " + std::to_string(host));
      const Curve curve = CurveOf(&source, options);
      if (host == 0) {
        sum[exact] = curve;
      } else {
        ASSERT_TRUE(Merge(curve, &sum[exact]).ok());
      }
    }
  }
  EXPECT_EQ(sum[0].sums.requests, 250'000u);
  EXPECT_THAT(sum[0].traces, testing::ElementsAre("host 0", "host 1"));
  EXPECT_LT(Compare(sum[0], sum[1]).worst, 0.03);
}

std::string Refusal(std::vector<uint64_t> keys, const CurveOptions& options) {
  KeySource source(std::move(keys));
  Curve curve;
  const Status status = BuildCurve(&source, options, &curve);
  return status.ok() ? "" : std::string(status.message());
}

TEST(Curves, RefuseWhatASampleCannotTell) {
  std::vector<uint64_t> once(10'000);
  for (uint64_t i = 0; i < once.size(); ++i) once[i] = i;
  EXPECT_THAT(Refusal(once, {}), HasSubstr("there is no reuse, so no cache helps"));
  EXPECT_THAT(Refusal({}, {}), HasSubstr("holds no requests"));
  std::vector<uint64_t> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_THAT(Refusal(twice, {.rate = 0.01}), HasSubstr("is too short for --rate=0.01"));
  EXPECT_THAT(Refusal(twice, {.rate = 0.01}), HasSubstr("or --exact"));
  EXPECT_EQ(Refusal(twice, {.policy = "lru", .rate = 0.2}), "");
  EXPECT_THAT(Refusal(twice, {.policy = "lru", .dram = "4K", .rate = 0.2}),
              HasSubstr("--dram=4096 holds no block of the sample at rate"));
  EXPECT_THAT(Refusal(twice, {.policy = "lru", .dram = "1K", .exact = true}),
              HasSubstr("holds no block of 4096 bytes"));
}

TEST(Curves, WarnWhatTheirFiguresAreWorth) {
  Random random(test::Seed());
  std::vector<uint64_t> keys(20'000);
  for (uint64_t& key : keys) key = random.Below(4) == 0 ? random.Below(20'000) : random.Below(2);  // two hot blocks
  KeySource source(keys);
  const Curve curve =
      CurveOf(&source, {.policy = "lru", .dram = "64K,1M,16M", .seed = random.Next(), .blocks_max = 500});
  ASSERT_FALSE(curve.warnings.empty());
  EXPECT_THAT(curve.warnings.back(), HasSubstr("blocks of the sample"));
}

TEST(Curves, SayWhereSizesChangeAndWhatASampleIs) {
  const CurveOptions small{.policy = "lru", .dram = "64K,1M"};
  CurveOptions exact = small, sampled = small;
  exact.exact = true;
  sampled.blocks_max = 500;
  const std::pair<CurveOptions, const char*> kWays[] = {
      {small, "trace resized: the size of 4000 keys changes; each has the first that is not 0"},
      {exact, "trace resized: the size of 4000 keys changes; each has the first that is not 0"},
      {sampled, "trace resized: of the sample, the size of "}};
  // Each key is asked for with one size, and then with another.
  std::vector<Request> requests;
  for (const uint32_t bytes : {100u, 200u}) {
    for (uint64_t key = 0; key < 4000; ++key) requests.push_back({.key = key, .value_bytes = bytes});
  }
  for (const auto& [options, said] : kWays) {
    sim::SampleOf source(std::make_unique<sim::VectorSource>(requests, "resized"), /*rate=*/0.25);
    const Curve curve = CurveOf(&source, options);
    EXPECT_EQ(
        std::ranges::count_if(curve.warnings, [said = said](const std::string& w) { return w.starts_with(said); }), 1)
        << said;
    EXPECT_EQ(std::ranges::count_if(curve.warnings,
                                    [](const std::string& w) { return w.ends_with("--growth=4 times what you want"); }),
              1);
    EXPECT_NEAR(static_cast<double>(curve.sums.footprint_bytes) / static_cast<double>(curve.sums.blocks), 100, 1);
  }
}

TEST(CurveOptions, NameWhatTheyRefuse) {
  const std::pair<CurveOptions, std::string> cases[] = {
      {{.policy = "magic"}, "--policy=magic is not known; two tiers: "},
      {{.dram_cache = "arc"}, "--dram_cache=arc is not known"},
      {{.block_bytes = 1}, "--unit=1 is out of range"},
      {{.pack = "gzip"}, "--pack=gzip is not known"},
      {{.policy = "lru", .pack = "lz4"}, "--pack=lz4 is for two tiers"},
      {{.warmup = 1}, "--warmup=1 is out of range"},
      {{.dram = "4M,2M"}, "--dram=4M,2M: 2M comes behind 4194304"},
      {{.dram = "0,2M"}, "needs DRAM; SCM without it is --policy=naive_scm"},
      {{.policy = "lru", .scm = "4M"}, "--scm=4M: lru is DRAM alone"},
      {{.policy = "naive_scm", .dram = "4M"}, "--dram=4M: naive_scm is SCM alone"},
      {{.policy = "naive_scm", .scm = "0,4M"}, "--scm=0,4M: naive_scm is SCM alone"},
      {{.scm = "4X"}, "--scm"},
      {{.seeds = 1}, "--seeds=1 is out of range"},
      {{.writers = 0}, "--writers=0 is out of range"},
      {{.exact = true, .rate = 0.5}, "--exact looks at every request, --rate=0.5 at some"},
      {{.rate = 0}, "--rate=0 is out of range"},
      {{.blocks_max = 10}, "--blocks=10 is out of range"},
  };
  for (const auto& [options, message] : cases) {
    const Status status = options.Validate();
    EXPECT_FALSE(status.ok()) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  EXPECT_TRUE(CurveOptions{}.Validate().ok());
  EXPECT_TRUE((CurveOptions{.seeds = 1, .exact = true}).Validate().ok());
}

TEST(Curves, OfAPublicTraceAreWithinHalfAPoint) {
  const std::string path = PublicTracePath("arc/OLTP.lis.zst");
  MEZZ_SKIP_WITHOUT_TRACE(path);
  CurveOptions options{.dram = "8M,64M,512M", .scm = "16M,128M,1G"};
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(path, "auto", &source).ok());
  const Curve sampled = CurveOf(source.get(), options);
  ASSERT_TRUE(source->Rewind().ok());
  options.exact = true;
  const Errors errors = Compare(sampled, CurveOf(source.get(), options));
  EXPECT_LT(errors.mean, 0.005);
  EXPECT_LT(errors.worst, 0.02);
}

}  // namespace
}  // namespace mezz::plan
