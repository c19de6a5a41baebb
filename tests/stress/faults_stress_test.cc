// SPDX-License-Identifier: Apache-2.0
// Threads that put and look up while their medium fails, segments are quarantined and the tier closes itself.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/faulty_medium.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::Payload;

constexpr uint64_t kThreads = 4, kKeysEach = 300;

// Each thread has keys of its own, so it knows what it put last; and looks up those of others as well.
void Work(ScmTier& tier, uint64_t thread, uint64_t steps, std::atomic<uint64_t>* hits) {
  std::mt19937_64 random(test::Seed() + thread);
  std::vector<uint64_t> versions(kKeysEach);
  for (uint64_t step = 1; step <= steps; ++step) {
    const uint64_t mine = random() % kKeysEach, key = 1 + thread * kKeysEach + mine;
    const bool was_closed = tier.is_closed();
    if (random() % 2 == 0) {
      const auto payload = Payload(key, step, 2000 + key % 3000);
      const PutResult result = tier.Put(Key(key), BlockRole::kData, payload);
      if (result == PutResult::kStored) versions[mine] = step;
      ASSERT_FALSE(was_closed && result == PutResult::kStored);
    } else if (const PinnedBlock block = tier.Find(Key(key))) {
      ASSERT_TRUE(test::Same(block.payload(), Payload(key, versions[mine], 2000 + key % 3000))) << key;
      hits->fetch_add(1, std::memory_order_relaxed);
    }
    const PinnedBlock other = tier.Find(Key(1 + random() % (kThreads * kKeysEach)));  // held for a moment
  }
}

TEST(FaultsStress, SegmentsGoAndTheTierClosesUnderItsThreads) {
  uint64_t quarantined = 0, closed = 0;
  std::atomic<uint64_t> hits{0};
  for (uint64_t round = 0; round < 20 / test::kStressShare; ++round) {
    ScmOptions options = test::AnonymousOptions(24 * kSegmentBytesMin);
    options.verify = VerifyMode::kAlways;
    options.faults_max = round % 4 == 0 ? 10'000 : 30;
    std::atomic<int> told{0};
    options.on_trouble = [&](std::string_view) { told.fetch_add(1, std::memory_order_relaxed); };
    const test::FaultRates rates{.dropped = 100, .torn = 0, .flipped = 100};
    std::unique_ptr<ScmTier> tier;
    const Status status =
        ScmTier::Open(options, &tier, /*judge=*/nullptr, test::FaultyMedium::Wrap(rates, test::Seed() + round));
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] { Work(*tier, thread, 3000 / test::kStressShare, &hits); });
    for (std::thread& thread : threads) thread.join();
    quarantined += tier->quarantined_bytes();
    EXPECT_EQ(told.load(std::memory_order_relaxed), tier->is_closed() ? 1 : 0);
    EXPECT_EQ(tier->Audit().live_pins, 0u);
    if (!tier->is_closed()) continue;
    ++closed;
    EXPECT_EQ(tier->resident_blocks(), 0u) << "something was put since it closed";
    test::ExpectSound(*tier);
  }
  EXPECT_GT(quarantined, 0u);
  EXPECT_GT(closed, 0u);
  EXPECT_GT(hits.load(std::memory_order_relaxed), 0u);
}

}  // namespace
}  // namespace mezz
