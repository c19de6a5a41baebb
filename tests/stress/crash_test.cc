// SPDX-License-Identifier: Apache-2.0
// A process that is killed in the middle of its work, again and again over one medium, and sometimes closes it.
// MEZZ_CRASHES sets how often; how much of the blocks came back is printed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/ended_child.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr uint64_t kKeys = 3000;
constexpr unsigned kThreads = 3;
constexpr uint64_t kPutsATick = 64;

// What the parent knows of its children: they write it, and it outlives them.
struct Seen {
  std::atomic<uint32_t> versions[kKeys + 1];  // of each key: put, or about to be
  std::atomic<uint32_t> erased[kKeys + 1];    // those up to this one are gone
  std::atomic<uint64_t> resident;             // keys with a block; of a killed child as of its last tick
  std::atomic<bool> stop;                     // it shall close the medium and end
};

std::vector<std::byte> Made(uint64_t key, uint64_t version) {
  const size_t bytes = 200 + (key * 131 + version * 977) % 5000;
  return key % 2 == 0 ? test::PackablePayload(key, version, bytes) : test::Payload(key, version, bytes);
}

// One thread has its own keys, so that it knows what it erased.
void Work(ScmTier& tier, Seen& seen, unsigned thread, uint64_t seed, int ticks) {
  std::mt19937_64 random(seed + thread);
  for (uint64_t i = 1; !seen.stop.load(std::memory_order_relaxed); ++i) {
    const uint64_t key = random() % (kKeys / kThreads) * kThreads + thread + 1;
    if (random() % 16 == 0) tier.Find(test::Key(key));
    const uint32_t version = seen.versions[key].load(std::memory_order_relaxed) + 1;
    seen.versions[key].store(version, std::memory_order_relaxed);
    tier.Put(test::Key(key), BlockRole::kData, Made(key, version),
             random() % 4 == 0 ? Generation::kProven : Generation::kYoung, key % 4 == 0 ? Form::kPacked : Form::kRaw);
    if (random() % 16 == 0) {
      tier.Erase(test::Key(key));
      seen.erased[key].store(version, std::memory_order_relaxed);
    }
    if (i % kPutsATick != 0) continue;
    if (thread == 0) seen.resident.store(tier.resident_blocks(), std::memory_order_relaxed);
    if (thread == 0 && random() % 8 == 0) {  // what the others put meanwhile may go or stay
      uint32_t until[kKeys + 1];
      for (uint64_t k = 1; k <= kKeys; ++k) until[k] = seen.versions[k].load(std::memory_order_relaxed);
      seen.resident.store(0, std::memory_order_relaxed);
      tier.EraseAll();
      for (uint64_t k = 1; k <= kKeys; k += kThreads) seen.erased[k].store(until[k], std::memory_order_relaxed);
    }
    const char tick = '.';
    if (write(ticks, &tick, 1) != 1) _exit(3);
  }
}

void Child(const ScmOptions& options, Seen& seen, uint64_t seed, int ticks) {
  std::unique_ptr<ScmTier> tier;
  if (!ScmTier::Open(options, &tier).ok()) _exit(2);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { Work(*tier, seen, t, seed, ticks); });
  for (std::thread& thread : threads) thread.join();
  tier->Drain();
  seen.resident.store(tier->resident_blocks(), std::memory_order_relaxed);
}

uint64_t CountGood(ScmTier& tier, const Seen& seen) {
  uint64_t found = 0;
  for (uint64_t key = 1; key <= kKeys; ++key) {
    const PinnedBlock block = tier.Find(test::Key(key), BlockRole::kData, Heat::kKeep);
    if (!block) continue;
    ++found;
    const auto bytes = test::BytesOf(block);
    const uint32_t newest = seen.versions[key].load(std::memory_order_relaxed);
    uint32_t version = newest;
    while (version > 0 && !test::Same(bytes, Made(key, version))) --version;
    EXPECT_NE(version, 0u) << "key " << key << " has bytes that nobody put under it";
    EXPECT_GT(version, seen.erased[key].load(std::memory_order_relaxed)) << "key " << key << " was erased";
  }
  return found;
}

struct Kept {
  uint64_t rounds = 0, held = 0, found = 0;
  void Print(const char* how) const {
    std::printf("%s: %llu times, %llu blocks before, %llu after: %.1f %%\n", how,
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(held),
                static_cast<unsigned long long>(found), 100.0 * static_cast<double>(found) / static_cast<double>(held));
  }
};

TEST(CrashTest, AKilledProcessLeavesWhatItStored) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const uint64_t kills = test::KillsOr(60 / test::kStressShare);
  const test::ScratchFile file;
  ScmOptions options = test::WarmOptions(file.path(), 64 * kSegmentBytesMin);
  options.pack = PackMode::kZstd;
  options.erase = EraseMode::kDurable;
  void* const shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Seen& seen = *new (shared) Seen();
  Kept killed, closed;
  while (killed.rounds < kills && !::testing::Test::HasFailure()) {
    const test::End end = random() % 4 == 0 ? test::End::kClosed : test::End::kKilled;
    options.pack_stage_bytes = random() % 2 == 0 ? kUsualPackStageBytes : 0;
    const uint64_t seed_of_child = random();
    const auto child = [&](int ticks) { Child(options, seen, seed_of_child, ticks); };
    ASSERT_TRUE(test::RunAndEnd(end, &seen.stop, 1 + random() % 60, child)) << "kill " << killed.rounds;
    const auto tier = test::OpenOrDie(options);
    ASSERT_NE(tier, nullptr);
    tier->WaitUntilRecovered();
    EXPECT_EQ(tier->recovery().outcome, RecoveryReport::Outcome::kRecovered);
    EXPECT_EQ(tier->recovery().clean, end == test::End::kClosed);
    Kept& kept = end == test::End::kClosed ? closed : killed;
    ++kept.rounds;
    const uint64_t held = seen.resident.load(std::memory_order_relaxed);
    kept.held += held;
    kept.found += std::min(held, CountGood(*tier, seen));  // what was put after the last tick makes up for nothing
    test::ExpectSound(*tier);
  }
  killed.Print("killed");
  closed.Print("closed");
  // 64 segments, of which some are given up so that there is room to write, and two end at a torn record.
  EXPECT_GE(killed.found * 100, killed.held * 90);
  EXPECT_GE(closed.found * 100, closed.held * 95);
  munmap(shared, sizeof(Seen));
}

}  // namespace
}  // namespace mezz
