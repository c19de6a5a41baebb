// SPDX-License-Identifier: Apache-2.0
#include "integration/dram_hit_bits.h"

#include <gtest/gtest.h>

#include <unordered_set>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

constexpr uint64_t kTierBlocks = 500;
constexpr uint64_t kPlace = UINT64_MAX / DramHitBits::kPlaces + 1;  // hashes of one place of each word

TEST(DramHitBits, SettleABlockThatIsNotWatchedByItsFirstHit) {
  DramHitBits bits(kTierBlocks, /*watched_hash_max=*/kPlace - 1);
  EXPECT_FALSE(bits.IsWatched(kPlace));
  EXPECT_FALSE(bits.IsSettled(kPlace));
  bits.Set(kPlace);
  EXPECT_TRUE(bits.IsSettled(kPlace));
  EXPECT_TRUE(bits.Take(kPlace));
  EXPECT_FALSE(bits.IsSettled(kPlace));
  EXPECT_FALSE(bits.Take(kPlace));
}

// What a policy is told of a tier that turns over many times.
TEST(DramHitBits, AreWrongOfFewBlocks) {
  constexpr uint64_t kBlocks = 1024;
  constexpr int kEvictions = 200'000;
  DramHitBits bits(kBlocks);
  test::Random random(test::Seed());
  std::vector<uint64_t> tier(kBlocks);
  for (uint64_t& hash : tier) hash = random.Next();
  std::unordered_set<uint64_t> hit;
  int wrongly_hit = 0, wrongly_not = 0;
  for (int i = 0; i < kEvictions; ++i) {
    for (int hits = 0; hits < 2; ++hits) {
      const uint64_t hash = tier[random.Below(kBlocks * 3 / 4)];  // the others only pass
      bits.Set(hash);
      hit.insert(hash);
    }
    uint64_t& evicted = tier[random.OneIn(2) ? kBlocks * 3 / 4 + random.Below(kBlocks / 4) : random.Below(kBlocks)];
    const bool was_hit = hit.erase(evicted) != 0;
    const bool told = bits.Take(evicted);
    wrongly_hit += told && !was_hit;
    wrongly_not += !told && was_hit;
    evicted = random.Next();
  }
  EXPECT_LT(wrongly_hit, kEvictions / 50) << test::Seed();
  EXPECT_LT(wrongly_not, kEvictions / 200) << test::Seed();
}

// Else a hit of theirs would pass unseen.
TEST(DramHitBits, NeverSettleAWatchedBlockAndTellAllTheSameThatItWasHit) {
  test::Random random(test::Seed());
  for (const uint64_t hash_max : {uint64_t{0}, kPlace - 1, kPlace, 5 * kPlace + 7, UINT64_MAX}) {
    DramHitBits bits(kTierBlocks, hash_max);
    for (int i = 0; i < 10'000; ++i) bits.Set(random.Next());
    for (int i = 0; i < 10'000; ++i) {
      const uint64_t hash = i == 0 || hash_max == 0 ? hash_max : random.Next() % hash_max;
      bits.Set(hash);
      ASSERT_TRUE(bits.IsWatched(hash)) << hash << " of " << hash_max;
      ASSERT_FALSE(bits.IsSettled(hash)) << hash << " of " << hash_max;
      ASSERT_TRUE(bits.Has(hash));
      ASSERT_TRUE(bits.Take(hash));
      ASSERT_FALSE(bits.Has(hash));
    }
  }
}

// A policy that is told of hits must not decide otherwise because somebody watches.
TEST(DramHitBits, TellTheSameOfEveryBlockHoweverManyAreWatched) {
  DramHitBits none(kTierBlocks);
  DramHitBits one_place(kTierBlocks, kPlace / 2);
  DramHitBits three_places(kTierBlocks, 2 * kPlace);
  DramHitBits all(kTierBlocks, UINT64_MAX);
  test::Random random(test::Seed());
  std::vector<uint64_t> hashes(20 * kTierBlocks);  // so that they share bits
  for (uint64_t& hash : hashes) hash = random.Next();
  for (int i = 0; i < 100'000; ++i) {
    if (i == 50'000) {
      for (DramHitBits* bits : {&none, &one_place, &three_places, &all}) bits->Grow(4 * kTierBlocks);
    }
    const uint64_t hash = hashes[random.Below(hashes.size())];
    const bool hit = random.OneIn(2);
    const bool had = hit ? none.Has(hash) : none.Take(hash);
    for (DramHitBits* bits : {&one_place, &three_places, &all}) {
      ASSERT_EQ(hit ? bits->Has(hash) : bits->Take(hash), had);
      if (hit) bits->Set(hash);
    }
    if (hit) none.Set(hash);
  }
}

TEST(DramHitBits, TakeLittleMoreForTheWatched) {
  const size_t none = DramHitBits(kTierBlocks).dram_bytes();
  EXPECT_EQ(DramHitBits(kTierBlocks, kPlace - 1).dram_bytes(), none + none / DramHitBits::kPlaces);
  EXPECT_EQ(DramHitBits(kTierBlocks, UINT64_MAX).dram_bytes(), 2 * none);
  DramHitBits bits(kTierBlocks, 5 * kPlace);
  EXPECT_EQ(bits.dram_bytes(), DramHitBits::BytesFor(kTierBlocks, 5 * kPlace));
  bits.Grow(8 * kTierBlocks);
  EXPECT_EQ(bits.dram_bytes(), DramHitBits::BytesFor(8 * kTierBlocks, 5 * kPlace));
}

}  // namespace
}  // namespace mezz
