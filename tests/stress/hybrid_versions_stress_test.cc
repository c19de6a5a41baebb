// SPDX-License-Identifier: Apache-2.0
// Values that change under one key. Each key has one thread that inserts and erases it; others only look it up, churn
// the tiers so that records move all the time, and change sizes. What the owner reads is what it wrote last, or a miss.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rocksdb/version.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/versioned_cache.h"

namespace mezz::test {
namespace {

constexpr uint64_t kDramBytes = 256 << 10;
constexpr uint64_t kScmBytes = 12 * kSegmentBytesMin;
constexpr uint64_t kOwners = 2;
constexpr uint64_t kKeysPerOwner = 24;
constexpr uint64_t kStrangers = 4000;  // keys above the owned ones; they never change
constexpr int kStepsPerOwner = 200'000;

size_t BytesOf(uint64_t word) { return 16 + MixBits(word) % 3000; }

class Randomly {
 public:
  explicit Randomly(uint64_t seed) : state_(seed) {}
  uint64_t Below(uint64_t bound) { return MixBits(state_++) % bound; }

 private:
  uint64_t state_;
};

// The one thread that changes its keys. What a failed Insert left is nothing.
class Owner {
 public:
  Owner(rocksdb::Cache* cache, uint64_t number, uint64_t seed)
      : cache_(cache), first_(number * kKeysPerOwner), random_(seed), versions_(kKeysPerOwner, 0) {}

  void Run() {
    for (int step = 0; step < kStepsPerOwner; ++step) Step();
  }
  uint64_t hits() const { return hits_; }
  const std::string& lie() const { return lie_; }

 private:
  void Step() {
    const uint64_t key = random_.Below(kKeysPerOwner);
    const uint64_t id = first_ + key;
    const uint64_t roll = random_.Below(100);
    if (roll < 25) {
      versions_[key] = cache_.Insert(id, ++last_version_, BytesOf(id)) ? last_version_ : 0;
    } else if (roll < 28) {
      cache_.Erase(id);
      versions_[key] = 0;
    }
    if (const auto hit = cache_.Lookup(id)) Judge(id, versions_[key], *hit);
  }
  void Judge(uint64_t id, uint64_t newest, const VersionedCache::Hit& hit) {
    ++hits_;
    if (hit.whole && hit.version == newest) return;
    ++lies_;
    lie_ = std::to_string(lies_) + " lies; the last: key " + std::to_string(id) + " should be version " +
           std::to_string(newest) + " or a miss, " + (hit.whole ? "is " + std::to_string(hit.version) : "is mangled");
  }

  const VersionedCache cache_;
  const uint64_t first_;
  Randomly random_;
  std::vector<uint64_t> versions_;  // the newest of each key; 0: none
  uint64_t last_version_ = 0;
  uint64_t hits_ = 0, lies_ = 0;
  std::string lie_;
};

// Looks up what others own, so that it is hot when reclaim reaches it, and fills both tiers with strangers.
void Disturb(rocksdb::Cache* raw, uint64_t seed, const std::atomic<bool>& done, std::atomic<uint64_t>* mangled) {
  const VersionedCache cache(raw);
  Randomly random(seed);
  while (!done.load(std::memory_order_relaxed)) {
    const uint64_t id = random.Below(3) == 0 ? random.Below(kOwners * kKeysPerOwner)
                                             : kOwners * kKeysPerOwner + random.Below(1 + random.Below(kStrangers));
    const auto hit = cache.Lookup(id);
    if (hit && !hit->whole) mangled->fetch_add(1, std::memory_order_relaxed);
    if (!hit && id >= kOwners * kKeysPerOwner) cache.Insert(id, 1, BytesOf(id));
  }
}

void Resize(rocksdb::Cache* cache, uint64_t seed, const std::atomic<bool>& done) {
  Randomly random(seed);
  HybridStats* const stats = GetHybridStats(cache);
  while (!done.load(std::memory_order_relaxed)) {
    cache->SetCapacity(kDramBytes / (1 + random.Below(2)));
    if (random.Below(8) == 0) {
      EXPECT_TRUE(stats->SetScmCapacity((10 + random.Below(3)) * kSegmentBytesMin).ok());
    }
    for (int i = 0; i < 1000 && !done.load(std::memory_order_relaxed); ++i) std::this_thread::yield();
  }
}

using Config = std::tuple<DramCacheKind, const char*>;
class HybridVersionsStress : public ::testing::TestWithParam<Config> {};

TEST_P(HybridVersionsStress, AnOwnerReadsWhatItWroteLastOrMisses) {
  const uint64_t seed = Seed();
  const ScratchFile file;
  HybridCacheOptions options = SmallOptions(MediumKind::kAnonymous, file, kDramBytes, kScmBytes);
  options.dram_cache = std::get<0>(GetParam());
  options.policy = std::get<1>(GetParam());
  options.scm.expected_block_bytes = 1024;
  std::shared_ptr<rocksdb::Cache> cache;
  const Status made = NewHybridCache(options, &cache);
  ASSERT_TRUE(made.ok()) << made.message();

  std::vector<Owner> owners;
  for (uint64_t i = 0; i < kOwners; ++i) owners.emplace_back(cache.get(), i, MixBits(seed + i));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> mangled{0};
  std::vector<std::thread> others;
  for (uint64_t i = 0; i < 2; ++i)
    others.emplace_back(Disturb, cache.get(), MixBits(seed + 100 + i), std::cref(done), &mangled);
  others.emplace_back(Resize, cache.get(), seed + 200, std::cref(done));
  std::vector<std::thread> threads;
  for (Owner& owner : owners) threads.emplace_back(&Owner::Run, &owner);
  for (std::thread& thread : threads) thread.join();
  done.store(true, std::memory_order_relaxed);
  for (std::thread& thread : others) thread.join();

  for (const Owner& owner : owners) {
    EXPECT_EQ(owner.lie(), "");
    EXPECT_GT(owner.hits(), 1000u);
  }
  EXPECT_EQ(mangled.load(std::memory_order_relaxed), 0u);
  const CounterSnapshot counters = GetHybridStats(cache.get())->Counters();
  EXPECT_GT(counters[Event::kScmSecondChance], 100u) << "records must move for this test to see anything";
  EXPECT_GT(counters[Event::kScmHit], 100u);
  EXPECT_GT(counters[Event::kDemotion], 1000u);
  ExpectSound(cache.get());
}

std::vector<DramCacheKind> DramKinds() {
  if (ROCKSDB_MAJOR < 8) return {DramCacheKind::kLru};
  return {DramCacheKind::kLru, DramCacheKind::kHyperClock};
}
INSTANTIATE_TEST_SUITE_P(All, HybridVersionsStress,
                         ::testing::Combine(::testing::ValuesIn(DramKinds()),
                                            ::testing::Values("dram_first", "scm_first", "bidirectional", "adaptive")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) == DramCacheKind::kLru ? "lru_" : "hcc_") +
                                  std::get<1>(test.param);
                         });

}  // namespace
}  // namespace mezz::test
