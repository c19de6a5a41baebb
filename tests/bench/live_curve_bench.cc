// SPDX-License-Identifier: Apache-2.0
// What curve=on costs a DRAM hit. Compare interleaved, many times, on a machine that does nothing else:
//   live_curve_bench --benchmark_repetitions=30 --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
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
std::shared_ptr<rocksdb::Cache> whole_cache;

// Argument: the share of the blocks that is looked at, in parts of ten thousand; 0: curve=off.
void OpenShared(const benchmark::State& state) {
  HybridCacheOptions options;
  options.dram_bytes = 64 << 20;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.capacity_bytes = 16 << 20;
  options.curve = state.range(0) != 0;
  if (options.curve) options.curve_rate = static_cast<double>(state.range(0)) / 10'000;
  if (!NewHybridCache(options, &whole_cache).ok()) return;
  shared_cache = std::make_unique<BlockCache>(whole_cache);
  const std::vector<std::byte> bytes(kBlockBytes);
  for (uint64_t key = 0; key < kBlocks; ++key) shared_cache->Insert(BlockKeyOf(key), BlockRole::kData, bytes);
}
void CloseShared(const benchmark::State&) {
  shared_cache.reset();
  whole_cache.reset();
}

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

// The curve alone: a look-up that is told to it. Argument as above.
void BM_NoteLookUp(benchmark::State& state) {
  plan::LiveCurve curve({.rate_max = static_cast<double>(state.range(0)) / 10'000,
                         .look_ups = [] { return plan::LiveCurve::LookUps{}; },
                         .now_ns = [] { return uint64_t{0}; }});
  uint64_t key = 0;
  for (auto _ : state) {
    curve.NoteLookUp(BlockHash(BlockKeyOf(key)), BlockRole::kData, [] { return kBlockBytes; });
    key = (key + 1) % kBlocks;
  }
}
BENCHMARK(BM_NoteLookUp)->ArgName("curve_rate_10000")->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace mezz

BENCHMARK_MAIN();
