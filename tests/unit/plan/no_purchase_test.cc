// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/no_purchase.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cache/layout.h"
#include "tests/unit/plan/example.h"
#include "workloads/plan/alternatives.h"

namespace mezz::plan {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Look-ups go evenly to all blocks, so a tier finds the share that it holds: packed blocks `ratio` times as many.
class EvenSurface final : public HitSurface {
 public:
  EvenSurface(double footprint_bytes, double ratio) : footprint_bytes_(footprint_bytes), ratio_(ratio) {}
  TierShares At(double dram_bytes, double packed_bytes) const override {
    constexpr double kWrites = 0.02;
    TierShares shares;
    shares.dram = std::min(1.0, dram_bytes / footprint_bytes_);
    shares.scm = std::min(1 - shares.dram, ratio_ * packed_bytes / footprint_bytes_);
    if (packed_bytes <= 0) return shares;
    shares.scm_writes = kWrites;
    shares.scm_packs = ratio_ > 1 ? kWrites : 0;
    shares.scm_unpacked = ratio_ > 1 ? shares.scm : 0;
    shares.scm_record_bytes = static_cast<double>(layout::RecordBytes(4096)) / ratio_;
    return shares;
  }

 private:
  double footprint_bytes_;
  double ratio_;
};

class NoPurchaseTest : public testing::Test {
 protected:
  // 256 GiB of DRAM for 512 GiB of data, one client, 2 us an operation and 100 us more where it reads flash.
  NoPurchase Ask(double ratio, const std::string& target = "throughput>=0.95*baseline", double footprint = 512 * kGiB,
                 const std::string& baseline = "dram:256G") {
    surface_ = EvenSurface(footprint, ratio);
    question_ = {};
    EXPECT_TRUE(ReadPriceBook(BookPath("atc21.yaml"), &question_.book).ok());
    EXPECT_TRUE(ParseTargets(target, &question_.targets).ok());
    question_.traffic = ExampleTraffic();
    question_.traffic.footprint_bytes = footprint;
    question_.traffic.pack = pack_;
    question_.surface = &surface_;
    question_.baseline = baseline;
    question_.reserved_bytes = reserved_;
    question_.load = {.closed = true, .threads = 1};
    question_.costs = {.base = {2000, 2000, 2000},
                       .scm_hit = {400, 400, 400},
                       .flash_read = {10'000, 10'000, 10'000},
                       .flash_wait = {90'000, 90'000, 90'000},
                       .source = "worked out"};
    question_.today = {2026, 11, 22};
    EXPECT_EQ(MakeAnswer(question_, &answer_).message(), "");
    return PackWhatYouHave(question_, answer_);
  }
  std::string Sentence(const NoPurchase& found) const { return NoPurchaseSentence(question_, answer_, found); }

  std::string pack_ = "zstd";
  uint64_t reserved_ = 0;
  EvenSurface surface_{1, 1};
  Question question_;
  Answer answer_;
};

// All of it as DRAM finds half: 2 + 0.5 x 100 us. Half of it packed three times finds 0.75, and what index and policy
// leave of the other half (128 less 1.44 GiB) 0.247. An operation then takes
//   2 us + 0.75 x (0.4 + 5.7 to unpack + 0.19 to read the record) + 0.0028 x 100 + 0.02 x 17 to pack.
// A quarter as DRAM finds all, but unpacks more; three quarters find 0.75 only.
TEST_F(NoPurchaseTest, HalfOfTheMemoryPackedThreeTimes) {
  const NoPurchase found = Ask(3);
  const Plan& baseline = answer_.plans[answer_.baseline];
  EXPECT_NEAR(baseline.figures.prediction.mean_us.value, 52, 0.01);
  ASSERT_EQ(found.verdict, NoPurchaseVerdict::kRecommended);
  ASSERT_EQ(found.splits.size(), std::size(kBlockCacheShares));
  const MemorySplit& best = found.splits[found.best];
  EXPECT_EQ(best.dram_bytes, 128 * kGiB);
  EXPECT_EQ(best.packed_bytes, 128 * kGiB);
  EXPECT_NEAR(best.pack_ratio, 3, 1e-9);
  EXPECT_NEAR(best.figures.prediction.shares.miss(), 0.0028, 1e-4);
  EXPECT_NEAR(best.figures.prediction.mean_us.value, 2 + 0.75 * 6.29 + 0.28 + 0.34, 0.02);
  EXPECT_NEAR(found.splits[3].figures.prediction.shares.miss(), 0.252, 1e-3);
  EXPECT_EQ(best.figures.cost, baseline.cost.total()) << "nothing is bought";
  EXPECT_EQ(best.figures.watts, baseline.figures.watts);
  EXPECT_EQ(found.uri, "mezzanine://dram_total=128G;scm=128G@dram;pack=zstd;policy=adaptive");
  EXPECT_THAT(Sentence(found), testing::AllOf(HasSubstr("pack what you have: 128 GiB as DRAM and 128 GiB packed"),
                                              HasSubstr("(zstd, 3.00 times)"), HasSubstr("meets the targets surely"),
                                              HasSubstr("the cheapest purchase costs")));
}

TEST_F(NoPurchaseTest, WhatIsReservedIsNotParted) {
  reserved_ = 32 * kGiB;
  const NoPurchase found = Ask(3);
  for (const MemorySplit& split : found.splits) EXPECT_EQ(split.dram_bytes + split.packed_bytes, 224 * kGiB);
}

// At 1.2 times fewer blocks are missed; but the cache's own report says of such data that they are better left in DRAM.
TEST_F(NoPurchaseTest, OfDataThatDoNotPackItIsNotRecommended) {
  for (const double ratio : {1.0, 1.2}) {
    const NoPurchase found = Ask(ratio);
    EXPECT_EQ(found.verdict, NoPurchaseVerdict::kNoGain) << ratio;
    EXPECT_EQ(found.uri, "");
    EXPECT_THAT(Sentence(found), testing::AllOf(HasSubstr(fmt::format("your blocks pack {:.2f} times", ratio)),
                                                HasSubstr("use all of it as DRAM")));
  }
}

TEST_F(NoPurchaseTest, OfDataThatFitItIsNotRecommended) {
  EXPECT_EQ(Ask(3, "throughput>=0.95*baseline", 200 * kGiB).verdict, NoPurchaseVerdict::kNoGain);
}

// 52 / 7.34 us is 7.1 times the throughput.
TEST_F(NoPurchaseTest, ATargetThatItMissesIsNamed) {
  const NoPurchase found = Ask(3, "throughput>=10*baseline");
  EXPECT_EQ(found.verdict, NoPurchaseVerdict::kMisses);
  EXPECT_THAT(Sentence(found), testing::AllOf(HasSubstr("serves better, but does not do"),
                                              HasSubstr("throughput>=10*baseline is missed by 29.")));
}

TEST_F(NoPurchaseTest, ACurveOfRawRecordsSaysNothingOfPackedOnes) {
  pack_ = "off";
  const NoPurchase found = Ask(3);
  EXPECT_EQ(found.verdict, NoPurchaseVerdict::kRaw);
  EXPECT_TRUE(found.splits.empty());
  EXPECT_THAT(Sentence(found), testing::AllOf(HasSubstr("--pack"), HasSubstr("--pack_ratio")));
}

TEST_F(NoPurchaseTest, ABaselineWithScmIsNotParted) {
  const NoPurchase found = Ask(3, "throughput>=0.95*baseline", 512 * kGiB, "two_socket/dram:64G+scm:256G");
  EXPECT_EQ(found.verdict, NoPurchaseVerdict::kNotAsked);
  EXPECT_EQ(Sentence(found), "");
  EXPECT_TRUE(NoPurchaseJson(question_, answer_, found).is_null());
}

TEST_F(NoPurchaseTest, TheJsonHasEachWayToPart) {
  const NoPurchase found = Ask(3);
  const nlohmann::json json = NoPurchaseJson(question_, answer_, found);
  EXPECT_EQ(json["verdict"], "recommended");
  EXPECT_EQ(json["uri"], found.uri);
  EXPECT_EQ(json["text"], Sentence(found));
  const nlohmann::json& best = json["splits"][json["best"].get<size_t>()];
  EXPECT_EQ(best["dram_bytes"], 128 * kGiB);
  EXPECT_TRUE(best["feasible"].get<bool>());
  EXPECT_NEAR(best["throughput"]["value"].get<double>(), 1e6 / best["mean_us"]["value"].get<double>(), 1);
}

}  // namespace
}  // namespace mezz::plan
