// SPDX-License-Identifier: Apache-2.0
// Threads that put and look up while their medium fails, is slow now and then, segments are quarantined and the tier
// closes itself.
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
    const bool was_closed = tier.figures().is_closed();
    if (random() % 2 == 0) {
      const auto payload = Payload(key, step, 2000 + key % 3000);
      const PutResult result = tier.Put(Key(key), BlockRole::kData, payload);
      if (result == PutResult::kStored) versions[mine] = step;
      ASSERT_FALSE(was_closed && result == PutResult::kStored);
    } else if (const PinnedBlock block = tier.Find(Key(key))) {
      const auto bytes = block.SteadyBytes();
      if (!bytes) continue;  // lost since it was found
      ASSERT_TRUE(test::Same(*bytes, Payload(key, versions[mine], 2000 + key % 3000))) << key;
      hits->fetch_add(1, std::memory_order_relaxed);
    }
    const PinnedBlock other = tier.Find(Key(1 + random() % (kThreads * kKeysEach)));  // held for a moment
  }
}

// Some rounds: by stores that fail; the others: by pages that are lost, here and there, while all go on.
TEST(FaultsStress, SegmentsGoAndTheTierClosesUnderItsThreads) {
  if (!test::CanLosePages()) GTEST_SKIP() << "a device cannot lose single pages";
  uint64_t quarantined = 0, closed = 0, bus_errors = 0, slow = 0;
  std::atomic<uint64_t> hits{0};
  for (uint64_t round = 0; round < 20 / test::kStressShare; ++round) {
    ScmOptions options = test::AnonymousOptions(24 * kSegmentBytesMin);
    options.verify = VerifyMode::kAlways;
    options.faults_max = round % 4 == 0 ? 10'000 : 30;
    std::atomic<int> told{0};
    options.on_trouble = [&](std::string_view) { told.fetch_add(1, std::memory_order_relaxed); };
    const bool loses = round % 2 == 1;
    options.bus_errors = BusErrorMode::kContain;
    const test::FaultRates rates = loses ? test::FaultRates{.slow = 100}
                                         : test::FaultRates{.dropped = 100, .torn = 0, .flipped = 100, .slow = 100};
    std::unique_ptr<ScmTier> tier;
    const Status status =
        ScmTier::Open(options, &tier, /*judge=*/nullptr, test::FaultyMedium::Wrap(rates, test::Seed() + round));
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] { Work(*tier, thread, 3000 / test::kStressShare, &hits); });
    std::mt19937_64 random(test::Seed() + round);
    constexpr uint64_t kPages = 24 * kSegmentBytesMin / test::kPageBytes;
    for (int page = 0; loses && page < 40; ++page) {
      test::FaultyMedium::Active().LosePage((1 + random() % (kPages - 1)) * test::kPageBytes);
      std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    bus_errors += tier->figures().bus_errors();
    slow += test::FaultyMedium::Active().slow_stores();
    quarantined += tier->figures().quarantined_bytes();
    const bool is_closed = tier->figures().is_closed();
    EXPECT_EQ(told.load(std::memory_order_relaxed), is_closed ? 1 : 0);
    EXPECT_EQ(tier->Audit().live_pins, 0u);  // which may find more
    if (!is_closed) continue;
    ++closed;
    EXPECT_EQ(tier->figures().resident_blocks(), 0u) << "something was put since it closed";
    test::ExpectSound(*tier);
  }
  EXPECT_GT(quarantined, 0u);
  EXPECT_GT(closed, 0u);
  EXPECT_GT(bus_errors, 0u);
  EXPECT_GT(slow, 0u);
  EXPECT_GT(hits.load(std::memory_order_relaxed), 0u);
}

}  // namespace
}  // namespace mezz
