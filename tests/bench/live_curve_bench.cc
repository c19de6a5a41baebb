// SPDX-License-Identifier: Apache-2.0
// What curve=on costs a DRAM hit. Compare interleaved, many times, on a machine that does nothing else:
//   live_curve_bench --benchmark_repetitions=30 --benchmark_enable_random_interleaving=true
// Or, where it does other work too, in processes of their own: BM_BesideOff.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "admission/block_hash.h"
#include "admission/curves/block_key.h"
#include "admission/curves/live_curve.h"
#include "integration/hybrid_cache.h"
#include "workloads/replay/caches/block_cache.h"

namespace mezz {
namespace {

constexpr uint64_t kBlocks = 1 << 16;
constexpr size_t kBlockBytes = 256;

std::unique_ptr<BlockCache> shared_cache;

// Argument: the share of the blocks that is looked at, in parts of ten thousand; 0: curve=off.
std::unique_ptr<BlockCache> Opened(int64_t rate) {
  HybridCacheOptions options;
  options.dram_bytes = 64 << 20;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.capacity_bytes = 16 << 20;
  options.curve = rate != 0;
  if (options.curve) options.curve_rate = static_cast<double>(rate) / 10'000;
  std::shared_ptr<rocksdb::Cache> whole;
  if (!NewHybridCache(options, &whole).ok()) return nullptr;
  auto cache = std::make_unique<BlockCache>(std::move(whole));
  const std::vector<std::byte> bytes(kBlockBytes);
  for (uint64_t key = 0; key < kBlocks; ++key) cache->Insert(BlockKeyOf(key), BlockRole::kData, bytes);
  return cache;
}
void OpenShared(const benchmark::State& state) { shared_cache = Opened(state.range(0)); }
void CloseShared(const benchmark::State&) { shared_cache.reset(); }

void BM_DramHit(benchmark::State& state) {
  if (shared_cache == nullptr) return state.SkipWithError("the cache could not be opened");
  std::mt19937_64 random(state.thread_index() + 1);
  uint64_t hits = 0;
  for (auto _ : state) {
    const BlockCache::Held held = shared_cache->Lookup(BlockKeyOf(random() % kBlocks), BlockRole::kData);
    hits += static_cast<bool>(held);
  }
  state.SetItemsProcessed(static_cast<int64_t>(hits));
}
BENCHMARK(BM_DramHit)
    ->ArgName("curve_rate_10000")
    ->Arg(0)
    ->Arg(1)
    ->Arg(100)
    ->Arg(10'000)
    ->ThreadRange(1, 2)
    ->Setup(OpenShared)
    ->Teardown(CloseShared);

// Processor time of so many hits, the same ones for each cache that is given the same seed.
double SecondsOf(BlockCache* cache, uint64_t seed) {
  constexpr int kHits = 10'000;
  std::minstd_rand random(static_cast<uint32_t>(seed));
  timespec from{};
  timespec to{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (int i = 0; i < kHits; ++i)
    benchmark::DoNotOptimize(cache->Lookup(BlockKeyOf(random() % kBlocks), BlockRole::kData));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  return static_cast<double>(to.tv_sec - from.tv_sec) + static_cast<double>(to.tv_nsec - from.tv_nsec) * 1e-9;
}

double MedianOf(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The same hits in three caches by turns of a millisecond, two of which have curve=off: what else the machine does
// meets them alike. Reports the median over all turns of each ratio, and of the first cache's time of a hit.
void BM_BesideOff(benchmark::State& state) {
  const std::unique_ptr<BlockCache> off = Opened(0);
  const std::unique_ptr<BlockCache> on = Opened(state.range(0));
  const std::unique_ptr<BlockCache> off_too = Opened(0);
  if (off == nullptr || on == nullptr || off_too == nullptr) return state.SkipWithError("no cache could be opened");
  for (uint64_t turn = 1; turn <= 100; ++turn) {
    for (BlockCache* cache : {off.get(), on.get(), off_too.get()}) SecondsOf(cache, turn);  // every bit is set
  }
  std::vector<double> ns;
  std::vector<double> ratios;
  std::vector<double> floors;
  uint64_t turn = 100;
  for (auto _ : state) {
    ++turn;
    const std::array<BlockCache*, 3> caches = {off.get(), on.get(), off_too.get()};
    std::array<double, 3> seconds{};
    for (uint64_t i = 0; i < 3; ++i) seconds[(turn + i) % 3] = SecondsOf(caches[(turn + i) % 3], turn);
    ns.push_back(seconds[0] * 1e5);
    ratios.push_back(seconds[1] / ((seconds[0] + seconds[2]) / 2));
    floors.push_back(seconds[2] / seconds[0]);
  }
  state.counters["off_ns"] = MedianOf(ns);
  state.counters["on_over_off"] = MedianOf(ratios);
  state.counters["off_over_off"] = MedianOf(floors);
}
BENCHMARK(BM_BesideOff)->ArgName("curve_rate_10000")->Arg(1)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace mezz

BENCHMARK_MAIN();
