// SPDX-License-Identifier: Apache-2.0
// Values that change under one key. Each key has one thread that inserts and erases it; others only look it up, churn
// the tiers so that records move all the time, and change sizes. What the owner reads is what it wrote last, or a miss.
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rocksdb/version.h"
#include "tests/support/flash_clock.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/random.h"
#include "tests/support/sanitizer.h"
#include "tests/support/seed.h"
#include "tests/support/versioned_owner.h"

namespace mezz::test {
namespace {

constexpr uint64_t kDramBytes = 256 << 10;
constexpr uint64_t kScmBytes = 12 * kSegmentBytesMin;
constexpr uint64_t kOwners = 2;
constexpr uint64_t kKeysPerOwner = 24;
constexpr uint64_t kStrangers = 4000;  // keys above the owned ones; they never change
constexpr uint64_t kStepsPerOwner = 200'000 / kStressShare;

// Looks up what others own, so that it is hot when reclaim reaches it, and fills both tiers with strangers.
void Disturb(rocksdb::Cache* raw, uint64_t seed, const std::atomic<bool>& done, std::atomic<uint64_t>* mangled) {
  const VersionedCache cache(raw);
  Random random(seed);
  while (!done.load(std::memory_order_relaxed)) {
    const uint64_t id = random.Below(3) == 0 ? random.Below(kOwners * kKeysPerOwner)
                                             : kOwners * kKeysPerOwner + random.Below(1 + random.Below(kStrangers));
    const auto hit = cache.Lookup(id);
    if (hit && !hit->whole) mangled->fetch_add(1, std::memory_order_relaxed);
    if (!hit && id >= kOwners * kKeysPerOwner) cache.Insert(id, 1, Owner::BytesOf(id));
  }
}

void Resize(rocksdb::Cache* cache, uint64_t seed, const std::atomic<bool>& done) {
  Random random(seed);
  HybridStats* const stats = GetHybridStats(cache);
  while (!done.load(std::memory_order_relaxed)) {
    cache->SetCapacity(kDramBytes / (1 + random.Below(2)));
    if (random.Below(8) == 0) {
      EXPECT_TRUE(stats->SetScmCapacity((10 + random.Below(3)) * kSegmentBytesMin).ok());
    }
    for (int i = 0; i < 1000 && !done.load(std::memory_order_relaxed); ++i) std::this_thread::yield();
  }
}

using Config = std::tuple<DramCacheKind, TestMedium, const char*, PackMode>;
class HybridVersionsStress : public HybridTest, public ::testing::WithParamInterface<Config> {};

TEST_P(HybridVersionsStress, AnOwnerReadsWhatItWroteLastOrMisses) {
  const uint64_t seed = Seed();
  const auto [dram, medium, policy, pack] = GetParam();
  HybridCacheOptions options = SmallOptions(medium, file_, kDramBytes, kScmBytes);
  options.dram_cache = dram;
  options.policy = policy;
  options.scm.pack = pack;
  options.now_ns = ChangingFlashClock();
  options.scm.expected_block_bytes = 1024;
  ASSERT_NO_FATAL_FAILURE(Make(options));

  std::vector<Owner> owners;
  for (uint64_t i = 0; i < kOwners; ++i) owners.emplace_back(cache_.get(), i, kKeysPerOwner, Mix(seed + i));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> mangled{0};
  std::vector<std::thread> others;
  for (uint64_t i = 0; i < 2; ++i)
    others.emplace_back(Disturb, cache_.get(), Mix(seed + 100 + i), std::cref(done), &mangled);
  others.emplace_back(Resize, cache_.get(), seed + 200, std::cref(done));
  std::vector<std::thread> threads;
  for (Owner& owner : owners) threads.emplace_back(&Owner::Run, &owner, kStepsPerOwner);
  for (std::thread& thread : threads) thread.join();
  done.store(true, std::memory_order_relaxed);
  for (std::thread& thread : others) thread.join();

  for (const Owner& owner : owners) {
    EXPECT_EQ(owner.lie(), "");
    EXPECT_GT(owner.hits(), 1000u);
  }
  EXPECT_EQ(mangled.load(std::memory_order_relaxed), 0u);
  const CounterSnapshot counters = stats_->Counters();
  EXPECT_GT(counters[Event::kScmSecondChance], 100u) << "records must move for this test to see anything";
  EXPECT_GT(counters[Event::kScmHit], 100u);
  EXPECT_GT(counters[Event::kDemotion], 1000u);
  if (options.scm.pack != PackMode::kOff) {
    EXPECT_GT(counters[Event::kScmPackedHit], 100u);
    EXPECT_EQ(counters[Event::kScmUnpackFailed] + counters[Event::kScmNoDictionary], 0u);
  }
}

// Each medium under each kind of DRAM tier, and each policy, but not all of them with all.
std::vector<Config> Configs() {
  constexpr TestMedium kMedia[] = {TestMedium::kAnonymous, TestMedium::kFile, TestMedium::kThrottled};
  std::vector<DramCacheKind> kinds = {DramCacheKind::kLru};
  if (ROCKSDB_MAJOR >= 8) kinds.push_back(DramCacheKind::kHyperClock);
  std::vector<Config> configs;
  for (const DramCacheKind dram : kinds) {
    for (const char* const policy : {"dram_first", "scm_first", "bidirectional", "adaptive"}) {
      configs.emplace_back(dram, kMedia[configs.size() % std::size(kMedia)], policy, PackMode::kOff);
    }
  }
  return configs;
}
// Two modes of four for each pair of DRAM tier and policy, all modes with either.
std::vector<Config> PackedConfigs() {
  constexpr PackMode kModes[] = {PackMode::kImage, PackMode::kLz4, PackMode::kZstd, PackMode::kAuto};
  std::vector<Config> configs;
  size_t pair = 0;
  for (const Config& config : Configs()) {
    const auto [dram, medium, policy, pack] = config;
    if (std::string_view(policy) != "dram_first" && std::string_view(policy) != "adaptive") continue;
    for (const size_t at : {pair, pair + 2}) {
      const PackMode mode = kModes[at % std::size(kModes)];
      if (mode == PackMode::kImage && ROCKSDB_MAJOR < 8) continue;  // which hands over no images
      configs.emplace_back(dram, TestMedium::kAnonymous, policy, mode);
    }
    ++pair;
  }
  return configs;
}
std::string ConfigName(const ::testing::TestParamInfo<Config>& info) {
  const auto [dram, medium, policy, pack] = info.param;
  return NameOf(dram) + "_" + NameOf(medium) + "_" + policy +
         (pack == PackMode::kOff ? "" : std::string("_").append(ToString(pack)));
}
INSTANTIATE_TEST_SUITE_P(All, HybridVersionsStress, ::testing::ValuesIn(Configs()), ConfigName);
INSTANTIATE_TEST_SUITE_P(Packed, HybridVersionsStress, ::testing::ValuesIn(PackedConfigs()), ConfigName);

}  // namespace
}  // namespace mezz::test
