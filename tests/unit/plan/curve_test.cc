// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <vector>

#include "tests/support/curves.h"
#include "tests/support/seed.h"

namespace mezz::plan {
namespace {

using test::Random;
using ::testing::HasSubstr;

Curve Sum(Curve a, const Curve& b) {
  EXPECT_EQ(Merge(b, &a).message(), "");
  return a;
}

TEST(CurveMerge, CommutesAndAssociatesToTheLastDigit) {
  Random random(test::Seed());
  for (int round = 0; round < 200; ++round) {
    const Curve a = test::RandomCurve(&random);
    const Curve b = test::RandomCurve(&random);
    const Curve c = test::RandomCurve(&random);
    ASSERT_EQ(Sum(a, b), Sum(b, a));
    ASSERT_EQ(Sum(Sum(a, b), c), Sum(a, Sum(b, c)));
  }
}

TEST(CurveMerge, WeighsByRequests) {
  Random random(test::Seed());
  const Curve a = test::RandomCurve(&random);
  const Curve b = test::RandomCurve(&random);
  const Curve sum = Sum(a, b);
  const auto share = [](const Curve& curve) {
    return curve.Shares(curve.points[1]).both.value * static_cast<double>(curve.sums.counted_requests);
  };
  EXPECT_NEAR(share(sum), share(a) + share(b), 1e-6 * share(sum));
  EXPECT_EQ(sum.sums.hosts, a.sums.hosts + b.sums.hosts);
}

TEST(CurveMerge, NamesEachWarningOnce) {
  Random random(test::Seed());
  Curve a = test::RandomCurve(&random);
  a.warnings = {"long", "short"};
  Curve b = a;
  b.warnings = {"dark", "short"};
  EXPECT_THAT(Sum(a, b).warnings, ::testing::ElementsAre("dark", "long", "short"));
}

TEST(CurveMerge, NamesWhatDiffers) {
  Random random(test::Seed());
  const Curve base = test::RandomCurve(&random);
  const std::pair<std::function<void(CurveForm*)>, std::string> cases[] = {
      {[](CurveForm* form) { form->block_bytes = 8192; }, "block sizes cannot be merged: 4096 and 8192"},
      {[](CurveForm* form) { form->policy = "hcc"; }, "policies cannot be merged: lru and hcc"},
      {[](CurveForm* form) { form->dram_cache = "lru"; }, "DRAM caches cannot be merged: hcc and lru"},
      {[](CurveForm* form) { form->pack = "lz4"; }, "forms of records cannot be merged: off and lz4"},
      {[](CurveForm* form) { form->pack_ratios = "2.5"; }, "ratios of packed records cannot be merged"},
      {[](CurveForm* form) { form->warmup = 0.5; }, "shares of warm-up cannot be merged: 0 and 0.5"},
      {[](CurveForm* form) { form->seeds = 1; }, "numbers of samples cannot be merged: 3 and 1"},
      {[](CurveForm* form) { form->writers = 1; }, "numbers of writers cannot be merged: 4 and 1"},
      {[](CurveForm* form) { form->fast_share = 0.25; }, "ordered media cannot be merged: 0 and 0.25 of their SCM"},
      {[](CurveForm* form) { form->dram[0] = 77; }, "DRAM sizes cannot be merged"},
      {[](CurveForm* form) { form->scm[1] = 77; }, "SCM sizes cannot be merged"},
  };
  for (const auto& [change, message] : cases) {
    Curve other = base;
    change(&other.form);
    Curve sum = base;
    const Status status = Merge(other, &sum);
    EXPECT_FALSE(status.ok()) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_EQ(sum, base);
  }
}

// Hit shares 0.2, 0.4, 0.6, 0.8 at (1M, 0), (1M, 8M), (4M, 0), (4M, 8M), the same in both seeds.
Curve Steps() {
  Curve curve;
  curve.form = {.policy = "adaptive", .seeds = 2};
  curve.form.dram = {1 << 20, 4 << 20};
  curve.form.scm = {0, 8 << 20};
  curve.sums.counted_requests = 1000;
  for (uint64_t i = 0; i < 4; ++i) {
    const PointCounts counts{.dram_hits = 200 + 200 * i};
    curve.points.push_back(
        {.dram_bytes = curve.form.dram[i / 2], .scm_bytes = curve.form.scm[i % 2], .seeds = {counts, counts}});
  }
  return curve;
}

TEST(Curve, IsReadBetweenItsPoints) {
  const Curve curve = Steps();
  const auto hits = [&](uint64_t dram, uint64_t scm) {
    HitShares shares;
    EXPECT_EQ(curve.At(dram, scm, &shares).message(), "");
    return shares.both.value;
  };
  EXPECT_DOUBLE_EQ(hits(1 << 20, 0), 0.2);
  EXPECT_DOUBLE_EQ(hits(4 << 20, 8 << 20), 0.8);
  EXPECT_NEAR(hits(2 << 20, 0), 0.4, 1e-12);         // half way by logarithm
  EXPECT_NEAR(hits(1 << 20, 2 << 20), 0.25, 1e-12);  // a quarter in bytes, from none
  EXPECT_NEAR(hits(2 << 20, 4 << 20), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(hits(64 << 20, 64 << 20), 0.8);
}

TEST(Curve, RefusesSizesBelowItsSmallest) {
  HitShares shares;
  const Status status = Steps().At(1000, 0, &shares);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("dram=1000 is below the curve's smallest size, 1048576"));
}

TEST(Curve, BandIsStudents) {
  Curve curve = Steps();
  curve.points[0].seeds = {{.dram_hits = 190}, {.dram_hits = 210}, {.dram_hits = 200}};
  EXPECT_EQ(curve.Shares(curve.points[1]).both.band, 0) << "an exact curve has none";
  curve.rate_min = 0.5;
  // Standard deviation 0.01, of three.
  EXPECT_NEAR(curve.Shares(curve.points[0]).both.band, 4.303 * 0.01 / std::sqrt(3.0) + kCommonBand, 1e-6);
  EXPECT_NEAR(curve.Shares(curve.points[1]).both.band, kCommonBand, 1e-12);
}

// Two files of 500 blocks are read twice; a compaction makes a third of them, which is read once.
class CompactedSource final : public RequestSource {
 public:
  static constexpr uint32_t kBlocks = 1000;

  bool Next(Request* request) override {
    if (next_ == 3 * kBlocks) return false;
    events_.clear();
    for (uint32_t i = 0; next_ == 2 * kBlocks && i < kBlocks; ++i) {
      const BlockEventKind read = BlockEventKind::kCompactionLookUp;
      events_.push_back({.kind = read, .key = Parent(i), .bytes = 4096, .keys = 4});
      events_.push_back({.kind = BlockEventKind::kCompacted,
                         .key = KeyInFile(2, i),
                         .bytes = 4096,
                         .keys = 4,
                         .parents = {{.keys = 4, .parent = Parent(i)}}});
    }
    request->key = next_ < 2 * kBlocks ? Parent(next_ % kBlocks) : KeyInFile(2, next_ % kBlocks);
    ++next_;
    return true;
  }
  std::span<const BlockEvent> events() const override { return events_; }
  Status status() const override { return Status::Ok(); }
  Status Rewind() override {
    next_ = 0;
    return Status::Ok();
  }
  std::string description() const override { return "compacted"; }

 private:
  static uint64_t Parent(uint32_t i) { return KeyInFile(i % 2, i / 2); }

  uint32_t next_ = 0;
  std::vector<BlockEvent> events_;
};

TEST(Curve, OfADatabaseThatIsWrittenToFindsHeirs) {
  CompactedSource source;
  const Curve curve = test::CurveOf(&source, {.dram = "1M", .scm = "32M", .exact = true});
  EXPECT_EQ(curve.sums.requests, 3 * CompactedSource::kBlocks) << "users'";
  EXPECT_NEAR(curve.Shares(curve.points[0]).both.value, 2.0 / 3, 0.01) << "each block is missed once, its heir never";
  CompactedSource again;
  Curve sampled;
  EXPECT_THAT(BuildCurve(&again, {.dram = "1M", .scm = "32M"}, &sampled).message(), HasSubstr("use --exact"));
}

}  // namespace
}  // namespace mezz::plan
