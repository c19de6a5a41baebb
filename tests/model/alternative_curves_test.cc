// SPDX-License-Identifier: Apache-2.0
// Curves of what else can be done with DRAM and SCM, against closed forms: where all blocks are asked for alike.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/curves.h"
#include "tests/support/seed.h"
#include "workloads/plan/curve_plan.h"

namespace mezz::plan {
namespace {

using test::CurveOf;
using test::KeySource;
using test::Random;

constexpr uint64_t kBlocks = 20'000;
constexpr double kFootprint = kBlocks * 4096.0;

std::string Share(double share) { return std::to_string(static_cast<uint64_t>(share * kFootprint)); }

HitShares Uniform(CurveOptions options, double dram, double scm, Random* random) {
  std::vector<uint64_t> keys(300'000);
  for (uint64_t& key : keys) key = random->Below(kBlocks);
  options.dram = Share(dram);
  options.scm = Share(scm);
  options.warmup = 0.5;
  options.blocks_max = 4000;
  options.seed = random->Next();
  KeySource source(keys);
  const Curve curve = CurveOf(&source, options);
  return curve.Shares(curve.points.back());
}

// All that software sees is the SCM; and of its places each set of the DRAM holds the last one touched, so that a hit
// is in DRAM as often as DRAM is a part of SCM.
TEST(AlternativeCurves, OfMemoryModeAreItsScmAndInDramItsDram) {
  Random random(test::Seed());
  for (const bool exact : {true, false}) {
    for (const auto& [dram, scm] : {std::pair(0.1, 0.5), std::pair(0.05, 0.3), std::pair(0.2, 0.25)}) {
      CurveOptions options;
      options.policy = "memory_mode";
      options.dram_cache = "lru";
      options.exact = exact;
      const HitShares shares = Uniform(options, dram, scm, &random);
      const double stock = scm * 4096 / (4096 + 88);  // LRUCache charges its handles
      EXPECT_NEAR(shares.both.value, stock, exact ? 0.006 : std::max(0.015, 2 * shares.both.band)) << exact;
      EXPECT_NEAR(shares.dram.value, dram * 4096 / (4096 + 88), exact ? 0.006 : 0.02) << exact << dram;
    }
  }
}

TEST(AlternativeCurves, OfInlineMemoryHoldAsMuchMoreAsItCompresses) {
  Random random(test::Seed());
  CurveOptions options;
  options.policy = "inline_memory";
  options.exact = true;
  std::vector<double> both;
  for (const char* ratio : {"1", "2", "4"}) {
    options.pack_ratio = ratio;
    both.push_back(Uniform(options, 0.02, 0.15, &random).scm.value);
  }
  EXPECT_NEAR(both[1] / both[0], 2, 0.2);
  EXPECT_NEAR(both[2] / both[0], 4, 0.5);
}

// The page cache holds as many blocks as fit in their files' form, some of them in the first tier, too; the compressed
// tier, whose placeholders take room, and which lets a block go that has moved up, fewer, but not half as many.
TEST(AlternativeCurves, OfDramTwiceHoldInTheSecondWhatFitsThereCompressed) {
  Random random(test::Seed());
  constexpr double kFirst = 0.05, kSecond = 0.15;
  for (const bool exact : {true, false}) {
    for (const double ratio : {2.0, 4.0}) {
      CurveOptions options;
      options.dram_cache = "lru";
      options.exact = exact;
      options.pack_ratio = std::to_string(ratio);
      const double first = kFirst * 4096 / (4096 + 88), fits = kSecond * 4096 / (4096 / ratio + 5);
      const double error = exact ? 0.01 : 0.03;
      options.policy = "page_cache";
      const HitShares page = Uniform(options, kFirst, kSecond, &random);
      EXPECT_NEAR(page.dram.value, first, error);
      EXPECT_LT(page.promotions, (1 - first) * fits + error) << ratio;  // none of the first tier's blocks is there
      EXPECT_GT(page.promotions, fits - first - error) << ratio;        // all are
      EXPECT_EQ(page.scm_unpacked, 0);
      options.policy = "compressed";
      const HitShares packed = Uniform(options, kFirst, kSecond, &random);
      EXPECT_LT(packed.scm.value, fits + error) << ratio;
      EXPECT_GT(packed.scm.value, fits / 2) << ratio;
      EXPECT_NEAR(packed.scm_unpacked + packed.packed_promotions, packed.scm.value, 1e-9);
    }
  }
}

TEST(AlternativeCurves, ThatCompressDifferentlyAreNotMerged) {
  CurveOptions options;
  options.policy = "inline_memory";
  CurvePlan two, four, unsaid;
  options.pack_ratio = "2.0";
  ASSERT_TRUE(MakeCurvePlan(options, &two).ok());
  options.pack_ratio = "4.0";
  ASSERT_TRUE(MakeCurvePlan(options, &four).ok());
  EXPECT_NE(two.form.pack_ratios, four.form.pack_ratios);
  options.pack_ratio = "";
  ASSERT_TRUE(MakeCurvePlan(options, &unsaid).ok());
  EXPECT_EQ(unsaid.form.pack_ratios, "2.25");
  options.pack = "lz4";
  EXPECT_EQ(MakeCurvePlan(options, &two).message(),
            "--pack=lz4 is for two tiers that pack; inline_memory does not: leave it out");
}

}  // namespace
}  // namespace mezz::plan
