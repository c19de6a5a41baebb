// SPDX-License-Identifier: Apache-2.0
#include "workloads/generators/generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "../../support/requests.h"
#include "generate.h"
#include "workloads/generators/random.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

class EveryGenerator : public ::testing::TestWithParam<std::string_view> {
 protected:
  GeneratorOptions Options(uint64_t keys, uint64_t ops, uint64_t seed = 1) const {
    return {.name = std::string(GetParam()), .keys = keys, .ops = ops, .seed = seed};
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryGenerator, ::testing::ValuesIn(GeneratorNames()),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(EveryGenerator, GivesTheSameRequestsForTheSameSeedAndOthersForAnother) {
  const auto first = GenerateAll(Options(10000, 5000, 7));
  const auto again = GenerateAll(Options(10000, 5000, 7));
  const auto other = GenerateAll(Options(10000, 5000, 8));
  ASSERT_EQ(first.size(), 5000u);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST_P(EveryGenerator, RewindsToTheSameRequests) {
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(MakeGenerator(Options(1000, 100), &source).ok());
  std::vector<Request> passes[2];
  for (auto& pass : passes) {
    for (Request request; source->Next(&request);) pass.push_back(request);
    ASSERT_TRUE(source->Rewind().ok());
  }
  ASSERT_EQ(passes[0].size(), 100u);
  EXPECT_EQ(passes[0], passes[1]);
}

TEST_P(EveryGenerator, NamesOnlyKeysThatExist) {
  for (uint64_t keys : {1ull, 2ull, 7ull, 29ull, 31ull, 1000ull, 1ull << 40}) {
    for (const Request& request : GenerateAll(Options(keys, 2000))) ASSERT_LT(request.key, keys);
  }
}

TEST_P(EveryGenerator, SharesTheRequestsOutOverDifferentSubstreams) {
  std::vector<Request> streams[3];
  size_t total = 0;
  for (unsigned i = 0; i < 3; ++i) {
    GeneratorOptions options = Options(1 << 20, 1000);
    options.stream = i;
    options.streams = 3;
    streams[i] = GenerateAll(options);
    total += streams[i].size();
  }
  EXPECT_EQ(total, 1000u);
  EXPECT_NE(streams[1], streams[2]);
}

TEST(Generators, RefuseWhatMakesNoSense) {
  std::unique_ptr<RequestSource> source;
  EXPECT_THAT(MakeGenerator({.name = "zipff", .keys = 1}, &source).message(),
              HasSubstr("gen:zipff is not known; one of gen:uniform, gen:zipf, gen:production"));
  EXPECT_THAT(MakeGenerator({.name = "zipf", .keys = 1ull << 41}, &source).message(),
              HasSubstr("--keys=2199023255552"));
  EXPECT_THAT(MakeGenerator({.name = "zipf", .scale = 0}, &source).message(), HasSubstr("--scale=0"));
  EXPECT_THAT(MakeGenerator({.name = "ycsb_a", .skew = 0.5}, &source).message(), HasSubstr("--skew=0.5"));
  EXPECT_THAT(MakeGenerator({.name = "zipf", .keys = 1, .skew = 1e9}, &source).message(), HasSubstr("--skew"));
  EXPECT_THAT(MakeGenerator({.name = "zipf", .keys = 1, .skew = NAN}, &source).message(), HasSubstr("--skew"));
  EXPECT_THAT(MakeGenerator({.name = "production", .keys = 1, .skew = 1}, &source).message(), HasSubstr("--skew=1"));
  EXPECT_THAT(MakeGenerator({.name = "zipf", .keys = 1, .put_share = 1.5}, &source).message(),
              HasSubstr("--put_share=1.5"));
  EXPECT_THAT(MakeGenerator({.name = "production", .keys = 1, .put_share = 0.1}, &source).message(),
              HasSubstr("puts of its own"));
}

TEST(Generators, ScaleDividesTheKeysNamedOrTheWorkloadsOwn) {
  const auto keys = [](const GeneratorOptions& options) {
    uint64_t count = 0;
    EXPECT_TRUE(GeneratorKeys(options, &count).ok());
    return count;
  };
  EXPECT_EQ(keys({.name = "zipf"}), 1'000'000u);
  EXPECT_EQ(keys({.name = "zipf", .keys = 1000, .scale = 10}), 100u);
  EXPECT_EQ(keys({.name = "zipf", .keys = 5, .scale = 10}), 1u);
  EXPECT_EQ(keys({.name = "blob_metadata", .scale = 256}), 50'000'000u) << "what FAST'20 loads";
  for (const Request& request : GenerateAll({.name = "messaging", .keys = 5000, .scale = 50, .ops = 1000})) {
    ASSERT_LT(request.key, 100u);
  }
}

TEST(Generators, GiveTheNeighbourOfAScaleTheSameShape) {
  // A share of the keys takes about the same share of the requests at any scale: what a cache scaled alike sees.
  for (std::string_view name : {"messaging", "blob_metadata", "laser"}) {
    double share[2] = {};
    for (int i = 0; i < 2; ++i) {
      const uint64_t keys = i == 0 ? 64'000 : 256'000;
      const auto sorted =
          Descending(CountKeys(GenerateAll({.name = std::string(name), .keys = keys, .ops = 2'000'000}), keys));
      const auto top = static_cast<std::ptrdiff_t>(keys / 20);
      share[i] = static_cast<double>(std::accumulate(sorted.begin(), sorted.begin() + top, uint64_t{0})) / 2e6;
    }
    EXPECT_NEAR(share[0], share[1], 0.06) << name;
  }
}

TEST(Generators, PutTheShareAskedForAndLeaveTheKeysAlone) {
  for (const char* name : {"uniform", "zipf"}) {
    const auto reads = GenerateAll({.name = name, .keys = 1000, .ops = 100000});
    const auto mixed = GenerateAll({.name = name, .keys = 1000, .ops = 100000, .put_share = 0.1});
    ASSERT_EQ(reads.size(), mixed.size());
    uint64_t puts = 0;
    for (size_t i = 0; i < reads.size(); ++i) {
      ASSERT_EQ(reads[i].key, mixed[i].key);
      ASSERT_EQ(reads[i].operation, Operation::kGet);
      puts += mixed[i].operation == Operation::kPut;
    }
    EXPECT_NEAR(static_cast<double>(puts), 10000, 400) << name;  // four deviations of 95
  }
}

TEST(Permutation, IsABijection) {
  for (uint64_t size : {1, 2, 3, 5, 64, 1000, 4097}) {
    for (uint64_t seed : {1, 2}) {
      const Permutation permutation(size, seed);
      std::unordered_set<uint64_t> images;
      for (uint64_t i = 0; i < size; ++i) {
        ASSERT_LT(permutation(i), size);
        images.insert(permutation(i));
      }
      EXPECT_EQ(images.size(), size);
    }
  }
}

TEST(Uniform, HitsEveryKeyAboutEquallyOften) {
  constexpr uint64_t kKeys = 100;
  constexpr uint64_t kOps = 100000;
  double chi_square = 0;
  for (uint64_t count : Descending(CountKeys(GenerateAll({.name = "uniform", .keys = kKeys, .ops = kOps}), kKeys))) {
    const double off = static_cast<double>(count) - kOps / kKeys;
    chi_square += off * off / (kOps / kKeys);
  }
  EXPECT_LT(chi_square, 160);  // 99 degrees of freedom: the mean is 99, the deviation 14
}

TEST(Zipf, GivesEachRankItsShare) {
  constexpr uint64_t kKeys = 1000;
  constexpr uint64_t kOps = 400000;
  for (double skew : {0.5, 0.99, 1.0, 1.3}) {
    double norm = 0;
    for (uint64_t rank = 1; rank <= kKeys; ++rank) norm += std::pow(rank, -skew);
    const auto counts =
        Descending(CountKeys(GenerateAll({.name = "zipf", .keys = kKeys, .ops = kOps, .skew = skew}), kKeys));
    for (uint64_t rank : {1, 2, 10}) {
      const double want = std::pow(rank, -skew) / norm * kOps;
      EXPECT_NEAR(static_cast<double>(counts[rank - 1]), want, 5 * std::sqrt(want) + 0.02 * want)
          << "skew " << skew << ", rank " << rank;
    }
  }
}

TEST(Zipf, ScattersThePopularKeys) {
  constexpr uint64_t kKeys = 1 << 20;
  const auto counts = CountKeys(GenerateAll({.name = "zipf", .keys = kKeys, .ops = 200000}), kKeys);
  std::vector<std::pair<uint64_t, uint64_t>> by_count;
  for (uint64_t key = 0; key < kKeys; ++key)
    if (counts[key] != 0) by_count.emplace_back(counts[key], key);
  std::sort(by_count.rbegin(), by_count.rend());
  for (size_t i = 1; i < 20; ++i) {
    const auto distance =
        std::max(by_count[i].second, by_count[i - 1].second) - std::min(by_count[i].second, by_count[i - 1].second);
    EXPECT_GT(distance, 16u) << "ranks " << i << " and " << i + 1 << " are neighbours";
  }
}

class Production : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 300000;
  static constexpr uint64_t kOps = 600000;
  static const std::vector<Request>& Requests() {
    static const auto* requests =
        new std::vector<Request>(GenerateAll({.name = "production", .keys = kKeys, .ops = kOps}));
    return *requests;
  }
  static size_t RangeOf(uint64_t key) { return key * 30 / kKeys; }
  static double Share(Operation operation) { return ShareOf(Requests(), operation); }
};

TEST_F(Production, MixesGetsPutsAndSeeksAsPublished) {
  EXPECT_NEAR(Share(Operation::kGet), 0.83, 0.005);
  EXPECT_NEAR(Share(Operation::kPut), 0.14, 0.005);
  EXPECT_NEAR(Share(Operation::kSeek), 0.03, 0.003);
}

TEST_F(Production, HasHotRangesButNoneThatIsNearlyEverything) {
  std::vector<double> share(30, 0);
  for (const Request& request : Requests()) share[RangeOf(request.key)] += 1.0 / kOps;
  std::sort(share.rbegin(), share.rend());
  EXPECT_NEAR(share[0], 0.25, 0.01);
  EXPECT_LT(share[0], 0.30);
  EXPECT_GT(share[0], 3 * share[2]);
  EXPECT_GT(share[29], 0.003) << "no range is dead";
}

TEST_F(Production, FollowsThePublishedPowerLawWithinARange) {
  constexpr uint64_t kKeysOfRange = kKeys / 30;
  const std::vector<uint64_t> of_keys = CountKeys(Requests(), kKeys);
  std::vector<uint64_t> counts;  // of the hottest range
  uint64_t most = 0;
  for (auto range = of_keys.begin(); range != of_keys.end(); range += kKeysOfRange) {
    const uint64_t sum = std::accumulate(range, range + kKeysOfRange, uint64_t{0});
    if (sum <= most) continue;
    most = sum;
    counts.assign(range, range + kKeysOfRange);
  }
  std::sort(counts.rbegin(), counts.rend());
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  const double top = static_cast<double>(std::accumulate(counts.begin(), counts.begin() + 100, uint64_t{0}));
  EXPECT_NEAR(top / total, std::pow(0.01, 0.3467), 0.02);  // the hottest 1 % of 10,000 keys
}

TEST_F(Production, ChoosesTheOperationApartFromTheKey) {
  // Chi-square of independence, operations x ranges: 58 degrees of freedom, deviation 11.
  double counts[3][30] = {};
  double by_operation[3] = {};
  double by_range[30] = {};
  for (const Request& request : Requests()) {
    const size_t operation = request.operation == Operation::kGet ? 0 : request.operation == Operation::kPut ? 1 : 2;
    ++counts[operation][RangeOf(request.key)];
    ++by_operation[operation];
    ++by_range[RangeOf(request.key)];
  }
  double chi_square = 0;
  for (size_t o = 0; o < 3; ++o) {
    for (size_t r = 0; r < 30; ++r) {
      const double want = by_operation[o] * by_range[r] / kOps;
      chi_square += (counts[o][r] - want) * (counts[o][r] - want) / want;
    }
  }
  EXPECT_LT(chi_square, 120);

  std::vector<std::pair<uint64_t, uint64_t>> gets_and_puts(kKeys);  // mixgraph's keys are one or the other
  for (const Request& request : Requests()) {
    if (request.operation == Operation::kGet) ++gets_and_puts[request.key].first;
    if (request.operation == Operation::kPut) ++gets_and_puts[request.key].second;
  }
  for (const auto& [gets, puts] : gets_and_puts) {
    if (gets + puts < 200) continue;
    EXPECT_GT(gets, 0u);
    EXPECT_GT(puts, 0u);
  }
}

TEST_F(Production, HasTheValueSizesOfThePublishedDistribution) {
  double sum = 0;
  double puts = 0;
  uint32_t largest = 0;
  for (const Request& request : Requests()) {
    if (request.operation != Operation::kPut) continue;
    sum += request.value_bytes;
    ++puts;
    largest = std::max(largest, request.value_bytes);
  }
  // Mean sigma / (1 - k) = 34.5; rounding up adds a half, the cut at 1,024 takes less than that.
  EXPECT_NEAR(sum / puts, 25.45 / (1 - 0.2615), 1.0);
  EXPECT_LE(largest, 1024u);

  ValueSizes sizes;
  ASSERT_TRUE(GeneratorValueSizes({.name = "production"}, &sizes).ok());
  double initial = 0;
  for (uint64_t key = 0; key < 100000; ++key) initial += sizes(key);
  EXPECT_NEAR(initial / 100000, 25.45 / (1 - 0.2615), 1.0);
}

TEST_F(Production, ScansAFewEntriesMostly) {
  std::vector<uint32_t> lengths;
  for (const Request& request : Requests()) {
    if (request.operation == Operation::kSeek) lengths.push_back(request.scan_length);
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 1u);
  EXPECT_LE(lengths.back(), 1000u);
  EXPECT_NEAR(lengths[lengths.size() / 2], 20, 5);  // the cut takes the median from 26.7 to this
}

}  // namespace
}  // namespace mezz
