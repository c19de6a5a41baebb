// SPDX-License-Identifier: Apache-2.0
// Bad input is refused before the run, by name.
#include "workloads/sim/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "test_traces.h"
#include "workloads/requests/wrapped_source.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SimOptions Good() {
  SimOptions options;
  options.traces = {"a.keys"};
  options.policies = {"dram_first", "lru", "opt"};
  EXPECT_TRUE(ParseTotals("0.5,10%,64K", &options.totals).ok());
  return options;
}

template <typename Change>
std::string Refusal(Change&& change) {
  SimOptions options = Good();
  change(options);
  return options.Validate().message();
}

TEST(SimOptions, AcceptWhatIsGood) { EXPECT_EQ(Good().Validate().message(), ""); }

TEST(SimOptions, RefuseWhatIsOutOfRange) {
  EXPECT_THAT(Refusal([](auto& o) { o.dram_share = 0; }), HasSubstr("--dram_share=0"));
  EXPECT_THAT(Refusal([](auto& o) { o.dram_share = 1; }), HasSubstr("--dram_share=1"));
  EXPECT_THAT(Refusal([](auto& o) { o.dram_share = -0.2; }), HasSubstr("--dram_share=-0.2"));
  EXPECT_THAT(Refusal([](auto& o) { o.dram_share = std::nan(""); }), HasSubstr("--dram_share=nan"));
  EXPECT_THAT(Refusal([](auto& o) { o.warmup = 1; }), HasSubstr("--warmup=1"));
  EXPECT_THAT(Refusal([](auto& o) { o.sample = 0; }), HasSubstr("--sample=0"));
  EXPECT_THAT(Refusal([](auto& o) { o.sample = 1.5; }), HasSubstr("--sample=1.5"));
  EXPECT_THAT(Refusal([](auto& o) { o.unit_bytes = 1; }), HasSubstr("--unit=1"));
  EXPECT_THAT(Refusal([](auto& o) { o.dram_shards = 3; }), HasSubstr("--dram_shards=3"));
  EXPECT_THAT(Refusal([](auto& o) { o.threads = 100'000; }), HasSubstr("--threads=100000"));
  EXPECT_THAT(Refusal([](auto& o) { o.flash_us = -1; }), HasSubstr("--flash_us=-1"));
  EXPECT_THAT(Refusal([](auto& o) { o.high_priority_pool = 2; }), HasSubstr("--high_priority_pool=2"));
  EXPECT_THAT(Refusal([](auto& o) { o.dram_overhead_bytes = 0; }), HasSubstr("--dram_overhead is for --sizes=bytes"));
  EXPECT_THAT(Refusal([](auto& o) {
                o.sizes = Sizes::kBytes;
                o.dram_overhead_bytes = int64_t{1} << 32;
              }),
              HasSubstr("--dram_overhead=4294967296"));
}

TEST(SimOptions, RefuseAFastShareOfWhatHasNoLevels) {
  EXPECT_THAT(Refusal([](auto& o) { o.fast_share = 1; }), HasSubstr("--fast_share=1 is out of range"));
  EXPECT_THAT(Refusal([](auto& o) { o.fast_share = -0.25; }), HasSubstr("--fast_share=-0.25"));
  EXPECT_THAT(Refusal([](auto& o) { o.fast_share = std::nan(""); }), HasSubstr("--fast_share=nan"));
  EXPECT_THAT(Refusal([](auto& o) {
                o.fast_share = 0.25;
                o.policies = {"adaptive", "memory_mode"};
              }),
              AllOf(HasSubstr("--fast_share=0.25"), HasSubstr("--policies names memory_mode")));
  EXPECT_THAT(Refusal([](auto& o) {
                o.fast_share = 0.25;
                o.policies = {"lru", "opt"};
              }),
              AllOf(HasSubstr("names no policy of two tiers"), HasSubstr("adaptive")));
  EXPECT_EQ(Refusal([](auto& o) { o.fast_share = 0.25; }), "");
}

TEST(SimOptions, RefuseWhatIsNotKnownAndListTheKnown) {
  EXPECT_THAT(Refusal([](auto& o) {
                o.policies = {"lru", "magic"};
              }),
              AllOf(HasSubstr("\"magic\""), HasSubstr("dram_first"), HasSubstr("w_tinylfu")));
  EXPECT_THAT(Refusal([](auto& o) { o.format = "magic"; }), AllOf(HasSubstr("--format=magic"), HasSubstr("arc_pages")));
  DramCache dram_cache;
  EXPECT_THAT(ParseDramCache("arc", &dram_cache).message(), HasSubstr("choose hcc or lru"));
  Sizes sizes;
  EXPECT_THAT(ParseSizes("big", &sizes).message(), HasSubstr("choose unit or bytes"));
}

TEST(SimOptions, RefuseDuplicatesAndWhatIsMissing) {
  EXPECT_THAT(Refusal([](auto& o) { o.policies = {"lru", "opt", "lru"}; }), HasSubstr("\"lru\" twice"));
  EXPECT_THAT(Refusal([](auto& o) { o.traces = {"a", "a"}; }), HasSubstr("\"a\" twice"));
  EXPECT_THAT(Refusal([](auto& o) { ASSERT_TRUE(ParseTotals("0.1,10%", &o.totals).ok()); }), HasSubstr("twice"));
  EXPECT_THAT(Refusal([](auto& o) { o.traces.clear(); }), HasSubstr("--trace is missing"));
  EXPECT_THAT(Refusal([](auto& o) { o.policies.clear(); }), HasSubstr("--policies is empty"));
  EXPECT_THAT(Refusal([](auto& o) { o.totals.clear(); }), HasSubstr("--total is empty"));
  std::vector<std::string> items;
  EXPECT_THAT(ParseList("policies", "a,,b", &items).message(), HasSubstr("empty item"));
  EXPECT_THAT(ParseList("trace", "", &items).message(), HasSubstr("--trace is missing"));
}

TEST(ParseTotals, TellsSharesFromBytes) {
  std::vector<Total> totals;
  ASSERT_TRUE(ParseTotals("0.01,25%,1.0,100%,64M,4096", &totals).ok());
  EXPECT_DOUBLE_EQ(totals[0].share, 0.01);
  EXPECT_DOUBLE_EQ(totals[1].share, 0.25);
  EXPECT_DOUBLE_EQ(totals[2].share, 1);
  EXPECT_DOUBLE_EQ(totals[3].share, 1);
  EXPECT_EQ(totals[4].bytes, uint64_t{64} << 20);
  EXPECT_EQ(totals[5].bytes, 4096u);
  for (const char* bad : {"x", "1.5M", "-1", "0.1.2", "%", ".", "99999999999999999999", "20000000T", "nan%", "0", ""})
    EXPECT_FALSE(ParseTotals(bad, &totals).ok()) << bad;
  ASSERT_TRUE(ParseTotals("1.5", &totals).ok());
  EXPECT_THAT(Refusal([&](auto& o) { o.totals = totals; }), HasSubstr("--total=1.5 is no share"));
  ASSERT_TRUE(ParseTotals("0.0", &totals).ok());
  EXPECT_THAT(Refusal([&](auto& o) { o.totals = totals; }), HasSubstr("--total=0.0 is no share"));
}

std::vector<uint64_t> TwiceEach(uint64_t blocks) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 2 * blocks; ++i) keys.push_back(i % blocks);
  return keys;
}

TEST(PlanCapacity, TakesTheShareThatIsWritten) {
  const LoadedTrace trace = LoadKeys(TwiceEach(100));
  Capacity capacity;
  for (uint64_t percent = 10; percent <= 100; ++percent) {
    const double share = static_cast<double>(percent) / 100;
    ASSERT_TRUE(PlanCapacity(trace, Good(), {.text = "t", .share = share}, &capacity).ok()) << percent;
    EXPECT_EQ(capacity.total, percent);
  }
}

TEST(PlanCapacity, RefusesTiersOfLessThanABlockOrASegment) {
  const LoadedTrace trace = LoadKeys(TwiceEach(1000));
  SimOptions options = Good();
  Capacity capacity;
  EXPECT_THAT(PlanCapacity(trace, options, {.text = "0.0001", .share = 0.0001}, &capacity).message(),
              HasSubstr("less than one block"));
  EXPECT_THAT(PlanCapacity(trace, options, {.text = "0.002", .share = 0.002}, &capacity).message(),
              HasSubstr("one tier gets less than one block"));
  options.segment_blocks = 90;
  EXPECT_THAT(PlanCapacity(trace, options, {.text = "10%", .share = 0.1}, &capacity).message(),
              HasSubstr("less than one segment of --segment_blocks=90"));
  options.segment_blocks = 0;
  options.sizes = Sizes::kBytes;
  EXPECT_TRUE(PlanCapacity(trace, options, {.text = "1M", .bytes = 1 << 20}, &capacity).ok());
  EXPECT_TRUE(capacity.exact) << "no live tier is so small";
  EXPECT_TRUE(PlanCapacity(trace, options, {.text = "4M", .bytes = 4 << 20}, &capacity).ok());
  EXPECT_FALSE(capacity.exact);
  options.pack = PackMode::kLz4;
  EXPECT_THAT(PlanCapacity(trace, options, {.text = "1M", .bytes = 1 << 20}, &capacity).message(),
              HasSubstr("less than 8 segments"));
  options.pack = PackMode::kOff;
  options.policies = {"lru"};
  EXPECT_TRUE(PlanCapacity(trace, options, {.text = "0.002", .share = 0.002}, &capacity).ok());
}

TEST(PlanCapacity, CutsTheTotal) {
  const LoadedTrace trace = LoadKeys(TwiceEach(10'000));
  SimOptions options = Good();
  Capacity capacity;
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "10%", .share = 0.1}, &capacity).ok());
  EXPECT_EQ(capacity.total, 1000u);
  EXPECT_EQ(capacity.dram, 200u);
  EXPECT_EQ(capacity.scm, 800u);
  EXPECT_EQ(capacity.segment, 3u);
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "4M", .bytes = 4 << 20}, &capacity).ok());
  EXPECT_EQ(capacity.total, 1024u);
  options.sample = 0.5;  // a capacity in bytes is for the whole trace
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "4M", .bytes = 4 << 20}, &capacity).ok());
  EXPECT_EQ(capacity.total, 512u);
}

// Of 800 blocks of SCM in segments of 3, or of live ones of 256 KiB.
TEST(PlanCapacity, CutsTheScmTierInLevels) {
  const LoadedTrace trace = LoadKeys(TwiceEach(10'000));
  SimOptions options = Good();
  Capacity capacity;
  const auto refusal = [&](double fast_share, const Total& total) {
    options.fast_share = fast_share;
    return PlanCapacity(trace, options, total, &capacity).message();
  };
  const Total small{.text = "10%", .share = 0.1}, large{.text = "64M", .bytes = 64 << 20};
  EXPECT_EQ(refusal(0, small), "");
  EXPECT_EQ(capacity.fast, 0u);
  EXPECT_EQ(refusal(0.25, small), "");
  EXPECT_EQ(capacity.fast, 200u);
  EXPECT_EQ(MakeTwoTierOptions(trace, options, capacity).scm.fast_capacity, 200u);
  EXPECT_EQ(refusal(0.015, small), "") << "four segments";
  EXPECT_THAT(refusal(0.013, small), AllOf(HasSubstr("--fast_share=0.013 the fast level"), HasSubstr("raise it")));
  EXPECT_THAT(refusal(0.99, small), AllOf(HasSubstr("the slow level"), HasSubstr("gets 8"), HasSubstr("lower it")));
  options.pack = PackMode::kLz4;
  EXPECT_EQ(refusal(0.25, small), "");
  EXPECT_EQ(MakeTwoTierOptions(trace, options, capacity).scm.fast_capacity, 200u * 4096);
  options.pack = PackMode::kOff;
  options.sizes = Sizes::kBytes;
  EXPECT_EQ(refusal(0.25, large), "");
  EXPECT_EQ(capacity.fast % capacity.segment, 0u) << "whole segments";
  EXPECT_NEAR(static_cast<double>(capacity.fast), 0.25 * static_cast<double>(capacity.scm), capacity.segment);
  EXPECT_THAT(refusal(0.02, large), HasSubstr("less than 8 segments of")) << "as one of several media";
}

// Small blocks and large ones, and a total that holds a tenth of them.
TEST(RunTrace, ByBytesTakesTotalsThatNoLiveTierHas) {
  std::mt19937_64 random(1);
  std::vector<Request> requests;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t key = random() % 200;
    requests.push_back({.key = key, .value_bytes = key < 100 ? 4096u : 65536u});
  }
  const LoadedTrace trace = LoadAll(VectorSource(std::move(requests)));
  SimOptions options = Good();
  options.sizes = Sizes::kBytes;
  options.policies = {"lru", "opt", "adaptive", "dram_first"};
  ASSERT_TRUE(ParseTotals("0.1,0.3", &options.totals).ok());
  SimReport report;
  ASSERT_EQ(RunTrace(trace, options, &report).message(), "");
  EXPECT_THAT(report.traces[0].remarks, ElementsAre(HasSubstr("--total=0.1: no live SCM tier is so small"),
                                                    HasSubstr("--total=0.3: no live SCM tier is so small")));
  for (size_t at = 0; at < report.rows.size(); at += 4) {
    const double bound = report.rows[at + 1].miss();
    for (size_t two_tier = at + 2; two_tier < at + 4; ++two_tier) {
      EXPECT_GT(report.rows[two_tier].miss(), bound);
      // Look-ups are independent, so what holds a tenth of all bytes hits a tenth to a half of the blocks.
      EXPECT_LT(report.rows[two_tier].miss(), report.rows[at].miss() + 0.03);
    }
  }
}

TEST(PlanCapacity, OfATraceThatIsASampleBytesAreForAllOfIt) {
  SampleOf source(std::make_unique<VectorSource>(VectorSource::OfKeys(TwiceEach(10'000))), /*rate=*/0.5);
  LoadedTrace trace;
  ASSERT_TRUE(LoadedTrace::Load(&source, {}, &trace).ok());
  SimOptions options = Good();
  Capacity capacity;
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "4M", .bytes = 4 << 20}, &capacity).ok());
  EXPECT_EQ(capacity.total, 512u) << "blocks of 4 KiB of half of the keys";
  options.sample = 0.5;
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "4M", .bytes = 4 << 20}, &capacity).ok());
  EXPECT_EQ(capacity.total, 256u);
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "10%", .share = 0.1}, &capacity).ok());
  EXPECT_EQ(capacity.total, 1000u) << "a share is one of the sample, too";
}

TEST(RunTrace, RefusesOptWhereItsMemoryDoesNotReachAndSaysHowToSample) {
  const LoadedTrace trace = LoadKeys(TwiceEach(10'000));
  SimOptions options = Good();
  options.memory_bytes = 1000;
  ASSERT_TRUE(ParseTotals("0.5", &options.totals).ok());
  SimReport report;
  EXPECT_THAT(RunTrace(trace, options, &report).message(), AllOf(HasSubstr("policy opt"), HasSubstr("--sample=0.01")));
  EXPECT_TRUE(report.rows.empty());
}

}  // namespace
}  // namespace mezz::sim
