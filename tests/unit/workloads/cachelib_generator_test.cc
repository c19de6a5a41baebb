// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>

#include "generate.h"
#include "tests/support/temporary_folder.h"
#include "workloads/generators/cachelib_model.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kConfig[] = R"({"test_config": {"getRatio": 0.6, "setRatio": 0.1, "delRatio": 0.1, "loneGetRatio": 0.15,
  "loneSetRatio": 0.05, "popDistFile": "pop.json", "valSizeDistFile": "sizes.json"}})";
constexpr char kPopularity[] = R"({"popularityBuckets": [10, 100, 890], "popularityWeights": [5000, 3000, 2000]})";
constexpr char kSizes[] = R"({"valSizeRange": [100, 1000], "valSizeRangeProbability": [3, 1]})";

class CachelibGenerator : public ::testing::Test {
 protected:
  CachelibGenerator() {
    folder_.Write("config.json", kConfig);
    folder_.Write("pop.json", kPopularity);
    folder_.Write("sizes.json", kSizes);
  }
  std::string Name() const { return "cachelib:" + folder_.Path(""); }
  std::string Error() const {
    CachelibModel model;
    return CachelibModel::Load(folder_.Path(""), &model).message();
  }

  TemporaryFolder folder_;
};

TEST_F(CachelibGenerator, GivesEachOperationAndEachBucketItsShare) {
  constexpr uint64_t kOps = 400'000;
  const auto requests = GenerateAll({.name = Name(), .ops = kOps});
  EXPECT_NEAR(ShareOf(requests, Operation::kGet), 0.75, 0.004);
  EXPECT_NEAR(ShareOf(requests, Operation::kPut), 0.15, 0.004);
  EXPECT_NEAR(ShareOf(requests, Operation::kDelete), 0.1, 0.004);
  uint64_t keys = 0;
  ASSERT_TRUE(GeneratorKeys({.name = Name()}, &keys).ok());
  EXPECT_EQ(keys, 1000u + 2500u) << "10,000 recorded accesses are 0.8 of all: 2,500 were lone";
  const auto counts = Descending(CountKeys(requests));
  const auto top = [&](std::ptrdiff_t n) {
    return static_cast<double>(std::accumulate(counts.begin(), counts.begin() + n, uint64_t{0})) / kOps;
  };
  EXPECT_NEAR(top(10), 0.8 * 0.5, 0.004);
  EXPECT_NEAR(top(110), 0.8 * 0.8, 0.004);
}

TEST_F(CachelibGenerator, AsksForALoneKeyOnceInATurn) {
  // 20 % of 10,000 requests are lone: 2,000 of the 2,500 lone keys, each once.
  const auto requests = GenerateAll({.name = Name(), .ops = 10'000});
  std::map<uint64_t, uint64_t> once;
  for (const auto& [key, count] : CountKeys(requests)) once[count] += 1;
  EXPECT_GT(once[1], 1800u);
  EXPECT_LT(CountKeys(requests).size(), 3100u);
}

TEST_F(CachelibGenerator, KeepsSharesWhenSqueezed) {
  const auto requests = GenerateAll({.name = Name(), .scale = 5, .ops = 400'000});
  for (const Request& request : requests) ASSERT_LT(request.key, 700u);
  const auto counts = Descending(CountKeys(requests));
  const double top = static_cast<double>(std::accumulate(counts.begin(), counts.begin() + 22, uint64_t{0})) / 400'000;
  EXPECT_NEAR(top, 0.8 * 0.8, 0.02) << "110 of 1,000 keys";
}

TEST_F(CachelibGenerator, ChoosesAValuesSizeByItsKey) {
  ValueSizes sizes;
  ASSERT_TRUE(GeneratorValueSizes({.name = Name()}, &sizes).ok());
  double small = 0;
  for (uint64_t key = 0; key < 10'000; ++key) {
    ASSERT_TRUE(sizes(key) == 100 || sizes(key) == 1000);
    small += sizes(key) == 100;
  }
  EXPECT_NEAR(small / 10'000, 0.75, 0.02);
  for (const Request& request : GenerateAll({.name = Name(), .ops = 1000})) {
    if (request.operation != Operation::kPut) continue;
    ASSERT_EQ(request.value_bytes, sizes(request.key));
  }
}

TEST_F(CachelibGenerator, NamesFileAndEntryOfWhatItCannotUse) {
  EXPECT_EQ(Error(), "");
  folder_.Write("pop.json", R"({"popularityBuckets": [1, -2], "popularityWeights": [1, 2]})");
  EXPECT_THAT(Error(), AllOf(HasSubstr("pop.json"), HasSubstr("popularityBuckets")));
  folder_.Write("pop.json", R"({"popularityBuckets": [1], "popularityWeights": [1, 2]})");
  EXPECT_THAT(Error(), HasSubstr("popularityWeights"));
  folder_.Write("pop.json", "[");
  EXPECT_THAT(Error(), HasSubstr("not a JSON object"));
  folder_.Write("pop.json", kPopularity);
  folder_.Write("sizes.json", R"({"valSizeRange": [1e10], "valSizeRangeProbability": [1]})");
  EXPECT_THAT(Error(), HasSubstr("valSizeRange"));
  folder_.Write("config.json", R"({"test_config": {"getRatio": 2}})");
  EXPECT_THAT(Error(), HasSubstr("getRatio"));
  folder_.Write("config.json", R"({"test_config": {"poolDistributions": [{}, {}]}})");
  EXPECT_THAT(Error(), HasSubstr("2 pools"));
  std::unique_ptr<RequestSource> source;
  EXPECT_THAT(MakeGenerator({.name = "cachelib:/nowhere"}, &source).message(), HasSubstr("/nowhere/config.json"));
  EXPECT_THAT(MakeGenerator({.name = "cachelib:"}, &source).message(), HasSubstr("is not known"));
}

TEST(CachelibModels, OfThePublicTraceSetHaveTheSkewTheyAreKnownFor) {
  const char* named = std::getenv("MEZZ_TRACES");
#ifdef MEZZ_TRACES_FOLDER
  const std::string traces = named != nullptr ? named : MEZZ_TRACES_FOLDER;
#else
  const std::string traces = named != nullptr ? named : "";
#endif
  const std::string models = traces + "/models/cachelib/";
  if (traces.empty() || !std::filesystem::exists(models)) GTEST_SKIP() << "no public traces; set MEZZ_TRACES";
  const struct {
    const char* folder;
    uint64_t popular_keys;
    double top_percent;  // share of accesses to the hottest 1 % of the keys
  } kKnown[] = {{"hit_ratio/graph_cache_leader_fbobj", 27'564'687, 0.107},
                {"hit_ratio/graph_cache_leader_assocs", 27'855'311, 0.327},
                {"hit_ratio/kvcache_reg", 10'483'642, 0.724},
                {"ssd_perf/kvcache_l2_reg", 572'504, 0.803},
                {"ssd_perf/kvcache_l2_wc", 9'008'202, 0.439}};
  for (const auto& known : kKnown) {
    CachelibModel model;
    ASSERT_EQ(CachelibModel::Load(models + known.folder, &model).message(), "");
    EXPECT_EQ(model.popular_keys(), known.popular_keys);
    const double lone = model.lone_get + model.lone_set;
    constexpr uint64_t kOps = 200'000;
    const uint64_t scale = std::max<uint64_t>(1, model.keys() / 100'000);
    const auto counts =
        Descending(CountKeys(GenerateAll({.name = "cachelib:" + models + known.folder, .scale = scale, .ops = kOps})));
    const auto top = static_cast<std::ptrdiff_t>(model.popular_keys() / scale / 100);
    const double share = static_cast<double>(std::accumulate(counts.begin(), counts.begin() + top, uint64_t{0})) / kOps;
    EXPECT_NEAR(share / (1 - lone), known.top_percent, 0.03) << known.folder;
  }
}

}  // namespace
}  // namespace mezz
