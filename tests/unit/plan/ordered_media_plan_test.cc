// SPDX-License-Identifier: Apache-2.0
// Servers with a fast and a slow SCM medium: which can be bought, what they do, and how the answer tells them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/layout.h"
#include "tests/unit/plan/example.h"
#include "tests/unit/plan/ordered_book.h"
#include "workloads/plan/alternatives.h"
#include "workloads/plan/answer.h"
#include "workloads/plan/judge.h"
#include "workloads/plan/sensitivity.h"

namespace mezz::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// With one text replaced by another.
PriceBook BookWith(const std::string& from = "", const std::string& to = "") {
  std::string text = OrderedBookText();
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  PriceBook book;
  EXPECT_EQ(ParsePriceBook("own.yaml", text, &book).message(), "");
  return book;
}

// The sizes in GiB, with the fewest drives.
Build BuildOf(const PriceBook& book, uint64_t dram, uint64_t fast, uint64_t slow) {
  for (const Build& build : AllBuilds(book, 0)) {
    if (build.dram.bytes() == dram * kGiB && build.scm.bytes() == fast * kGiB && build.flash.count == 1 &&
        build.slow_scm.bytes() == slow * kGiB && (slow == 0 || build.scm.module->device == "cxl"))
      return build;
  }
  ADD_FAILURE() << "there is no such build";
  return {};
}

TEST(OrderedBuilds, TheFasterDeviceComesFirstAndEachHasItsSlots) {
  const PriceBook book = BookWith();
  unsigned ordered = 0;
  for (const Build& build : AllBuilds(book, 0)) {
    const unsigned pmem = build.is_ordered()                                                ? build.slow_scm.count
                          : build.scm.module != nullptr && build.scm.module->slot == "dimm" ? build.scm.count
                                                                                            : 0;
    EXPECT_LE(build.dram.count + pmem, 8u) << build.Name();
    if (!build.is_ordered()) continue;
    ++ordered;
    EXPECT_EQ(build.scm.module->device, "cxl") << build.Name();
    EXPECT_EQ(build.slow_scm.module->device, "optane100") << build.Name();
    EXPECT_LE(build.scm.count, 4u) << build.Name();
  }
  // CXL 1, 2, 4; one DRAM module beside PMem 1, 2, 4, two beside as many, four beside 1, 2, 4; one or two drives.
  EXPECT_EQ(ordered, 3u * 9u * 2u);
  const Build build = BuildOf(book, 64, 128, 256);
  EXPECT_EQ(build.Name(), "one_socket 64 GiB + 128 GiB cxl > 256 GiB optane100, 1 x nvme_2T");
  EXPECT_EQ(build.scm_bytes(), 384 * kGiB);
  EXPECT_DOUBLE_EQ(build.watts(), 300 + 2 * 4 + 2 * 10 + 4 * 10 + 10);
  Build other = build;
  other.slow_scm.count = 2;
  EXPECT_FALSE(build == other);
}

TEST(OrderedBuilds, DevicesThatReadAlikeAreNotOrdered) {
  for (const Build& build : AllBuilds(BookWith("device: cxl", "device: optane100"), 0))
    EXPECT_FALSE(build.is_ordered()) << build.Name();
}

// The bill names both media, and the price of SCM turns both.
TEST(OrderedBuilds, BothMediaAreOnTheBill) {
  const PriceBook book = BookWith();
  const Cost cost = CostOf(book, BuildOf(book, 64, 128, 256), false, 1);
  double scm = 0;
  for (const CostStep& step : cost.steps) scm += step.item == CostItem::kScm ? step.amount : 0;
  EXPECT_NEAR(scm, 0.6 * 128 + 0.3 * 256, 1e-9);
  CostFactors factors = kAsListed;
  factors[static_cast<size_t>(CostItem::kScm)] = 2;
  EXPECT_NEAR(cost.At(factors) - cost.total(), scm, 1e-9);
}

// 64 + 64 GiB are two modules of the faster kind, 64 + 128 are three: such a number of them is not sold.
TEST(OrderedBuilds, TheFastAloneBeatsThemWhereItIsNoWorseInAnything) {
  const std::string cheap = "value: 0.6, unit: DRAM/GB", dear = "value: 0.2, unit: DRAM/GB";
  const auto beaten = [](const PriceBook& book, uint64_t fast, uint64_t slow) {
    return IsBeatenByFastAlone(book, BuildOf(book, 64, fast, slow));
  };
  EXPECT_FALSE(beaten(BookWith(), 64, 64)) << "it is dearer";
  PriceBook book = BookWith(cheap, dear);
  EXPECT_TRUE(beaten(book, 64, 64));
  EXPECT_FALSE(beaten(book, 64, 128)) << "no modules give it";
  EXPECT_FALSE(beaten(book, 256, 64)) << "there are no more slots";
  Module* const cxl = &book.modules[1];
  ASSERT_EQ(cxl->name, "cxl_64");
  const Module is = *cxl;
  cxl->watts.value = 11;
  EXPECT_FALSE(beaten(book, 64, 64)) << "a target of watts may ask for PMem";
  cxl->watts = is.watts;
  cxl->endurance_bytes.value = 1e15;
  EXPECT_FALSE(beaten(book, 64, 64)) << "it would wear";
  cxl->endurance_bytes = is.endurance_bytes;
  cxl->of_dram = false;
  EXPECT_FALSE(beaten(book, 64, 64)) << "DRAM's price may part the two";
}

// docs/reference/plan.md: the entry of one shipped book, copied into the other.
TEST(OrderedBuilds, TheShippedBooksTogetherSellCxlAndPMem) {
  const auto shipped = [](const char* name) {
    std::ifstream file(BookPath(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string paper = shipped("atc21.yaml");
  const size_t entry = paper.find("  - {name: optane_128"), next = paper.find("  - {name:", entry + 1);
  ASSERT_LT(next, paper.size());
  std::string text = shipped("2026.yaml");
  text.insert(text.find("\nenergy:") + 1, paper.substr(entry, next - entry));
  PriceBook book;
  ASSERT_EQ(ParsePriceBook("mine.yaml", text, &book).message(), "");
  const std::vector<Build> builds = AllBuilds(book, 0);
  const auto is = [](const Build& build) {
    return build.is_ordered() && build.scm.module->device == "cxl" && build.slow_scm.module->name == "optane_128";
  };
  EXPECT_TRUE(std::ranges::any_of(builds, is));
  for (const char* name : {"atc21.yaml", "2026.yaml"}) {
    ASSERT_TRUE(ReadPriceBook(BookPath(name), &book).ok());
    EXPECT_TRUE(std::ranges::none_of(AllBuilds(book, 0), &Build::is_ordered)) << name;
  }
}

// What a tier of one size finds is told by hand.
class TableSurface final : public HitSurface {
 public:
  TierShares At(double dram_bytes, double scm_bytes) const override {
    EXPECT_EQ(dram_bytes, 10);
    if (scm_bytes == 100) return {.dram = 0.2, .scm = fast_alone, .scm_writes = 0.05};
    EXPECT_EQ(scm_bytes, 400);
    return {.dram = 0.15, .scm = 0.6, .miss_band = 0.01, .scm_writes = 0.2, .scm_promoted = 0.1};
  }
  double fast_alone = 0.25;
};

TEST(OrderedShares, AreThoseOfOneTierAndTheFastOneFindsWhatItWouldAlone) {
  TableSurface surface;
  const TierShares shares = SharesOfMedia(surface, 10, 100, 300);
  EXPECT_DOUBLE_EQ(shares.dram, 0.15);
  EXPECT_DOUBLE_EQ(shares.scm, 0.6);
  EXPECT_DOUBLE_EQ(shares.slow_scm, 0.35);
  EXPECT_DOUBLE_EQ(shares.miss(), 0.25);
  EXPECT_DOUBLE_EQ(shares.scm_writes, 0.05) << "as a tier of the fast one's size";
  EXPECT_DOUBLE_EQ(shares.slow_scm_writes, 0.2) << "all that the tier takes moves down";
  EXPECT_DOUBLE_EQ(shares.scm_promoted, 0.1);
  surface.fast_alone = 0.7;  // of a sample that is less sure of single points
  EXPECT_DOUBLE_EQ(SharesOfMedia(surface, 10, 100, 300).slow_scm, 0);
  const TierShares one = SharesOfMedia(surface, 10, 400, 0);
  EXPECT_DOUBLE_EQ(one.slow_scm, 0);
  EXPECT_DOUBLE_EQ(one.scm_writes, 0.2);
  EXPECT_DOUBLE_EQ(one.slow_scm_writes, 0);
}

Bracket Exactly(double value) { return {.low = value, .value = value, .high = value}; }

Machine TwoMedia(unsigned cores = 1) {
  Machine machine;
  machine.cores = cores;
  EXPECT_TRUE(ParseScmModel("cxl", &machine.scm).ok());
  EXPECT_TRUE(ParseScmModel("optane100", &machine.slow_scm).ok());
  machine.slow_scm_modules = 1;
  EXPECT_TRUE(ParseFlash("nvme_flash", &machine.flash).ok());
  machine.costs = {
      .base = Exactly(2000), .scm_hit = Exactly(300), .flash_read = Exactly(5000), .flash_wait = {}, .source = "test"};
  return machine;
}
Machine OneMedium(const char* device) {
  Machine machine = TwoMedia();
  EXPECT_TRUE(ParseScmModel(device, &machine.scm).ok());
  machine.slow_scm_modules = 0;
  return machine;
}
Load Threads(unsigned threads) { return {.closed = true, .threads = threads}; }

// One thread waits for nobody, so means are those of the media, by their shares.
TEST(OrderedPerformance, EachMediumTakesItsOwnTime) {
  const double fast = Predict(OneMedium("cxl"), Traffic(), {.scm = 1}, Threads(1)).mean_us.value;
  const double slow = Predict(OneMedium("optane100"), Traffic(), {.scm = 1}, Threads(1)).mean_us.value;
  ASSERT_GT(slow, fast + 0.1);
  const Prediction none = Predict(TwoMedia(), Traffic(), {.scm = 1}, Threads(1));
  const Prediction all = Predict(TwoMedia(), Traffic(), {.scm = 1, .slow_scm = 1}, Threads(1));
  const Prediction some = Predict(TwoMedia(), Traffic(), {.scm = 1, .slow_scm = 0.25}, Threads(1));
  EXPECT_NEAR(none.mean_us.value, fast, 1e-6);
  EXPECT_NEAR(all.mean_us.value, slow, 1e-6);
  EXPECT_NEAR(some.mean_us.value, 0.75 * fast + 0.25 * slow, 1e-6);
  // Three of four hits are on the fast one.
  EXPECT_NEAR(some.p50_us.value, fast, 0.02);
  EXPECT_NEAR(some.p95_us.value, slow, 0.02);
  EXPECT_DOUBLE_EQ(some.media[kFastMedium].hit, 0.75);
  EXPECT_DOUBLE_EQ(some.media[kSlowMedium].hit, 0.25);
  EXPECT_GT(some.media[kSlowMedium].read_bytes_per_s, 0);
  EXPECT_NEAR(some.scm_read_bytes_per_s,
              some.media[kFastMedium].read_bytes_per_s + some.media[kSlowMedium].read_bytes_per_s, 1);
}

// 4 KiB in place are 7 lines of 256 B on Optane: 6.6 GB/s for each module.
TEST(OrderedPerformance, EachMediumHasItsOwnBandwidth) {
  Machine machine = TwoMedia(64);
  machine.costs.base = machine.costs.scm_hit = Exactly(1);
  const TierShares shares{.scm = 1, .slow_scm = 0.5};
  const Prediction one = Predict(machine, Traffic(), shares, Threads(256));
  EXPECT_EQ(one.bottleneck, "slow_scm_read");
  EXPECT_NEAR(one.throughput.value, 2 * 6.6e9 / (256.0 * BlockSearchLines(4096)), 0.02 * one.throughput.value);
  EXPECT_GT(one.media[kSlowMedium].share, 0.95);
  EXPECT_DOUBLE_EQ(one.scm_share, one.media[kSlowMedium].share);
  EXPECT_LT(one.media[kFastMedium].share, 0.5);
  EXPECT_GT(one.p99_us.value, 2 * one.p50_us.value) << "half wait in the slow one's queue, half do not";
  machine.slow_scm_modules = 2;
  EXPECT_NEAR(Predict(machine, Traffic(), shares, Threads(256)).throughput.value, 2 * one.throughput.value,
              0.05 * one.throughput.value);
  const TierShares written{.dram = 1, .slow_scm_writes = 1};
  machine.slow_scm_modules = 1;
  const Prediction writes = Predict(machine, Traffic(), written, Threads(256));
  EXPECT_EQ(writes.bottleneck, "slow_scm_write");
  EXPECT_NEAR(writes.media[kSlowMedium].written_bytes_per_s, 2.3e9, 0.05e9);
}

TEST(OrderedPerformance, WritesAreThoseOfTheirMedium) {
  const TierShares shares{.dram = 0.5, .scm = 0.5, .scm_writes = 0.2, .slow_scm = 0.25, .slow_scm_writes = 0.3};
  const Prediction p = Predict(TwoMedia(), Traffic(), shares, Threads(1));
  const double each = p.throughput.value * static_cast<double>(layout::RecordBytes(4096));
  EXPECT_NEAR(p.media[kFastMedium].written_bytes_per_s, 0.2 * each, 1);
  EXPECT_NEAR(p.media[kSlowMedium].written_bytes_per_s, 0.3 * each, 1);
  EXPECT_NEAR(p.scm_written_bytes_per_s, 0.5 * each, 1);
  TierShares without = shares;
  without.slow_scm_writes = 0;
  EXPECT_LT(p.throughput.value, Predict(TwoMedia(), Traffic(), without, Threads(1)).throughput.value);
}

// At the bad end of the band fewer look-ups are found, and as many fewer on either medium.
TEST(OrderedPerformance, TheBandOfTheMissesMovesTheHitsOfBoth) {
  Machine machine = TwoMedia();
  machine.costs.flash_read = Exactly(0);
  const TierShares shares{.scm = 0.5, .miss_band = 0.25, .slow_scm = 0.5};
  const Prediction p = Predict(machine, Traffic(), shares, Threads(1));
  const Prediction low = Predict(machine, Traffic(), {.scm = 0.25, .slow_scm = 0.25}, Threads(1));
  const Prediction high = Predict(machine, Traffic(), {.scm = 0.75, .slow_scm = 0.75}, Threads(1));
  EXPECT_NEAR(p.mean_us.high, low.mean_us.value, 1e-6);
  EXPECT_NEAR(p.mean_us.low, high.mean_us.value, 1e-6);
}

// A larger SCM tier is written more.
class WrittenSurface final : public SkewedSurface {
 public:
  using SkewedSurface::SkewedSurface;
  TierShares At(double dram_bytes, double scm_bytes) const override {
    TierShares shares = SkewedSurface::At(dram_bytes, scm_bytes);
    shares.scm_writes *= 0.1 + scm_bytes / kExampleFootprint;
    return shares;
  }
};

class OrderedAnswerTest : public testing::Test {
 protected:
  OrderedAnswerTest() {
    question_.book = BookWith();
    question_.traffic = ExampleTraffic();
    question_.surface = &surface_;
    question_.baseline = "dram:256G";
    question_.today = {2026, 11, 22};
  }
  Status Ask(const std::string& target) {
    EXPECT_TRUE(ParseTargets(target, &question_.targets).ok());
    return MakeAnswer(question_, &answer_);
  }
  const Plan& Cheapest() const { return answer_.plans[answer_.cheapest]; }

  // More than DRAM and either medium find, and less than DRAM and both do.
  static constexpr const char* kOnlyBoth = "hit>=0.93";

  WrittenSurface surface_{kExampleFootprint};
  Question question_;
  Answer answer_;
};

TEST_F(OrderedAnswerTest, DramAndBothMediaAreAnAnswer) {
  question_.reserved_bytes = 4 * kGiB;
  ASSERT_TRUE(Ask(kOnlyBoth).ok());
  ASSERT_NE(answer_.cheapest, kNone);
  const Build& build = Cheapest().build;
  ASSERT_TRUE(build.is_ordered()) << build.Name();
  EXPECT_EQ(answer_.uri,
            fmt::format("mezzanine://dram_total={}G;scm={}G@numa:1>{}G@/mnt/pmem0/mezz;policy=adaptive",
                        build.dram.bytes() / kGiB - 4, build.scm.bytes() / kGiB, build.slow_scm.bytes() / kGiB));
  const double fast_bytes = static_cast<double>(build.scm.bytes()), all = static_cast<double>(build.scm_bytes());
  const double dram = DramCacheBytes(question_, build);
  EXPECT_NEAR(dram, static_cast<double>(build.dram.bytes()) - 4.0 * kGiB - (9.4 + 3.9) * all / 4096, 0.2 * kGiB)
      << "the index is of both media";
  const Prediction& p = Cheapest().figures.prediction;
  EXPECT_NEAR(p.shares.miss(), surface_.At(dram, all).miss(), 1e-9);
  EXPECT_NEAR(p.media[kFastMedium].hit, surface_.At(dram, fast_bytes).scm, 1e-9);
  const std::string table = AnswerTable(question_, answer_);
  EXPECT_THAT(table, AllOf(HasSubstr("GiB cxl > "), HasSubstr("fast SCM, "), HasSubstr("slow SCM, "),
                           HasSubstr("of DRAM a GB) the price of SCM"), Not(HasSubstr("SCM lasts"))));
  // Both media, by their bytes.
  const double of_dram = (0.6 * fast_bytes + 0.3 * (all - fast_bytes)) / all;
  for (const Stays& stays : answer_.sensitivity) {
    if (stays.item != CostItem::kScm || !std::isfinite(stays.high)) continue;
    EXPECT_THAT(table, HasSubstr(fmt::format("({:.2g} of DRAM a GB)", stays.high * of_dram)));
  }
}

TEST_F(OrderedAnswerTest, EachMediumWearsByItsOwnWrites) {
  constexpr double kYear = 365.25 * 24 * 3600;
  question_.book.modules[1].endurance_bytes.value = 1e15;
  question_.baseline = "dram:32G+scm:64G>128G";
  ASSERT_TRUE(Ask("hit>=0.01").ok());
  const Figures& figures = answer_.plans[answer_.baseline].figures;
  const auto& media = figures.prediction.media;
  EXPECT_NEAR(figures.media_lifetime_years[kFastMedium], 1e15 / media[kFastMedium].written_bytes_per_s / kYear, 1e-6);
  EXPECT_NEAR(figures.media_lifetime_years[kSlowMedium], 2e16 / media[kSlowMedium].written_bytes_per_s / kYear, 1e-6);
  EXPECT_DOUBLE_EQ(figures.lifetime_years, figures.media_lifetime_years[kFastMedium]);
  question_.book.modules[1].endurance_bytes.value = 1e18;
  ASSERT_TRUE(Ask("hit>=0.01").ok());
  const Figures& slow_first = answer_.plans[answer_.baseline].figures;
  EXPECT_DOUBLE_EQ(slow_first.lifetime_years, slow_first.media_lifetime_years[kSlowMedium]);
}

TEST_F(OrderedAnswerTest, TheFilesTellBothMedia) {
  ASSERT_TRUE(Ask(kOnlyBoth).ok());
  const nlohmann::json json = AnswerJson(question_, answer_);
  unsigned ordered = 0, others = 0;
  for (size_t i = 0; i < answer_.plans.size(); ++i) {
    const Plan& plan = answer_.plans[i];
    const nlohmann::json& told = json["plans"][i];
    if (!plan.build.is_ordered()) {
      ++others;
      EXPECT_TRUE(told["slow_scm"].is_null() && told["media"].is_null());
      continue;
    }
    ++ordered;
    EXPECT_EQ(told["scm"]["device"], "cxl");
    EXPECT_EQ(told["slow_scm"]["device"], "optane100");
    EXPECT_EQ(told["slow_scm"]["bytes"], plan.build.slow_scm.bytes());
    ASSERT_EQ(told["media"].size(), 2u);
    EXPECT_TRUE(told["media"][0]["lifetime_years"].is_null()) << "CXL memory does not wear";
    EXPECT_EQ(told["media"][1]["lifetime_years"], told["lifetime_years"]);
    EXPECT_NEAR(told["media"][0]["hit"].get<double>() + told["media"][1]["hit"].get<double>(),
                told["scm_hit"].get<double>(), 1e-9);
    EXPECT_NEAR(
        told["media"][0]["written_bytes_per_s"].get<double>() + told["media"][1]["written_bytes_per_s"].get<double>(),
        told["scm_written_bytes_per_s"].get<double>(), 1);
    EXPECT_GT(told["media"][1]["read_bytes_per_s"], 0);
    EXPECT_GT(told["media"][1]["share"], 0);
  }
  EXPECT_GT(ordered, 0u);
  EXPECT_GT(others, 0u);
  const std::string csv = AnswerCsv(question_, answer_);
  EXPECT_THAT(csv, HasSubstr(fmt::format(",{},optane100,", Cheapest().build.slow_scm.bytes())));
  const auto columns = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(columns(csv.substr(0, csv.find('\n'))), columns(csv.substr(csv.rfind('\n', csv.size() - 2))));
}

// The surface parts its bytes as the plan does: at the plan's sizes it has the plan's figures.
TEST_F(OrderedAnswerTest, TheSurfaceIsOfBothMedia) {
  ASSERT_TRUE(Ask(kOnlyBoth).ok());
  const nlohmann::json json = AnswerJson(question_, answer_);
  const nlohmann::json& surface = json["surface"];
  const auto index = [](const nlohmann::json& sizes, uint64_t bytes) {
    return static_cast<size_t>(std::find(sizes.begin(), sizes.end(), bytes) - sizes.begin());
  };
  const size_t i = index(surface["dram_bytes"], Cheapest().build.dram.bytes());
  const size_t j = index(surface["scm_bytes"], Cheapest().build.scm_bytes());
  ASSERT_LT(i, surface["dram_bytes"].size());
  ASSERT_LT(j, surface["scm_bytes"].size());
  EXPECT_NEAR(surface["throughput"][i][j].get<double>(), Cheapest().figures.prediction.throughput.value, 1);
  EXPECT_NEAR(surface["scm_hit"][i][j].get<double>(), Cheapest().figures.prediction.shares.scm, 1e-9);
}

// What is not judged is not missed: of all that can be bought, nothing that meets the targets is cheaper than the
// answer.
TEST_F(OrderedAnswerTest, NothingThatIsLeftOutIsCheaper) {
  unsigned ordered = 0;
  for (const char* price : {"value: 0.6, unit: DRAM/GB", "value: 0.2, unit: DRAM/GB"}) {
    for (const double gib : {150.0, 400.0}) {
      const SkewedSurface surface(gib * kGiB);
      question_.surface = &surface;
      question_.traffic.footprint_bytes = gib * kGiB;
      question_.book = BookWith("value: 0.6, unit: DRAM/GB", price);
      question_.book.qualification = {};
      for (const char* target : {"hit>=0.85", "hit>=0.95", "throughput>=1.2*baseline"}) {
        ASSERT_TRUE(Ask(target).ok());
        double least = HUGE_VAL;
        for (const Build& build : AllBuilds(question_.book, static_cast<uint64_t>(gib * kGiB))) {
          if (DramCacheBytes(question_, build) <= 0) continue;
          const Cost cost = CostOf(question_.book, build, false, 1);
          if (cost.total() >= least) continue;
          if (Meets(question_, answer_.bounds, Judge(question_, answer_.load, build, cost, {})).feasible)
            least = cost.total();
        }
        SCOPED_TRACE(fmt::format("{}, {} GiB, {}", price, gib, target));
        ASSERT_EQ(answer_.cheapest == kNone, std::isinf(least));
        if (answer_.cheapest == kNone) continue;
        EXPECT_NEAR(Cheapest().cost.total(), least, 1e-6);
        ordered += Cheapest().build.is_ordered() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(ordered, 3u);
}

// Look-ups that spread evenly find on each medium the share that it holds, and all that comes moves down.
TEST_F(OrderedAnswerTest, EvenLookUpsFindWhatEachMediumHolds) {
  const Build build = BuildOf(question_.book, 64, 128, 256);
  const Load load{.closed = true, .threads = 1};
  const Prediction p = Perform(question_, load, build, {.flat = 1});
  const double dram = DramCacheBytes(question_, build) / kExampleFootprint;
  EXPECT_NEAR(p.media[kFastMedium].hit, 128.0 / 600, 1e-6);
  EXPECT_NEAR(p.media[kSlowMedium].hit, 256.0 / 600, 1e-6);
  EXPECT_NEAR(p.shares.slow_scm_writes, 1 - dram, 1e-6);
  EXPECT_NEAR(p.shares.scm_writes, 1 - dram, 1e-6);
}

TEST_F(OrderedAnswerTest, OnlyTheHybridCacheOrdersMedia) {
  question_.traffic.policy = "memory_mode";
  ASSERT_TRUE(Ask("hit>=0.5").ok());
  for (const Plan& plan : answer_.plans) EXPECT_FALSE(plan.build.is_ordered()) << plan.build.Name();
  const size_t considered = answer_.considered;
  question_.traffic.policy = "adaptive";
  ASSERT_TRUE(Ask("hit>=0.5").ok());
  EXPECT_GT(answer_.considered, considered);
}

TEST_F(OrderedAnswerTest, ABaselineThatTheFastAloneBeatsIsJudged) {
  question_.book = BookWith("value: 0.6, unit: DRAM/GB", "value: 0.2, unit: DRAM/GB");
  question_.baseline = "dram:32G+scm:64G>64G";
  ASSERT_TRUE(Ask("hit>=0.01").ok());
  ASSERT_LT(answer_.baseline, answer_.plans.size());
  const Build& build = answer_.plans[answer_.baseline].build;
  EXPECT_TRUE(build.is_ordered() && IsBeatenByFastAlone(question_.book, build)) << build.Name();
}

// A second medium is another kind of server, but not to a baseline that has it.
TEST_F(OrderedAnswerTest, ASecondMediumIsQualified) {
  const auto qualifies = [&] {
    bool all = true, any = false;
    for (const Plan& plan : answer_.plans) {
      if (!plan.build.is_ordered()) continue;
      const bool is = std::ranges::any_of(plan.cost.steps,
                                          [](const CostStep& step) { return step.item == CostItem::kQualification; });
      all &= is;
      any |= is;
    }
    EXPECT_EQ(all, any);
    return any;
  };
  question_.baseline = "dram:32G+scm:64G";
  ASSERT_TRUE(Ask(kOnlyBoth).ok());
  EXPECT_TRUE(qualifies());
  question_.baseline = "dram:32G+scm:64G>64G";
  ASSERT_TRUE(Ask(kOnlyBoth).ok());
  EXPECT_FALSE(qualifies());
}

TEST_F(OrderedAnswerTest, ABaselineOfBothMediaIsRead) {
  question_.baseline = "one_socket/dram:32G+scm:128G>256G";
  ASSERT_TRUE(Ask("hit>=0.01").ok());
  const Build& build = answer_.plans[answer_.baseline].build;
  EXPECT_EQ(build.Name(), "one_socket 32 GiB + 128 GiB cxl > 256 GiB optane100, 1 x nvme_2T");
  question_.baseline = "dram:32G+scm:128G";
  ASSERT_TRUE(Ask("hit>=0.01").ok());
  EXPECT_FALSE(answer_.plans[answer_.baseline].build.is_ordered());
}

TEST_F(OrderedAnswerTest, ABaselineOfMediaThatCannotBeHadIsRefusedWithWhatWouldDo) {
  const struct {
    const char* baseline;
    const char* says;
  } cases[] = {
      {"dram:32G+scm:64G>", "--baseline=dram:32G+scm:64G>: a size stands on either side of >; it is"},
      {"dram:32G+scm:>64G", "a size stands on either side of >"},
      {"dram:32G+scm:64G>64G>64G", "there are two media at most"},
      {"dram:32G>64G", "only SCM has a fast and a slow medium"},
      {"dram:32G+scm:64G>lots", "lots"},
      {"dram:32G+scm:64G>100G", "gives that; beside that DRAM scm:64G>64G, 64G>128G, 64G>256G, 128G>128G can be had"},
      {"dram:33G+scm:64G>64G", "gives that; DRAM of 32 GiB, 64 GiB, 128 GiB, 256 GiB can be had"},
      {"dram:256G+scm:64G>64G", "beside that DRAM the book has no two kinds of SCM of which one is faster"},
  };
  for (const auto& one : cases) {
    question_.baseline = one.baseline;
    const Status status = Ask("hit>=0.01");
    EXPECT_FALSE(status.ok()) << one.baseline;
    EXPECT_THAT(status.message(), HasSubstr(one.says));
  }
}

}  // namespace
}  // namespace mezz::plan
