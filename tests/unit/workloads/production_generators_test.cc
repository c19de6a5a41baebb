// SPDX-License-Identifier: Apache-2.0
// The three production workloads against the constants their files cite, and against the traps of db_bench's mixgraph.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "../../support/requests.h"
#include "generate.h"

namespace mezz {
namespace {

constexpr uint64_t kKeys = 300'000;
constexpr uint64_t kOps = 600'000;
constexpr size_t kRanges = 30;

class ProductionWorkload : public ::testing::TestWithParam<const char*> {
 protected:
  static const std::vector<Request>& Requests() {
    static std::map<std::string, std::vector<Request>> made;
    std::vector<Request>& requests = made[GetParam()];
    if (requests.empty()) requests = GenerateAll({.name = GetParam(), .keys = kKeys, .ops = kOps});
    return requests;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ProductionWorkload, ::testing::Values("messaging", "blob_metadata", "laser"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(ProductionWorkload, ReadsMostly) {
  EXPECT_GT(ShareOf(Requests(), Operation::kGet) + ShareOf(Requests(), Operation::kSeek), 0.8);
  EXPECT_GT(ShareOf(Requests(), Operation::kPut), 0.01);
}

// mixgraph: one of 30 ranges takes 79 % of all requests.
TEST_P(ProductionWorkload, HasNoRangeThatIsNearlyEverythingAndNoneThatIsDead) {
  std::vector<double> share(kRanges, 0);
  for (const Request& request : Requests()) share[request.key * kRanges / kKeys] += 1.0 / kOps;
  EXPECT_LT(*std::max_element(share.begin(), share.end()), 0.3);
  EXPECT_GT(*std::min_element(share.begin(), share.end()), 0.003);
}

// mixgraph: the operation follows from the number that chose the key, so a key is put or read, never both.
TEST_P(ProductionWorkload, ReadsTheKeysItPutsAndPutsTheKeysItReads) {
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> reads_and_puts;
  for (const Request& request : Requests()) {
    auto& [reads, puts] = reads_and_puts[request.key];
    ++(request.operation == Operation::kPut ? puts : reads);
  }
  const double put_share = ShareOf(Requests(), Operation::kPut);
  double chi_square = 0;
  double keys = 0;
  for (const auto& [key, counts] : reads_and_puts) {
    const auto total = static_cast<double>(counts.first + counts.second);
    if (total * put_share < 10) continue;
    const double off = static_cast<double>(counts.second) - total * put_share;
    chi_square += off * off / (total * put_share * (1 - put_share));
    ++keys;
  }
  ASSERT_GT(keys, 5);
  EXPECT_LT(chi_square, keys + 5 * std::sqrt(2 * keys)) << "puts are spread over the popular keys like reads";
}

// mixgraph: scan lengths come from a distribution without a mean, taken modulo 10,000.
TEST_P(ProductionWorkload, ScansAFewEntries) {
  double sum = 0;
  double seeks = 0;
  for (const Request& request : Requests()) {
    if (request.operation != Operation::kSeek) continue;
    ASSERT_GE(request.scan_length, 1u);
    ASSERT_LE(request.scan_length, 1000u);
    sum += request.scan_length;
    ++seeks;
  }
  if (seeks > 0) {
    EXPECT_LT(sum / seeks, 100);
  }
}

// mixgraph: without key_dist_a and key_dist_b, keys are uniform whatever else is set.
TEST_P(ProductionWorkload, IsSkewedByDefault) {
  const auto counts = Descending(CountKeys(Requests()));
  const double top = static_cast<double>(std::accumulate(counts.begin(), counts.begin() + kKeys / 100, uint64_t{0}));
  EXPECT_GT(top / kOps, 0.1) << "the hottest 1 % of the keys";
}

TEST_P(ProductionWorkload, PutsValuesOfTheSizesThatKeysHaveFromTheStart) {
  ValueSizes sizes;
  ASSERT_TRUE(GeneratorValueSizes({.name = GetParam()}, &sizes).ok());
  double initial = 0;
  for (uint64_t key = 0; key < kKeys; ++key) initial += sizes(key);
  double put = 0;
  double puts = 0;
  for (const Request& request : Requests()) {
    if (request.operation != Operation::kPut) continue;
    put += request.value_bytes;
    ++puts;
  }
  EXPECT_NEAR(put / puts, initial / kKeys, 0.05 * initial / kKeys);
}

TEST(BlobMetadata, IsTheStreamOfProduction) {
  EXPECT_EQ(GenerateAll({.name = "blob_metadata", .keys = 1000, .ops = 1000}),
            GenerateAll({.name = "production", .keys = 1000, .ops = 1000}));
}

TEST(Messaging, HasThePublishedValueSizes) {
  ValueSizes sizes;
  ASSERT_TRUE(GeneratorValueSizes({.name = "messaging"}, &sizes).ok());
  std::vector<uint32_t> all;
  for (uint64_t key = 0; key < 500'000; ++key) all.push_back(sizes(key));
  std::sort(all.begin(), all.end());
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  const auto above = static_cast<double>(all.end() - std::upper_bound(all.begin(), all.end(), 1024));
  EXPECT_GE(all.front(), 16u);
  EXPECT_LE(all.back(), 10'240u);
  EXPECT_NEAR(all[all.size() / 2], 235, 5);
  EXPECT_NEAR(mean, 1010, 20);
  EXPECT_GT(above / static_cast<double>(all.size()), 0.2);
}

TEST(Messaging, MixesAsItSays) {
  const auto requests = GenerateAll({.name = "messaging", .keys = kKeys, .ops = kOps});
  EXPECT_NEAR(ShareOf(requests, Operation::kGet), 0.78, 0.003);
  EXPECT_NEAR(ShareOf(requests, Operation::kPut), 0.15, 0.003);
  EXPECT_NEAR(ShareOf(requests, Operation::kSeek), 0.07, 0.003);
}

TEST(Messaging, GathersRequestsInConversationsAndAtTheirNewestRecords) {
  std::map<uint64_t, std::map<uint64_t, uint64_t>> by_conversation;
  for (const Request& request : GenerateAll({.name = "messaging", .keys = 64'000, .ops = 1'000'000})) {
    ++by_conversation[request.key / 64][request.key % 64];
  }
  std::vector<uint64_t> totals;
  double newest = 0;
  double all = 0;
  for (const auto& [conversation, records] : by_conversation) {
    const auto counts = Descending(records);
    totals.push_back(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
    newest += static_cast<double>(counts.front());
    all += static_cast<double>(totals.back());
  }
  std::sort(totals.rbegin(), totals.rend());
  double norm = 0;
  for (int rank = 1; rank <= 1000; ++rank) norm += std::pow(rank, -0.8);
  EXPECT_NEAR(static_cast<double>(totals[0]) / all, 1 / norm, 0.003);
  EXPECT_NEAR(static_cast<double>(totals[9]) / all, std::pow(10, -0.8) / norm, 0.002);
  EXPECT_NEAR(newest / all, 1.0 / 9, 0.01) << "age is geometric with mean 8";
}

TEST(Laser, LooksUpByWholeKeyWithZipfsPopularity) {
  const auto requests = GenerateAll({.name = "laser", .keys = 1000, .ops = kOps});
  EXPECT_NEAR(ShareOf(requests, Operation::kGet), 0.98, 0.001);
  EXPECT_NEAR(ShareOf(requests, Operation::kPut), 0.02, 0.001);
  double norm = 0;
  for (int rank = 1; rank <= 1000; ++rank) norm += std::pow(rank, -0.9);
  const auto counts = Descending(CountKeys(requests));
  for (size_t rank : {1, 10, 100}) {
    const double want = std::pow(rank, -0.9) / norm;
    EXPECT_NEAR(static_cast<double>(counts[rank - 1]) / kOps, want, 0.05 * want) << rank;
  }
  ValueSizes sizes;
  ASSERT_TRUE(GeneratorValueSizes({.name = "laser"}, &sizes).ok());
  double sum = 0;
  for (uint64_t key = 0; key < 100'000; ++key) sum += sizes(key);
  EXPECT_NEAR(sum / 100'000, 200 / (1 - 0.2), 5);
}

}  // namespace
}  // namespace mezz
