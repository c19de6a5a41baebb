// SPDX-License-Identifier: Apache-2.0
// YCSB's core workloads against their definition (workloads/workload[a-f] of YCSB).
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "generate.h"

namespace mezz {
namespace {

constexpr uint64_t kKeys = 10'000;
constexpr uint64_t kOps = 300'000;
constexpr double kZetaOfTenBillion = 26.46902820178302;  // YCSB's ZETAN: sum of rank^-0.99 up to 10^10

std::vector<Request> Ycsb(char letter, unsigned stream = 0, unsigned streams = 1) {
  return GenerateAll(
      {.name = std::string("ycsb_") + letter, .keys = kKeys, .ops = kOps, .stream = stream, .streams = streams});
}

TEST(Ycsb, MixesAsDefined) {
  const struct {
    char letter;
    double get, put, seek;
  } kMixes[] = {{'a', 0.5, 0.5, 0},   {'b', 0.95, 0.05, 0}, {'c', 1, 0, 0},
                {'d', 0.95, 0.05, 0}, {'e', 0, 0.05, 0.95}, {'f', 2.0 / 3, 1.0 / 3, 0}};
  for (const auto& mix : kMixes) {
    const auto requests = Ycsb(mix.letter);
    EXPECT_EQ(requests.size(), kOps);
    EXPECT_NEAR(ShareOf(requests, Operation::kGet), mix.get, 0.004) << mix.letter;
    EXPECT_NEAR(ShareOf(requests, Operation::kPut), mix.put, 0.004) << mix.letter;
    EXPECT_NEAR(ShareOf(requests, Operation::kSeek), mix.seek, 0.004) << mix.letter;
  }
}

TEST(Ycsb, IsZipfianOverTenBillionItemsWhateverTheNumberOfRecords) {
  const auto counts = Descending(CountKeys(Ycsb('c')));
  for (size_t rank : {1, 2, 5}) {
    // Other items that hash to the same record add 1/kKeys of everything on average.
    const double want = std::pow(rank, -0.99) / kZetaOfTenBillion + 1.0 / kKeys * 0.7;
    EXPECT_NEAR(static_cast<double>(counts[rank - 1]) / kOps, want, 0.06 * want) << rank;
  }
}

TEST(Ycsb, ScattersThePopularRecords) {
  std::vector<std::pair<uint64_t, uint64_t>> by_count;
  for (const auto& [key, count] : CountKeys(Ycsb('b'))) by_count.emplace_back(count, key);
  std::sort(by_count.rbegin(), by_count.rend());
  std::set<uint64_t> tenths;
  for (size_t i = 0; i < 20; ++i) tenths.insert(by_count[i].second * 10 / kKeys);
  EXPECT_GE(tenths.size(), 5u);
}

TEST(Ycsb, ReadsTheLatestInD) {
  // How many inserts ago was the key that is read inserted? Zipf's law over the records, latest first.
  std::map<uint64_t, uint64_t> inserted_at;
  uint64_t inserts = 0;
  uint64_t reads = 0;
  uint64_t of_age[3] = {};
  for (const Request& request : Ycsb('d')) {
    if (request.operation == Operation::kPut) {
      EXPECT_EQ(request.value_bytes, 1000u);
      inserted_at[request.key] = ++inserts;
      continue;
    }
    if (inserts < kKeys) continue;  // until each record was inserted once, some have no place in the order
    ++reads;
    const uint64_t age = inserts - inserted_at.at(request.key);
    if (age < 3) ++of_age[age];
  }
  double norm = 0;
  for (uint64_t rank = 1; rank <= kKeys; ++rank) norm += std::pow(rank, -0.99);
  ASSERT_GT(reads, 50'000u);
  for (size_t age = 0; age < 3; ++age) {
    const double want = std::pow(age + 1, -0.99) / norm;
    EXPECT_NEAR(static_cast<double>(of_age[age]) / static_cast<double>(reads), want, 0.05 * want) << age;
  }
}

TEST(Ycsb, InsertsEachRecordInTurnAndSubstreamsInsertDifferentOnes) {
  std::set<uint64_t> inserted;
  uint64_t inserts = 0;
  for (unsigned stream = 0; stream < 2; ++stream) {
    uint64_t of_stream = 0;
    for (const Request& request : Ycsb('e', stream, 2)) {
      if (request.operation != Operation::kPut || ++of_stream > kKeys / 2) continue;
      inserted.insert(request.key);
      ++inserts;
    }
  }
  ASSERT_GT(inserts, 9000u);
  EXPECT_EQ(inserted.size(), inserts);
}

TEST(Ycsb, ScansOneToAHundredRecordsInE) {
  std::vector<uint64_t> counts(101, 0);
  double scans = 0;
  for (const Request& request : Ycsb('e')) {
    if (request.operation != Operation::kSeek) continue;
    ASSERT_TRUE(request.scan_length >= 1 && request.scan_length <= 100) << request.scan_length;
    ++counts[request.scan_length];
    ++scans;
  }
  double chi_square = 0;
  for (size_t length = 1; length <= 100; ++length) {
    const double off = static_cast<double>(counts[length]) - scans / 100;
    chi_square += off * off / (scans / 100);
  }
  EXPECT_LT(chi_square, 160) << "uniform: 99 degrees of freedom, deviation 14";
}

TEST(Ycsb, WritesInFWhatItReadJustBefore) {
  const auto requests = Ycsb('f');
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].operation != Operation::kPut) continue;
    ASSERT_GT(i, 0u);
    ASSERT_EQ(requests[i - 1].operation, Operation::kGet);
    ASSERT_EQ(requests[i - 1].key, requests[i].key);
  }
}

}  // namespace
}  // namespace mezz
