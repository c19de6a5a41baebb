// SPDX-License-Identifier: Apache-2.0
#include "cache/index.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

TEST(IndexWord, KeepsWhatItPacks) {
  std::mt19937_64 random(test::Seed());
  for (int i = 0; i < 10000; ++i) {
    const uint32_t tag = random() & ((1u << IndexWord::kTagBits) - 1);
    const uint64_t line = random() & ((uint64_t{1} << 36) - 1);
    const bool dram = random() & 1;
    const unsigned heat = random() & 3;
    const IndexWord word = IndexWord::Make(tag, line, dram, heat);
    ASSERT_EQ(word.tag(), tag);
    ASSERT_EQ(word.line(), line);
    ASSERT_EQ(word.dram(), dram);
    ASSERT_EQ(word.heat(), heat);
    ASSERT_TRUE(word.SameRecord(word.with(!dram, 3 - heat)));
    ASSERT_FALSE(word.SameRecord(IndexWord::Make(tag, line ^ 1, dram, heat)));
    ASSERT_FALSE(word.SameRecord(IndexWord::Make(tag ^ 1, line, dram, heat)));
  }
}

const auto kNoAge = [](IndexWord) { return uint64_t{0}; };

// The promise behind ten bytes of DRAM a block: filled to its nominal number of blocks and then churned at random, the
// index displaces under 1 % of what is inserted.
TEST(Index, DisplacesUnderOnePercentAtItsNominalLoad) {
  constexpr uint64_t kBlocks = 200'000;
  Index index(kBlocks, test::Seed());
  ASSERT_TRUE(index.ok());
  std::mt19937_64 random(test::Seed());
  std::vector<std::pair<KeyHash, uint64_t>> resident;
  uint64_t displaced = 0;
  uint64_t next = 1;
  const auto insert = [&] {
    const KeyHash hash = index.Hash(test::Key(next));
    Index::Slot* slot;
    if (!index.Insert(hash, IndexWord::Make(hash.tag, next, false, 0), kNoAge, &slot).empty()) ++displaced;
    resident.emplace_back(hash, next++);
  };
  while (resident.size() < kBlocks) insert();
  EXPECT_LT(displaced, kBlocks / 100);
  displaced = 0;
  for (uint64_t i = 0; i < 2 * kBlocks; ++i) {
    std::swap(resident[random() % resident.size()], resident.back());
    IndexWord word;
    Index::Slot* slot = index.FindRecord(resident.back().first, resident.back().second, &word);
    if (slot != nullptr) slot->store(0, std::memory_order_relaxed);
    resident.pop_back();
    insert();
  }
  EXPECT_LT(displaced, 2 * kBlocks / 100);
  EXPECT_LE(static_cast<double>(index.bytes()) / kBlocks, 9.4);
}

TEST(Index, DisplacesTheColdestThenTheOldest) {
  Index index(1, 7);  // one bucket
  ASSERT_EQ(index.slots(), Index::kSlotsPerBucket);
  const KeyHash hash = index.Hash(test::Key(1));
  const auto age = [](IndexWord word) { return word.line(); };
  Index::Slot* slot;
  for (uint64_t line = 1; line <= Index::kSlotsPerBucket; ++line) {
    ASSERT_TRUE(index.Insert(hash, IndexWord::Make(hash.tag, line, false, line <= 4 ? 2 : 1), age, &slot).empty());
  }
  EXPECT_EQ(index.Insert(hash, IndexWord::Make(hash.tag, 90, false, 3), age, &slot).line(), 5u);
  EXPECT_EQ(index.Insert(hash, IndexWord::Make(hash.tag, 91, false, 3), age, &slot).line(), 6u);
}

TEST(Index, ForgetsNothingItDidNotReport) {
  Index index(1000, test::Seed());
  std::vector<uint64_t> alive(5001, 1);
  for (uint64_t n = 1; n <= 5000; ++n) {
    const KeyHash hash = index.Hash(test::Key(n));
    Index::Slot* slot;
    const IndexWord gone = index.Insert(hash, IndexWord::Make(hash.tag, n, false, 0), kNoAge, &slot);
    if (!gone.empty()) alive[gone.line()] = 0;
  }
  for (uint64_t n = 1; n <= 5000; ++n) {
    IndexWord word;
    EXPECT_EQ(index.FindRecord(index.Hash(test::Key(n)), n, &word) != nullptr, alive[n] == 1) << n;
  }
}

}  // namespace
}  // namespace mezz
