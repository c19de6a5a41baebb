// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/live_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admission/block_hash.h"
#include "tests/support/curves.h"
#include "tests/support/seed.h"
#include "workloads/readers/loaded_trace.h"

namespace mezz::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kBlockBytes = 4096;
constexpr auto kSized = [] { return size_t{kBlockBytes}; };

// A live curve, and what the cache that feeds it would count.
class Live {
 public:
  explicit Live(LiveCurve::Options options) {
    options.block_bytes = kBlockBytes;
    options.look_ups = [this] {
      if (at_reading) std::exchange(at_reading, nullptr)();
      return look_ups;
    };
    options.now_ns = [this] { return now_ns; };
    curve = std::make_unique<LiveCurve>(std::move(options));
  }

  void LookUp(uint64_t key, BlockRole role = BlockRole::kData) {
    curve->NoteLookUp(BlockHash(BlockKeyOf(key)), role, kSized);
    ++look_ups[static_cast<size_t>(role)];
    now_ns += 10'000;
  }
  Curve Make(uint64_t dram_bytes, uint64_t scm_bytes, double fast_share = 0) {
    Curve made;
    const Status status = curve->Make({.name = "live",
                                       .miniature = {.policy = policy, .fast_share = fast_share},
                                       .dram_bytes = dram_bytes,
                                       .scm_bytes = scm_bytes},
                                      &made);
    if (!status.ok()) throw std::runtime_error(std::string(status.message()));  // which fails the test
    return made;
  }

  std::string policy = "adaptive";
  LiveCurve::LookUps look_ups{};
  uint64_t now_ns = 0;
  std::function<void()> at_reading;  // once
  std::unique_ptr<LiveCurve> curve;
};

// What the same look-ups give where every one of them is simulated, at the same sizes, of the same last ones.
Curve ExactOf(const Curve& live, const std::vector<uint64_t>& keys) {
  const auto axis = [](const std::vector<uint64_t>& sizes) {
    std::string text;
    for (const uint64_t size : sizes) text.append(text.empty() ? "" : ",").append(std::to_string(size));
    return text;
  };
  test::KeySource source(keys);
  const double counted = static_cast<double>(live.sums.counted_requests) / static_cast<double>(keys.size());
  return test::CurveOf(&source, {.policy = live.form.policy,
                                 .block_bytes = kBlockBytes,
                                 .warmup = 1 - counted,
                                 .dram = axis(live.form.dram),
                                 .scm = axis(live.form.scm),
                                 .exact = true});
}

void ExpectNearExact(const Curve& live, const std::vector<uint64_t>& keys) {
  const Curve exact = ExactOf(live, keys);
  const auto blocks = static_cast<double>(exact.sums.blocks);
  EXPECT_NEAR(static_cast<double>(live.sums.blocks), blocks, 0.06 * blocks);
  double sum = 0;
  for (size_t i = 0; i < live.points.size(); ++i) {
    const HitShares of_live = live.Shares(live.points[i]);
    const double off = of_live.both.value - exact.Shares(exact.points[i]).both.value;
    // Where the tiers hold just the footprint, a sample that is a percent larger than its share does not fit them.
    const auto bytes = static_cast<double>(live.points[i].dram_bytes + live.points[i].scm_bytes);
    const bool just_fits = std::abs(bytes / (blocks * kBlockBytes) - 1) < 0.05;
    EXPECT_LE(std::abs(off), (just_fits ? 0.03 : 0.02) + 1.5 * of_live.both.band)
        << "dram=" << live.points[i].dram_bytes << " scm=" << live.points[i].scm_bytes;
    sum += std::abs(off);
  }
  EXPECT_LE(sum / static_cast<double>(live.points.size()), 0.01);
}

// What all of the trace's later half finds at these sizes.
SampleCounts ExactAt(const LoadedTrace& trace, const MiniatureOptions& options, const CurvePoint& point) {
  const BlockSizes sizes(trace, options);
  std::unique_ptr<PointModel> model;
  EXPECT_TRUE(MakePointModel(trace, sizes, options, point.dram_bytes, point.scm_bytes, &model).ok());
  const size_t requests = trace.accesses().size();
  model->Run(0, requests / 2);
  model->StartCounting();
  model->Run(requests / 2, requests);
  SampleCounts counts;
  EXPECT_EQ(model->Counts(&counts).message(), "");
  return counts;
}

TEST(LiveCurve, IsThatOfAllLookUps) {
  test::Random random(test::Seed());
  const std::vector<uint64_t> keys = test::SkewedKeys(&random, 140'000, 20'000);
  Live live({.rate_max = 1, .blocks_max = 2048});
  for (const uint64_t key : keys) live.LookUp(key);
  const Curve made = live.Make(8 << 20, 24 << 20);
  EXPECT_EQ(made.form.dram, (std::vector<uint64_t>{4 << 20, 8 << 20, 16 << 20, 32 << 20}));
  EXPECT_EQ(made.form.scm, (std::vector<uint64_t>{0, 12 << 20, 24 << 20, 48 << 20, 96 << 20}));
  EXPECT_EQ(made.sums.requests, keys.size());
  EXPECT_EQ(made.sums.counted_requests, keys.size() / 2);
  ExpectNearExact(made, keys);
}

// Against all look-ups, in levels that are modelled as they live. In which tier `adaptive` finds a block depends on its
// seed, so of that only the sums agree.
TEST(LiveCurve, OfOrderedMediaTellsOfBothLevels) {
  constexpr double kFastShare = 0.25;
  test::Random random(test::Seed());
  const std::vector<uint64_t> keys = test::SkewedKeys(&random, 140'000, 20'000);
  test::KeySource source(keys);
  LoadedTrace trace;
  ASSERT_TRUE(LoadedTrace::Load(&source, {.unit_bytes = kBlockBytes}, &trace).ok());
  Live live({.rate_max = 1, .blocks_max = 2048});
  for (const uint64_t key : keys) live.LookUp(key);
  for (const std::string policy : {"dram_first", "adaptive"}) {
    live.policy = policy;
    const Curve made = live.Make(8 << 20, 24 << 20, kFastShare);
    EXPECT_EQ(made.form.fast_share, kFastShare);
    EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("SCM is ordered media, 25 % of each size")));
    double off = 0;
    for (const CurvePoint& point : made.points) {
      SCOPED_TRACE(policy + " dram=" + std::to_string(point.dram_bytes) + " scm=" + std::to_string(point.scm_bytes));
      const SampleCounts exact = ExactAt(trace, {.policy = policy, .fast_share = kFastShare}, point);
      const auto share = [&](uint64_t count) {
        return static_cast<double>(count) / static_cast<double>(exact.requests);
      };
      const HitShares shares = made.Shares(point);
      const double hits = share(exact.point.dram_hits + exact.point.scm_hits());
      off += std::abs(shares.both.value - hits);
      EXPECT_NEAR(shares.both.value, hits, 0.02 + 1.5 * shares.both.band);
      EXPECT_EQ(shares.scm_slow_hits > 0.01, point.scm_bytes != 0);
      if (policy == "adaptive") continue;
      EXPECT_NEAR(shares.scm_slow_hits, share(exact.point.scm_slow_hits), 0.02 + 1.5 * shares.both.band);
    }
    EXPECT_LE(off / static_cast<double>(made.points.size()), 0.01) << policy;
  }
  const Curve unordered = live.Make(8 << 20, 24 << 20);
  EXPECT_EQ(unordered.Shares(unordered.points.back()).scm_slow_hits, 0);
}

// Its window begins with tiers that hold what was asked for before it.
TEST(LiveCurve, OfAWindowIsThatOfTheLatestLookUps) {
  test::Random random(test::Seed());
  const std::vector<uint64_t> keys = test::SkewedKeys(&random, 600'000, 20'000);
  Live live({.rate_max = 1, .blocks_max = 2048});
  for (const uint64_t key : keys) live.LookUp(key);
  const Curve made = live.Make(8 << 20, 24 << 20);
  EXPECT_LT(made.sums.requests, keys.size() / 2);
  ExpectNearExact(made, keys);
}

TEST(LiveCurve, TakesBoundedMemoryHoweverLongItRuns) {
  test::Random random(test::Seed());
  Live live({.rate_max = 1, .blocks_max = 512});
  uint64_t most = 0;
  for (uint64_t i = 0; i < 600'000; ++i) {
    live.LookUp(i / 100 + random.Below(3000));  // what is asked for moves on
    if (i % 64 == 0) most = std::max(most, live.curve->dram_bytes());
  }
  EXPECT_LE(most, LiveCurve::DramBytesMax(512));
  EXPECT_GT(most, LiveCurve::DramBytesMax(512) * 3 / 4);
  const Curve made = live.Make(2 << 20, 4 << 20);
  EXPECT_LE(made.sums.sampled_blocks, LiveCurve::kSeeds * 512u);
  EXPECT_LT(made.sums.requests, 600'000u) << "of a window, not of all time";
  EXPECT_GT(made.sums.requests, LiveCurve::kSeeds * 2048u);
}

TEST(LiveCurve, NeverTakesMoreThanItSays) {
  Live live({.rate_max = 1});
  test::Random random(test::Seed());
  uint64_t most = 0;
  for (uint64_t i = 0; i < 2'000'000; ++i) {
    live.LookUp(random.Below(1 << 24));
    if (i % 1024 == 0) most = std::max(most, live.curve->dram_bytes());
  }
  constexpr uint64_t kBound = LiveCurve::DramBytesMax(LiveCurve::kBlocksMax);
  EXPECT_LE(most, kBound);
  EXPECT_GT(most, kBound / 2);
  EXPECT_LE(kBound, uint64_t{8} << 20) << "as docs/explanation/planning.md says";
}

// A scan of millions of blocks lowers the threshold; the working set behind it is too small for what is left.
TEST(LiveCurve, ComesBackToASmallWorkingSetAfterAScan) {
  test::Random random(test::Seed());
  Live live({.rate_max = 1, .blocks_max = 512});
  for (uint64_t key = 0; key < 200'000; ++key) live.LookUp(key);
  for (uint64_t i = 0; i < 6'000'000; ++i) live.LookUp((1 << 30) + random.Below(2000));
  const Curve made = live.Make(4 << 20, 8 << 20);
  EXPECT_GT(made.sums.sampled_blocks, 500u);
  EXPECT_NEAR(static_cast<double>(made.sums.blocks), 2000, 500);
}

TEST(LiveCurve, CountsWhatItDropsAndMakesUpForIt) {
  test::Random random(test::Seed());
  Live live({.rate_max = 1});
  for (uint64_t i = 0; i < 20'000; ++i) live.LookUp(random.Below(4000));
  ASSERT_EQ(live.curve->dropped(), 0u);
  // The samples are in use while the totals are read.
  live.at_reading = [&] {
    std::thread other([&] {
      for (uint64_t i = 0; i < 1000 * LiveCurve::kQueue; ++i) live.LookUp(random.Below(4000));
    });
    other.join();
  };
  Curve made = live.Make(1 << 20, 2 << 20);
  const uint64_t dropped = live.curve->dropped();
  EXPECT_EQ(dropped, 999 * LiveCurve::kQueue) << "but for what the queue holds";
  EXPECT_EQ(live.curve->sampled() + dropped, 20'000 + 1000 * LiveCurve::kQueue);
  made = live.Make(1 << 20, 2 << 20);
  EXPECT_THAT(made.warnings, ::testing::ElementsAre(HasSubstr("61.5 % of the sampled look-ups were dropped")));
  // 128 of 4000 blocks, asked for alike. What was dropped is no hit.
  EXPECT_NEAR(made.Shares(made.points.front()).both.value, 0.03, 0.03);
}

TEST(LiveCurve, LooksAtNoMoreThanItsShare) {
  Live live({.rate_max = 0.01});
  for (uint64_t key = 0; key < 100'000; ++key) live.LookUp(key);
  EXPECT_NEAR(static_cast<double>(live.curve->sampled()), 1000, 160);
}

TEST(LiveCurve, LearnsTheSizeOfABlockThatWasMissed) {
  Live live({.rate_max = 1});
  for (int round = 0; round < 2; ++round) {
    for (uint64_t key = 0; key < 2000; ++key) {
      live.curve->NoteLookUp(BlockHash(BlockKeyOf(key)), BlockRole::kData, [] { return size_t{0}; });
      live.curve->NoteSize(BlockHash(BlockKeyOf(key)), [] { return size_t{1000}; });
      ++live.look_ups[0];
    }
  }
  const Curve made = live.Make(1 << 20, 1 << 20);
  EXPECT_EQ(made.sums.footprint_bytes, made.sums.blocks * 1000);
}

TEST(LiveCurve, RefusesToSayWhatItCannotKnow) {
  Live live({.rate_max = 0.01});
  Curve made;
  Status status = live.curve->Make({.name = "live", .dram_bytes = 1 << 20, .scm_bytes = 1 << 20}, &made);
  EXPECT_EQ(status.code(), Status::Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no block was looked up yet"));
  for (uint64_t key = 0; key < 20'000; ++key) live.LookUp(key);
  status = live.curve->Make({.name = "live", .dram_bytes = 1 << 20, .scm_bytes = 1 << 20}, &made);
  EXPECT_EQ(status.code(), Status::Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("or open the cache with curve=0.0"));
}

// A look-up throws nothing: RocksDB knows no exceptions. What the samples hold then may be half of anything.
TEST(LiveCurve, WithoutMemoryNoLookUpIsSampledAnyMore) {
  Live live({.rate_max = 1, .blocks_max = 512});
  uint64_t key = 0;
  for (; key < 8192; ++key) live.LookUp(key % 1024);
  EXPECT_EQ(live.Make(1 << 20, 1 << 20).sums.requests, key);
  live.at_reading = [] { throw std::bad_alloc(); };
  while (live.at_reading) live.LookUp(key++ % 1024);
  const uint64_t sampled = live.curve->sampled();
  for (const uint64_t end = key + 8192; key < end; ++key) live.LookUp(key % 1024);
  EXPECT_EQ(live.curve->sampled(), sampled);
  Curve made;
  const Status status = live.curve->Make({.name = "live", .dram_bytes = 1 << 20, .scm_bytes = 1 << 20}, &made);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("no memory for the live curve"));
}

// A size_of that throws is the block's own trouble, not the reader's.
TEST(LiveCurve, KeepsALookUpWhoseSizeCannotBeTold) {
  Live live({.rate_max = 1});
  live.curve->NoteLookUp(BlockHash(BlockKeyOf(1)), BlockRole::kData,
                         []() -> size_t { throw std::runtime_error("no size"); });
  EXPECT_EQ(live.curve->sampled(), 1u);
}

}  // namespace
}  // namespace mezz::plan
