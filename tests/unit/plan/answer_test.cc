// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/answer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/plan/example.h"
#include "workloads/plan/judge.h"
#include "workloads/plan/sensitivity.h"

namespace mezz::plan {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

class AnswerTest : public testing::Test {
 protected:
  void Ask(const std::string& book, const std::string& baseline, const std::string& target) {
    ASSERT_TRUE(ReadPriceBook(BookPath(book), &question_.book).ok());
    ASSERT_TRUE(ParseTargets(target, &question_.targets).ok());
    question_.traffic = ExampleTraffic();
    question_.surface = &surface_;
    question_.baseline = baseline;
    question_.today = {2026, 11, 22};
    ASSERT_EQ(MakeAnswer(question_, &answer_).message(), "");
  }
  const Plan& Cheapest() const { return answer_.plans[answer_.cheapest]; }

  SkewedSurface surface_{kExampleFootprint};
  Question question_;
  Answer answer_;
};

const Build* Find(const std::vector<Build>& builds, const std::string& server, uint64_t dram, uint64_t scm) {
  for (const Build& build : builds) {
    if (build.server->name == server && build.dram.bytes() == dram && build.scm.bytes() == scm &&
        build.flash.count == 1)
      return &build;
  }
  return nullptr;
}

// 1P 32-256 against 2P 256: the published saving, and its steps.
TEST(Atc21, TheSavingOfTheSingleSocketServerIsDerivedAnew) {
  PriceBook book;
  ASSERT_TRUE(ReadPriceBook(BookPath("atc21.yaml"), &book).ok());
  const std::vector<Build> builds = AllBuilds(book, 0);
  const Build* const two = Find(builds, "two_socket", 256 * kGiB, 0);
  const Build* const one = Find(builds, "one_socket", 32 * kGiB, 256 * kGiB);
  ASSERT_TRUE(two != nullptr && one != nullptr);
  const Cost before = CostOf(book, *two, false, 1), after = CostOf(book, *one, true, 1);
  const auto amount = [](const Cost& cost, CostItem item) {
    double sum = 0;
    for (const CostStep& step : cost.steps) sum += step.item == item ? step.amount : 0;
    return sum;
  };
  EXPECT_DOUBLE_EQ(amount(before, CostItem::kDram), 256);
  EXPECT_DOUBLE_EQ(amount(after, CostItem::kDram), 32);
  EXPECT_NEAR(amount(after, CostItem::kScm), 256 * 0.38, 1e-9);  // the published ratio
  EXPECT_DOUBLE_EQ(amount(before, CostItem::kCpu), 2 * amount(after, CostItem::kCpu));
  EXPECT_DOUBLE_EQ(amount(before, CostItem::kFlash), amount(after, CostItem::kFlash));
  // 290 W and four drives and modules, 4 years of 8,766 hours, PUE 1.1, 0.012 a kWh.
  EXPECT_NEAR(amount(before, CostItem::kEnergy), two->watts() * 1.1 * 4 * 8.766 * 0.012, 1e-9);
  // 43 to 48 % at the listed values and wherever the book's assumptions may lie, each by itself.
  EXPECT_NEAR(1 - after.total() / before.total(), 0.4476, 0.0001);
  for (size_t item = 0; item < kCostItems; ++item) {
    const FactorRange range = RangeOf(book, static_cast<CostItem>(item));
    for (double factor : {range.low, range.high}) {
      CostFactors factors = kAsListed;
      factors[item] = factor;
      const double saving = 1 - after.At(factors) / before.At(factors);
      EXPECT_GT(saving, 0.43) << ToString(static_cast<CostItem>(item)) << " x " << factor;
      EXPECT_LT(saving, 0.48) << ToString(static_cast<CostItem>(item)) << " x " << factor;
    }
  }
  // Were SCM as dear as DRAM, the single socket alone would save less than the least published.
  CostFactors dear = kAsListed;
  dear[static_cast<size_t>(CostItem::kScm)] = 1 / 0.38;
  EXPECT_LT(1 - after.At(dear) / before.At(dear), 0.43);
}

// What is priced against DRAM moves with it.
TEST(Atc21, DramTurnsThePriceOfScm) {
  PriceBook book;
  ASSERT_TRUE(ReadPriceBook(BookPath("atc21.yaml"), &book).ok());
  const std::vector<Build> builds = AllBuilds(book, 0);
  const Build* const one = Find(builds, "one_socket", 32 * kGiB, 256 * kGiB);
  ASSERT_NE(one, nullptr);
  const Cost cost = CostOf(book, *one, false, 1);
  CostFactors factors = kAsListed;
  factors[static_cast<size_t>(CostItem::kDram)] = 2;
  EXPECT_NEAR(cost.At(factors) - cost.total(), 32 + 0.38 * 256, 1e-9);
  factors[static_cast<size_t>(CostItem::kScm)] = 3;
  EXPECT_NEAR(cost.At(factors) - cost.total(), 32 + 5 * 0.38 * 256, 1e-9);
}

TEST(Builds, OnlyWhatModulesGive) {
  PriceBook book;
  ASSERT_TRUE(ReadPriceBook(BookPath("2026.yaml"), &book).ok());
  const std::vector<Build> builds = AllBuilds(book, 0);
  ASSERT_FALSE(builds.empty());
  for (const Build& build : builds) {
    const unsigned channels = build.server->channels;
    EXPECT_TRUE(channels % build.dram.count == 0 || build.dram.count % channels == 0) << build.Name();
    EXPECT_EQ(build.dram.count % build.server->sockets, 0u) << build.Name();
    EXPECT_LE(build.dram.count, build.server->slots.at("dimm"));
    EXPECT_LE(build.scm.count, build.server->slots.at("cxl"));
    EXPECT_LE(build.flash.count, build.server->slots.at("nvme"));
  }
  EXPECT_EQ(Find(builds, "one_socket", 250 * kGiB, 0), nullptr);
  EXPECT_EQ(Find(builds, "one_socket", 160 * kGiB, 0), nullptr);  // 5 x 32: uneven over 12 channels
  EXPECT_NE(Find(builds, "one_socket", 256 * kGiB, 0), nullptr);
  // Optane and DRAM share the slots.
  ASSERT_TRUE(ReadPriceBook(BookPath("atc21.yaml"), &book).ok());
  for (const Build& build : AllBuilds(book, 0))
    EXPECT_LE(build.dram.count + build.scm.count, build.server->slots.at("dimm")) << build.Name();
}

TEST(Builds, FlashHoldsTheData) {
  PriceBook book;
  ASSERT_TRUE(ReadPriceBook(BookPath("2026.yaml"), &book).ok());
  for (const Build& build : AllBuilds(book, uint64_t{20'000'000'000'000})) EXPECT_GE(build.flash.bytes(), 20e12);
  EXPECT_TRUE(AllBuilds(book, uint64_t{1} << 62).empty());
}

TEST(Targets, AreRead) {
  std::vector<Target> targets;
  ASSERT_TRUE(ParseTargets(" throughput>=0.95*baseline; p99 <= 1ms ;cpu<=70%;flash_bandwidth<=2GB/s", &targets).ok());
  ASSERT_EQ(targets.size(), 4u);
  EXPECT_TRUE(targets[0].of_baseline && targets[0].at_least);
  EXPECT_DOUBLE_EQ(targets[0].bound, 0.95);
  EXPECT_DOUBLE_EQ(targets[1].bound, 1000);
  EXPECT_FALSE(targets[1].at_least);
  EXPECT_DOUBLE_EQ(targets[2].bound, 0.7);
  EXPECT_DOUBLE_EQ(targets[3].bound, 2e9);
}

TEST(Targets, WhatIsWrongIsNamed) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"", "--target is empty"},
      {"speed>=3", "\"speed\" is no metric; there are throughput"},
      {"p99<1ms", "METRIC >= BOUND"},
      {"p99<=", "behind the comparison stands a number"},
      {"p99<=fast", "behind the comparison stands a number"},
      {"p99<=1parsec", "p99 is given in one of us, ns, ms, s, not in \"parsec\""},
      {"throughput>=2*other", "only the baseline can be multiplied"},
      {"throughput>=-1", "behind the comparison stands a number"},
      {"p99<=1ms; p99>=2ms", "nothing can be so and \"p99<=1ms\" at once"},
  };
  for (const auto& one : cases) {
    std::vector<Target> targets;
    const Status status = ParseTargets(one.text, &targets);
    EXPECT_FALSE(status.ok()) << one.text;
    EXPECT_THAT(status.message(), HasSubstr(one.says));
  }
}

// The cheapest is feasible and nothing feasible is cheaper; feasible is what meets each target.
TEST_F(AnswerTest, TheCheapestThatMeetsTheTargets) {
  Ask("atc21.yaml", "dram:256G", "throughput>=0.95*baseline; p99<=1ms");
  ASSERT_NE(answer_.cheapest, kNone);
  const double asked = 0.95 * answer_.plans[answer_.baseline].figures.prediction.throughput.value;
  EXPECT_NEAR(answer_.bounds.value[0], asked, 1e-6 * asked);
  EXPECT_EQ(answer_.plans[answer_.baseline].build.server->name, "two_socket");
  EXPECT_TRUE(Cheapest().feasible);
  // What is not known is the same in both: the baseline surely does 0.95 of itself.
  EXPECT_TRUE(answer_.plans[answer_.baseline].sure);
  for (const Plan& plan : answer_.plans) {
    const bool meets =
        plan.figures.prediction.throughput.value >= asked && plan.figures.prediction.p99_us.value <= 1000;
    EXPECT_EQ(plan.feasible, meets) << plan.build.Name();
    if (plan.feasible) {
      EXPECT_GE(plan.cost.total(), Cheapest().cost.total());
    }
    EXPECT_TRUE(plan.feasible || !plan.sure);
  }
  double cost = 0, throughput = 0;
  for (size_t index : answer_.frontier) {
    const Plan& plan = answer_.plans[index];
    EXPECT_GT(plan.cost.total(), cost);
    EXPECT_GT(plan.figures.prediction.throughput.value, throughput);
    cost = plan.cost.total();
    throughput = plan.figures.prediction.throughput.value;
  }
}

// Drives that do not hold the data meet no target with it.
TEST_F(AnswerTest, DataGrowNoFurtherThanTheirDrives) {
  Ask("atc21.yaml", "dram:256G", "hit>=0.1");
  ASSERT_NE(answer_.cheapest, kNone);
  const auto holds = static_cast<double>(Cheapest().build.flash.bytes());
  EXPECT_GT(answer_.growth.limit, 1);
  EXPECT_LE(answer_.growth.limit * kExampleFootprint, holds * 1.0001);
  ASSERT_LT(answer_.growth.limit, answer_.growth.most);
  if (answer_.growth.next != kNone) {
    EXPECT_GT(static_cast<double>(answer_.plans[answer_.growth.next].build.flash.bytes()), holds);
  }
}

// Dearer modules of the same size may take less power, and be what a target asks for.
TEST_F(AnswerTest, ATargetOfPowerIsMetByDearerModules) {
  Ask("2026.yaml", "dram:384G", "hit>=0.01");
  const Build baseline = answer_.plans[answer_.baseline].build;
  Build least = baseline;
  for (const Build& build : AllBuilds(question_.book, static_cast<uint64_t>(kExampleFootprint))) {
    Build same = baseline;
    same.dram = build.dram;
    if (build == same && build.dram.bytes() == baseline.dram.bytes() && build.watts() < least.watts()) least = build;
  }
  ASSERT_FALSE(least == baseline) << "the book has no such modules any more";
  const std::string name = least.Name();
  const double hit = surface_.At(DramCacheBytes(question_, baseline), 0).dram;
  const double watts = least.watts();  // the book is read anew
  Ask("2026.yaml", "dram:384G", fmt::format("hit>={}; watts<={}", 0.999 * hit, watts));
  EXPECT_TRUE(
      std::ranges::any_of(answer_.plans, [&](const Plan& plan) { return plan.feasible && plan.build.Name() == name; }));
}

// A baseline that cannot serve the load asks for any latency, and for a throughput that nothing has.
TEST(Targets, AreHeldAgainstTheEndThatIsBadForThem) {
  Figures figures;
  figures.prediction.p99_us = {1, 2, 4};
  figures.prediction.shares.dram = 0.75;
  figures.prediction.shares.miss_band = 0.125;
  EXPECT_EQ(WorstOf(figures, Metric::kP99, false), 4);
  EXPECT_EQ(WorstOf(figures, Metric::kHit, true), 0.625);
  EXPECT_EQ(WorstOf(figures, Metric::kHit, false), 0.875) << "too many hits are more, not fewer";
}

TEST(Targets, OfABaselineThatIsOverloadedAreAnythingOrNothing) {
  std::vector<Target> targets;
  ASSERT_TRUE(ParseTargets("p99<=baseline; throughput>=baseline", &targets).ok());
  EXPECT_GE(Slack(targets[0], HUGE_VAL, 100), 0);
  EXPECT_LT(Slack(targets[1], HUGE_VAL, 100), 0);
}

// What the sensitivity says, checked by turning the price.
TEST_F(AnswerTest, StaysBestJustAsLongAsItSays) {
  Ask("atc21.yaml", "dram:256G", "throughput>=0.9*baseline");
  ASSERT_EQ(answer_.sensitivity.size(), kCostItems);
  unsigned bounded = 0;
  for (const Stays& stays : answer_.sensitivity) {
    const auto at = [&](double factor) {
      CostFactors factors = kAsListed;
      factors[static_cast<size_t>(stays.item)] = factor;
      return CheapestAt(answer_.plans, factors);
    };
    if (std::isfinite(stays.high)) {
      ++bounded;
      EXPECT_EQ(at(stays.high * 0.999), answer_.cheapest) << ToString(stays.item);
      EXPECT_EQ(at(stays.high * 1.001), stays.above) << ToString(stays.item);
      EXPECT_NE(stays.above, answer_.cheapest);
    }
    if (stays.low > 0) {
      ++bounded;
      EXPECT_EQ(at(stays.low * 1.001), answer_.cheapest) << ToString(stays.item);
      EXPECT_EQ(at(stays.low * 0.999), stays.below) << ToString(stays.item);
    }
  }
  EXPECT_GT(bounded, 0u);
  if (answer_.break_even_scm > 0) {
    CostFactors factors = kAsListed;
    factors[static_cast<size_t>(CostItem::kScm)] = answer_.break_even_scm;
    const double with = answer_.plans[CheapestAt(answer_.plans, factors, Among::kWithScm)].cost.At(factors);
    const double without = answer_.plans[CheapestAt(answer_.plans, factors, Among::kWithoutScm)].cost.At(factors);
    EXPECT_NEAR(with / without, 1, 1e-6);
  }
}

TEST_F(AnswerTest, TargetsThatNothingMeetsNameTheNearestAndWhatBlocksIt) {
  Ask("atc21.yaml", "dram:256G", "throughput>=1; p99<=1ns");
  EXPECT_EQ(answer_.cheapest, kNone);
  ASSERT_NE(answer_.nearest, kNone);
  EXPECT_EQ(answer_.blocked_by, 1u);
  for (const Plan& plan : answer_.plans)
    EXPECT_GE(plan.figures.prediction.p99_us.value, answer_.plans[answer_.nearest].figures.prediction.p99_us.value);
  const std::string table = AnswerTable(question_, answer_);
  EXPECT_THAT(table, HasSubstr("nothing meets the targets. Nearest is"));
  EXPECT_THAT(table, HasSubstr("\"p99<=1ns\" blocks it"));
  EXPECT_TRUE(AnswerJson(question_, answer_)["cheapest"].is_null());
}

TEST_F(AnswerTest, ABaselineThatNoModulesGiveIsRefusedWithThoseThatDo) {
  Ask("2026.yaml", "dram:256G", "throughput>=1");
  const struct {
    const char* baseline;
    const char* says;
  } cases[] = {
      {"dram:250G", "no population of modules gives that; DRAM of "},
      {"one_socket/dram:250G", "no population of modules gives that in one_socket"},
      {"four_socket/dram:256G", "four_socket is no server of the price book"},
      {"flash:256G", "\"flash:256G\" is neither dram:SIZE nor scm:SIZE"},
      {"dram:256G+dram:256G", "a tier is there twice"},
      {"scm:256G", "it has no DRAM"},
      {"dram:256G+scm:3T", "that; beside that DRAM scm:"},
      {"two_socket/dram:256G+scm:3T", "that in two_socket; beside that DRAM scm:"},
      {"dram:256G+", "--baseline=dram:256G+: behind its last + stands nothing"},
      {"dram:lots", "lots"},
  };
  for (const auto& one : cases) {
    question_.baseline = one.baseline;
    const Status status = MakeAnswer(question_, &answer_);
    EXPECT_FALSE(status.ok()) << one.baseline;
    EXPECT_THAT(status.message(), HasSubstr(one.says));
  }
}

// The page recomputes costs from the steps, so they must add up; and each index must name a plan.
TEST_F(AnswerTest, TheJsonAddsUp) {
  question_.hosts = 100;
  Ask("2026.yaml", "two_socket/dram:384G", "throughput>=0.5*baseline");
  const nlohmann::json json = AnswerJson(question_, answer_);
  ASSERT_FALSE(json["plans"].empty());
  double previous = 0;
  for (const auto& plan : json["plans"]) {
    double sum = 0;
    for (const auto& step : plan["cost"]["steps"]) sum += step["amount"].get<double>();
    EXPECT_NEAR(sum, plan["cost"]["total"].get<double>(), 1e-6 * sum);
    EXPECT_GE(sum, previous);
    previous = sum;
    EXPECT_NEAR(plan["dram_hit"].get<double>() + plan["scm_hit"].get<double>() + plan["miss"].get<double>(), 1, 1e-9);
  }
  for (const char* name : {"baseline", "cheapest"}) EXPECT_LT(json[name].get<size_t>(), json["plans"].size());
  EXPECT_EQ(json["cost_items"].size(), kCostItems);
  const auto& surface = json["surface"];
  EXPECT_EQ(surface["throughput"].size(), surface["dram_bytes"].size());
  EXPECT_EQ(surface["throughput"][0].size(), surface["scm_bytes"].size());
  EXPECT_EQ(json["fleet"]["hosts"], 100);
  EXPECT_EQ(nlohmann::json::parse(json.dump()), json);
  const std::string csv = AnswerCsv(question_, answer_);
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), answer_.plans.size() + 1);
  const auto columns = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(columns(csv.substr(0, csv.find('\n'))), columns(csv.substr(csv.rfind('\n', csv.size() - 2))));
}

TEST_F(AnswerTest, TheUriConfiguresThePlan) {
  Ask("atc21.yaml", "dram:256G", "throughput>=0.95*baseline");
  ASSERT_NE(Cheapest().build.scm.module, nullptr);
  EXPECT_EQ(answer_.uri, fmt::format("mezzanine://dram_total={}G;scm={}G@/mnt/pmem0/mezz;policy=adaptive",
                                     Cheapest().build.dram.bytes() / kGiB, Cheapest().build.scm.bytes() / kGiB));
}

// The cache gets DRAM without what is reserved and without the index: 9.4 bytes a block, more where records are packed.
TEST_F(AnswerTest, TheIndexAndWhatIsReservedAreNotTheCaches) {
  Ask("atc21.yaml", "dram:256G", "throughput>=1");
  const std::vector<Build> builds = AllBuilds(question_.book, 0);
  const Build* const build = Find(builds, "one_socket", 32 * kGiB, 256 * kGiB);
  ASSERT_NE(build, nullptr);
  const double all = 32.0 * kGiB, blocks = 256.0 * kGiB / 4096;
  const double policy = 0.02 * 32 * kGiB;  // at most
  const double raw = DramCacheBytes(question_, *build);
  EXPECT_LT(raw, all - 9.4 * blocks);
  EXPECT_GT(raw, all - 9.4 * blocks - policy);
  question_.reserved_bytes = 4 * kGiB;
  question_.traffic.pack = "lz4";
  const double packed = DramCacheBytes(question_, *build);
  const double index = 1.25 * 9.4 * blocks;
  EXPECT_LT(packed, raw - 4.0 * kGiB - index);
  EXPECT_GT(packed, raw - 4.0 * kGiB - index - policy) << "the policy's more blocks, and a workspace for each core";
}

// A fleet shares the qualification; the baseline needs none.
TEST_F(AnswerTest, QualificationIsSharedByTheHosts) {
  Ask("2026.yaml", "one_socket/dram:256G", "throughput>=1");
  const auto qualification = [&](size_t index) {
    double sum = 0;
    for (const CostStep& step : answer_.plans[index].cost.steps)
      sum += step.item == CostItem::kQualification ? step.amount : 0;
    return sum;
  };
  EXPECT_EQ(qualification(answer_.baseline), 0);
  question_.hosts = 1000;
  ASSERT_TRUE(MakeAnswer(question_, &answer_).ok());
  bool seen = false;
  for (size_t i = 0; i < answer_.plans.size(); ++i) {
    if (answer_.plans[i].build.server->name == "one_socket" && answer_.plans[i].build.scm.module == nullptr) {
      EXPECT_EQ(qualification(i), 0);
      continue;
    }
    seen = true;
    EXPECT_NEAR(qualification(i), 250, 1e-9);
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace mezz::plan
