// SPDX-License-Identifier: Apache-2.0
// From a curve to the plan and its files, as the program runs it.
#include "workloads/plan/run_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "admission/curves/curve_file.h"
#include "tests/unit/plan/example.h"
#include "tests/unit/plan/ordered_book.h"
#include "workloads/plan/alternatives.h"
#include "workloads/plan/calibrate.h"
#include "workloads/plan/curve_surface.h"
#include "workloads/plan/predict.h"

namespace mezz::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kRequests = 1'000'000;

// SkewedSurface as a curve of two seeds that differ a little. `ratio`: so many times smaller SCM packs its records.
Curve ExampleCurve(double ratio = 1) {
  Curve curve;
  curve.form.policy = "adaptive";
  curve.form.dram_cache = "hcc";
  curve.form.block_bytes = 4096;
  curve.form.pack = ratio > 1 ? "zstd" : "off";
  curve.form.seeds = 2;
  for (uint64_t gib = 8; gib <= 1024; gib *= 2) curve.form.dram.push_back(gib * kGiB);
  curve.form.scm = curve.form.dram;
  curve.form.scm.insert(curve.form.scm.begin(), 0);
  curve.sums.hosts = 1;
  curve.sums.requests = curve.sums.counted_requests = kRequests;
  curve.sums.counted_bytes = kRequests * 4096;
  curve.sums.footprint_bytes = static_cast<uint64_t>(kExampleFootprint);
  curve.rate_min = 0.5;
  curve.traces = {"example.trace"};
  curve.warnings = {"this curve is an example"};
  const SkewedSurface surface(kExampleFootprint);
  for (uint64_t dram : curve.form.dram) {
    for (uint64_t scm : curve.form.scm) {
      const TierShares shares = surface.At(static_cast<double>(dram), ratio * static_cast<double>(scm));
      CurvePoint point{.dram_bytes = dram, .scm_bytes = scm};
      for (double seed : {0.999, 1.001}) {
        const auto count = [&](double share) {
          return static_cast<uint64_t>(std::llround(share * seed * kRequests * 0.99));
        };
        PointCounts counts;
        counts.dram_hits = count(shares.dram);
        counts.scm_in_place = count(shares.scm * 0.75);
        counts.promotions = count(shares.scm * 0.25);
        counts.scm_writes = count(shares.scm_writes);
        counts.packed_writes = ratio > 1 ? counts.scm_writes : 0;
        counts.scm_written_bytes = static_cast<uint64_t>(static_cast<double>(counts.scm_writes) * 4160 / ratio);
        point.seeds.push_back(counts);
      }
      curve.points.push_back(point);
    }
  }
  return curve;
}

nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

PlanOptions Options() {
  PlanOptions options;
  options.prices = BookPath("atc21.yaml");
  options.target = "throughput>=0.95*baseline; p99<=1ms";
  options.baseline = "dram:256G";
  return options;
}

std::string File(const char* name) { return fmt::format("{}/{}.{}", testing::TempDir(), getpid(), name); }

TEST(CurveSurface, IsTheCurveBetweenAndBelowItsSizes) {
  const Curve curve = ExampleCurve();
  const CurveSurface surface(curve);
  const SkewedSurface truth(kExampleFootprint);
  for (uint64_t dram : curve.form.dram) {
    for (uint64_t scm : curve.form.scm) {
      const TierShares found = surface.At(static_cast<double>(dram), static_cast<double>(scm));
      const TierShares is = truth.At(static_cast<double>(dram), static_cast<double>(scm));
      EXPECT_NEAR(found.dram, 0.99 * is.dram, 1e-5);
      EXPECT_NEAR(found.scm, 0.99 * is.scm, 1e-5);
      EXPECT_NEAR(found.scm_promoted, 0.25 * found.scm, 1e-5);
      EXPECT_GE(found.miss(), 0);
    }
  }
  const TierShares half = surface.At(4.0 * kGiB, 0), least = surface.At(8.0 * kGiB, 0);
  EXPECT_NEAR(half.dram, least.dram / 2, 1e-9);
  EXPECT_EQ(half.scm, 0);
  EXPECT_EQ(surface.At(0, 0).dram, 0);
  EXPECT_GT(surface.At(12.0 * kGiB, 0).dram, least.dram);
  EXPECT_NEAR(surface.At(64.0 * kGiB, 64.0 * kGiB).scm_record_bytes, 4160, 1e-6);
}

TEST(CurveSurface, OfManyHostsIsOneOfThem) {
  Curve curve = ExampleCurve();
  curve.sums.hosts = 4;
  curve.traces = {"a", "b", "c", "d"};
  const Traffic traffic = TrafficOf(curve, 2, 1);
  EXPECT_NEAR(traffic.footprint_bytes, kExampleFootprint / 4, 1);
  EXPECT_EQ(traffic.name, "a and 3 more");
  EXPECT_DOUBLE_EQ(traffic.block_bytes, 4096);
}

TEST(RunPlan, FromACurveToThePlanAndItsFiles) {
  PlanOptions options = Options();
  options.json_path = File("plan.json");
  options.csv_path = File("plan.csv");
  options.hosts = 1000;
  options.command_line = "mezz_plan --of=a --test";
  std::string text;
  ASSERT_EQ(RunPlan(options, ExampleCurve(), &text).message(), "");
  for (const char* part : {"cheapest that meets the targets: one_socket", "baseline: two_socket 256 GiB",
                           "fleet of 1000:", "more buys", "stays best", "SCM lasts", "mezzanine://dram_total=",
                           "days old", "assumed, not published", "warning: this curve is an example"})
    EXPECT_THAT(text, HasSubstr(part));
  const nlohmann::json json = ReadJson(options.json_path);
  EXPECT_EQ(json["program"], "mezz_plan");
  EXPECT_EQ(json["command_line"], options.command_line);
  EXPECT_TRUE(json["plans"][json["cheapest"].get<size_t>()]["feasible"].get<bool>());
  EXPECT_EQ(json["workload"]["name"], "example.trace");
  std::remove(options.json_path.c_str());
  std::remove(options.csv_path.c_str());
}

// The example's hits depend on the sum of both tiers: so a second tier of DRAM finds what DRAM alone finds, and later.
TEST(RunPlan, ASecondTierOfDramIsPricedAsDram) {
  Curve packed = ExampleCurve();
  packed.form.policy = "compressed";
  PlanOptions options = Options();
  options.without = "rdimm_16,rdimm_32";  // fewer servers to judge
  options.json_path = File("plan.json");
  options.alternatives = File("compressed");
  ASSERT_TRUE(WriteCurve(packed, {}, options.alternatives).ok());
  std::string text;
  ASSERT_EQ(RunPlan(options, ExampleCurve(), &text).message(), "");
  const nlohmann::json json = ReadJson(options.json_path);
  const nlohmann::json& priced = json["alternatives"][0];
  EXPECT_TRUE(priced["feasible"].get<bool>());
  EXPECT_THAT(priced["server"].get<std::string>(), Not(HasSubstr("optane"))) << "of which it makes nothing";
  EXPECT_GE(priced["cost"], json["plans"][json["cheapest_dram"].get<size_t>()]["cost"]["total"]);
  EXPECT_THAT(kBlockCacheShares, testing::Contains(priced["block_cache_share"].get<double>()));
  EXPECT_THAT(text, HasSubstr("% of its DRAM for the block cache"));
  std::remove(options.json_path.c_str());
  std::remove(options.alternatives.c_str());
}

// What a baseline of two media does is the bound, and no other use has two.
TEST(RunPlan, AlternativesToOrderedMediaHaveOneMedium) {
  Curve other = ExampleCurve();
  other.form.policy = "memory_mode";
  PlanOptions options = Options();
  options.prices = File("own.yaml");
  std::ofstream(options.prices) << OrderedBookText();
  options.baseline = "dram:32G+scm:64G>128G";
  options.target = "hit>=0.99*baseline";
  options.json_path = File("plan.json");
  options.alternatives = File("memory_mode");
  ASSERT_TRUE(WriteCurve(other, {}, options.alternatives).ok());
  std::string text;
  ASSERT_EQ(RunPlan(options, ExampleCurve(), &text).message(), "");
  const nlohmann::json json = ReadJson(options.json_path);
  EXPECT_FALSE(json["plans"][json["baseline"].get<size_t>()]["slow_scm"].is_null());
  EXPECT_TRUE(json["alternatives"][0]["feasible"].get<bool>());
  EXPECT_THAT(json["alternatives"][0]["server"].get<std::string>(), Not(HasSubstr(">")));
  for (const std::string& path : {options.prices, options.json_path, options.alternatives}) std::remove(path.c_str());
}

TEST(RunPlan, TheMemoryThatIsThereIsAChoiceBesideEachPurchase) {
  PlanOptions options = Options();
  options.without = "rdimm_16,rdimm_32";  // fewer servers to judge
  options.json_path = File("plan.json");
  options.html_path = File("plan.html");
  std::string text;
  ASSERT_TRUE(RunPlan(options, ExampleCurve(3), &text).ok());
  EXPECT_THAT(text, testing::AllOf(HasSubstr("no purchase: pack what you have: "), HasSubstr("@dram;")));
  const nlohmann::json json = ReadJson(options.json_path);
  EXPECT_EQ(json["no_purchase"]["verdict"], "recommended");
  std::ifstream page(options.html_path);
  const std::string html{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  EXPECT_THAT(html, HasSubstr("pack what you have: "));
  ASSERT_TRUE(RunPlan(options, ExampleCurve(), &text).ok());
  EXPECT_EQ(ReadJson(options.json_path)["no_purchase"]["verdict"], "raw");
  EXPECT_THAT(text, Not(HasSubstr("@dram")));
  std::remove(options.json_path.c_str());
  std::remove(options.html_path.c_str());
}

TEST(RunPlan, WhatIsMissingOrWrongIsNamed) {
  const struct {
    void (*spoil)(PlanOptions*);
    const char* says;
  } cases[] = {
      {[](PlanOptions* o) { o->prices.clear(); }, "--prices is missing"},
      {[](PlanOptions* o) { o->target.clear(); }, "--target is missing"},
      {[](PlanOptions* o) { o->baseline.clear(); }, "--baseline is missing"},
      {[](PlanOptions* o) { o->prices = "/nowhere.yaml"; }, "--prices=/nowhere.yaml cannot be read"},
      {[](PlanOptions* o) { o->target = "speed>=1"; }, "\"speed\" is no metric"},
      {[](PlanOptions* o) { o->flash = "tape"; }, "--flash=tape is not known"},
      {[](PlanOptions* o) { o->flash = "disk"; }, "--flash=disk is no model"},
      {[](PlanOptions* o) { o->hosts = 0; }, "--hosts=0"},
      {[](PlanOptions* o) { o->hosts = 1.5; }, "--hosts=1.5; it is a whole number"},
      {[](PlanOptions* o) { o->hosts = 1e300; }, "--hosts=1e+300"},
      {[](PlanOptions* o) { o->growth = -1; }, "--growth=-1"},
      {[](PlanOptions* o) { o->rate = -1; }, "--ops_per_s=-1"},
      {[](PlanOptions* o) { o->threads = 5000; }, "--threads=5000 is too many"},
      {[](PlanOptions* o) { o->lookups_per_operation = 1e6; }, "--lookups="},
      {[](PlanOptions* o) { o->calibration = "/nowhere"; }, "--calibration=/nowhere cannot be read"},
      {[](PlanOptions* o) { o->calibration = "/"; }, "--calibration=/ cannot be read"},
      {[](PlanOptions* o) { o->prices = "/"; }, "--prices=/ cannot be read"},
      {[](PlanOptions* o) { o->without = "rdimm_7"; }, "--without=rdimm_7"},
      {[](PlanOptions* o) { o->without = "rdimm_16,"; }, "--without=rdimm_16, has an empty item"},
      {[](PlanOptions* o) { o->reserved_bytes = 300 * kGiB; }, "--dram_reserved=300G leaves"},
      {[](PlanOptions* o) { o->growth = 1e5; }, "no server has slots for drives that hold the data"},
      {[](PlanOptions* o) { o->json_path = "/nowhere/plan.json"; }, "--json=/nowhere/plan.json"},
  };
  for (const auto& one : cases) {
    PlanOptions options = Options();
    one.spoil(&options);
    std::string text;
    const Status status = RunPlan(options, ExampleCurve(), &text);
    EXPECT_FALSE(status.ok()) << one.says;
    EXPECT_THAT(status.message(), HasSubstr(one.says));
  }
}

TEST(RunPlan, ACurveOfAnotherCacheIsNotPlannedWith) {
  for (const char* const policy : {"memory_mode", "compressed"}) {
    Curve other = ExampleCurve();
    other.form.policy = policy;
    std::string text;
    EXPECT_THAT(RunPlan(Options(), other, &text).message(),
                testing::AllOf(HasSubstr(policy), HasSubstr("by --alternatives"), HasSubstr("adaptive")));
  }
}

// The planner and predict are one model: the same machine, the same figures.
TEST(Predict, SaysWhatThePlanSays) {
  PlanOptions plan = Options();
  plan.json_path = File("as_plan.json");
  plan.threads = 40;
  std::string text;
  ASSERT_TRUE(RunPlan(plan, ExampleCurve(), &text).ok());
  PredictOptions options;
  options.sizes = "256G,32G+256G";
  options.cores = options.threads = 40;
  options.json_path = File("as_prediction.json");
  ASSERT_TRUE(RunPredict(options, ExampleCurve(), &text).ok());
  const nlohmann::json planned = ReadJson(plan.json_path), predicted = ReadJson(options.json_path);
  const auto& baseline = planned["plans"][planned["baseline"].get<size_t>()];
  EXPECT_EQ(predicted["rows"][0]["throughput"], baseline["throughput"]);
  EXPECT_EQ(predicted["rows"][0]["p99_us"], baseline["p99_us"]);
  EXPECT_GT(predicted["rows"][1]["scm_hit"].get<double>(), 0.05);
  std::remove(plan.json_path.c_str());
  std::remove(options.json_path.c_str());
}

TEST(Predict, OrderedMediaAreReadEachByItsModel) {
  PredictOptions options;
  options.sizes = "32G+64G>192G,32G+256G";
  options.model = "cxl,optane100";
  options.emulated = true;
  options.cores = options.threads = 4;
  options.json_path = File("ordered.json");
  std::string text;
  ASSERT_EQ(RunPredict(options, ExampleCurve(), &text).message(), "");
  EXPECT_THAT(text, HasSubstr("32 GiB + 64 GiB > 192 GiB"));
  const nlohmann::json rows = ReadJson(options.json_path)["rows"];
  const nlohmann::json &both = rows[0], &fast = rows[1];
  EXPECT_EQ(both["slow_scm_bytes"], 192 * kGiB);
  EXPECT_NEAR(both["scm_hit"].get<double>(), fast["scm_hit"].get<double>(), 1e-9) << "of as many bytes";
  EXPECT_GT(both["slow_scm_hit"], 0.01);
  EXPECT_GT(both["slow_scm_written_bytes_per_s"], 0);
  EXPECT_LT(both["throughput"]["value"], fast["throughput"]["value"]) << "the whole is read as the fast one";
  EXPECT_EQ(fast["slow_scm_bytes"], 0);
  EXPECT_EQ(fast["slow_scm_hit"], 0);
  std::remove(options.json_path.c_str());
}

// Of the calibration: how many look-ups an operation is, unless told otherwise, and how many reads a miss is.
TEST(Predict, AndThePlanKnowWhatWasCalibrated) {
  const std::string path = File("calibration.json");
  Calibration calibration;
  calibration.lookups_per_operation = 8;
  calibration.reads_per_miss = 0.25;
  std::ofstream(path) << CalibrationToJson(calibration);
  for (const double lookups : {0.0, 2.0}) {
    PredictOptions options;
    options.sizes = "64G";
    options.calibration = path;
    options.lookups_per_operation = lookups;
    options.json_path = File("as_calibrated.json");
    std::string text;
    ASSERT_TRUE(RunPredict(options, ExampleCurve(), &text).ok()) << text;
    const nlohmann::json row = ReadJson(options.json_path)["rows"][0];
    const double misses = (lookups > 0 ? lookups : 8) * row["miss"].get<double>();
    EXPECT_NEAR(row["flash_reads_per_s"].get<double>() / row["throughput"]["value"].get<double>(), 0.25 * misses, 1e-6);
    PlanOptions plan = Options();
    plan.calibration = path;
    plan.lookups_per_operation = lookups;
    plan.json_path = options.json_path;
    ASSERT_TRUE(RunPlan(plan, ExampleCurve(), &text).ok());
    const nlohmann::json workload = ReadJson(plan.json_path)["workload"];
    EXPECT_EQ(workload["lookups_per_operation"], lookups > 0 ? lookups : 8);
    EXPECT_EQ(workload["reads_per_miss"], 0.25);
    std::remove(plan.json_path.c_str());
  }
  std::remove(path.c_str());
}

TEST(Predict, WhatIsWrongIsNamed) {
  const struct {
    void (*spoil)(PredictOptions*);
    const char* says;
  } cases[] = {
      {[](PredictOptions* o) { o->sizes.clear(); }, "--sizes is missing"},
      {[](PredictOptions* o) { o->sizes = "1G+many"; }, "many"},
      {[](PredictOptions* o) { o->sizes = "64G,"; }, "--sizes=64G, has an empty item"},
      {[](PredictOptions* o) { o->sizes = "1M+1T"; },
       "--sizes=1M+1T: index and policy for 1 TiB of SCM take more than 1 MiB"},
      {[](PredictOptions* o) { o->model = "tape"; }, "SCM model tape"},
      {[](PredictOptions* o) { o->sizes = "64G+1G>2G"; }, "name the models of both, such as --model=cxl,optane100"},
      {[](PredictOptions* o) { o->sizes = "64G,64G+1G>"; }, "--sizes=64G,64G+1G>: \"64G+1G>\" lacks a size"},
      {[](PredictOptions* o) { o->sizes = "64G+"; }, "--sizes=64G+: \"64G+\" lacks a size"},
      {[](PredictOptions* o) { o->sizes = "+64G"; }, "--sizes=+64G: \"+64G\" lacks a size"},
      {[](PredictOptions* o) { o->sizes = "64G+>1G"; }, "--sizes=64G+>1G: \"64G+>1G\" lacks a size"},
      {[](PredictOptions* o) { o->model = "optane100,cxl"; }, "of ordered media the faster comes first"},
      {[](PredictOptions* o) { o->model = "cxl,tape"; }, "SCM model tape"},
      {[](PredictOptions* o) { o->flash = "disk"; }, "--flash=disk needs a --calibration"},
      {[](PredictOptions* o) { o->threads = 1'000'000; }, "--threads=1000000 is too many"},
      {[](PredictOptions* o) { o->rate = -1000; }, "--ops_per_s=-1000"},
      {[](PredictOptions* o) { o->lookups_per_operation = HUGE_VAL; }, "--lookups=inf"},
  };
  for (const auto& one : cases) {
    PredictOptions options;
    options.sizes = "64G";
    one.spoil(&options);
    std::string text;
    EXPECT_THAT(RunPredict(options, ExampleCurve(), &text).message(), HasSubstr(one.says));
  }
}

// Twice the data on the same trace is what half the memory would have done.
TEST(RunPlan, GrowthScalesTheCurve) {
  const auto hit = [](double growth, const char* baseline) {
    PlanOptions options = Options();
    options.growth = growth;
    options.baseline = baseline;
    options.json_path = File("growth.json");
    std::string text;
    EXPECT_TRUE(RunPlan(options, ExampleCurve(), &text).ok());
    const nlohmann::json json = ReadJson(options.json_path);
    std::remove(options.json_path.c_str());
    return json["plans"][json["baseline"].get<size_t>()]["dram_hit"].get<double>();
  };
  EXPECT_NEAR(hit(2, "dram:256G"), hit(1, "dram:128G"), 1e-9);
  EXPECT_LT(hit(2, "dram:256G"), hit(1, "dram:256G"));
}

// What is not to be had is in no plan.
TEST(RunPlan, WithoutAModule) {
  PlanOptions options = Options();
  options.without = "optane_128";
  options.csv_path = File("without.csv");
  std::string text;
  ASSERT_TRUE(RunPlan(options, ExampleCurve(), &text).ok());
  std::ifstream file(options.csv_path);
  std::string csv{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(csv, testing::Not(HasSubstr("optane100")));
  std::remove(options.csv_path.c_str());
}

}  // namespace
}  // namespace mezz::plan
