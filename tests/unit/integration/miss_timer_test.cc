// SPDX-License-Identifier: Apache-2.0
#include "integration/miss_timer.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;

const int kCache = 0, kOther = 0;  // their addresses are caches

std::optional<uint64_t> InsertAt(uint64_t now_ns, uint64_t key, const void* cache = &kCache) {
  return MissTimer::OnInsert(cache, Key(key), [=] { return now_ns; });
}

TEST(MissTimer, TimesAMissUntilTheInsertOfItsBlock) {
  MissTimer::OnMiss(&kCache, Key(1), 1000);
  EXPECT_EQ(InsertAt(81'000, 1), 80'000u);
  EXPECT_EQ(InsertAt(99'000, 1), std::nullopt) << "once";
}

TEST(MissTimer, TimesNothingElse) {
  EXPECT_EQ(InsertAt(5000, 2), std::nullopt) << "warm-up: no look-up";
  MissTimer::OnMiss(&kCache, Key(3), 1000);
  EXPECT_EQ(InsertAt(5000, 4), std::nullopt) << "another block";
  EXPECT_EQ(InsertAt(5000, 3, &kOther), std::nullopt) << "of another cache";
  std::thread([] { EXPECT_EQ(InsertAt(5000, 3), std::nullopt) << "by another thread"; }).join();
  MissTimer::OnMiss(&kCache, Key(5), 8000);  // fill_cache=false: the one before was never inserted
  EXPECT_EQ(InsertAt(9000, 3), std::nullopt);
}

TEST(MissTimer, SharesTheTimeOfABatchAmongItsBlocks) {
  for (uint64_t key = 1; key <= 8; ++key) MissTimer::OnMiss(&kCache, Key(key), 1000);
  for (uint64_t key = 1; key < 8; ++key) EXPECT_EQ(InsertAt(161'000, key), std::nullopt);
  EXPECT_EQ(InsertAt(161'000, 8), 20'000u);
}

TEST(MissTimer, ATimeThatWentBackIsNone) {
  MissTimer::OnMiss(&kCache, Key(1), 1000);
  EXPECT_EQ(InsertAt(900, 1), 0u);
}

}  // namespace
}  // namespace mezz
