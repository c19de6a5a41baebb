// SPDX-License-Identifier: Apache-2.0
// The whole cache as a table reader uses it: a hit in DRAM, one in SCM, and an insert that demotes another block.
// Compare two builds by processes that take turns, on a machine that does nothing else.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "admission/curves/block_key.h"
#include "integration/hybrid_cache.h"
#include "workloads/replay/caches/block_cache.h"

namespace mezz {
namespace {

constexpr size_t kBlockBytes = 4096;
constexpr uint64_t kScmBytes = 256 << 20;

// Where the SCM tier lies: memory of the process, or so many files in /dev/shm.
enum class Lies { kInProcess, kOnAFile, kOnTwoFiles };

// `shared`: as one of two databases that share the cache.
std::unique_ptr<BlockCache> Opened(uint64_t dram_bytes, bool shared = false, Lies lies = Lies::kInProcess) {
  HybridCacheOptions options;
  options.dram_bytes = dram_bytes;
  options.scm.medium = lies == Lies::kInProcess ? MediumKind::kAnonymous : MediumKind::kFile;
  options.scm.capacity_bytes = kScmBytes;
  options.scm.recovery = Recovery::kDiscard;
  options.scm.prepare = Prepare::kBeforeOpen;
  const std::string file = fmt::format("/dev/shm/mezz_tiers_bench.{}", getpid());
  if (lies == Lies::kOnAFile) options.scm.path = file;
  if (lies == Lies::kOnTwoFiles)
    options.scm.members = {{.path = file, .capacity_bytes = kScmBytes / 2},
                           {.path = file + ".2", .capacity_bytes = kScmBytes / 2}};
  options.policy = "dram_first";
  options.scm.pack = PackMode::kOff;
  std::shared_ptr<rocksdb::Cache> whole;
  const bool opened = NewHybridCache(options, &whole).ok();
  unlink(file.c_str());
  unlink((file + ".2").c_str());
  if (!opened) return nullptr;
  if (shared && !ForDatabase(std::shared_ptr(whole), "one", {}, &whole).ok()) return nullptr;
  return std::make_unique<BlockCache>(std::move(whole));
}

void Hits(benchmark::State& state, uint64_t dram_bytes, uint64_t blocks, bool shared = false,
          Lies lies = Lies::kInProcess) {
  const std::unique_ptr<BlockCache> cache = Opened(dram_bytes, shared, lies);
  if (cache == nullptr) return state.SkipWithError("the cache could not be opened");
  const std::vector<std::byte> bytes(kBlockBytes);
  for (uint64_t key = 0; key < blocks; ++key) cache->Insert(BlockKeyOf(key), BlockRole::kData, bytes);
  std::minstd_rand random(1);
  uint64_t hits = 0;
  for (auto _ : state) hits += static_cast<bool>(cache->Lookup(BlockKeyOf(random() % blocks), BlockRole::kData));
  state.counters["hits"] = benchmark::Counter(static_cast<double>(hits), benchmark::Counter::kAvgIterations);
}
void BM_HitInDram(benchmark::State& state) { Hits(state, /*dram_bytes=*/64 << 20, /*blocks=*/4096); }
BENCHMARK(BM_HitInDram);
void BM_HitInDramOfADatabase(benchmark::State& state) { Hits(state, /*dram_bytes=*/64 << 20, /*blocks=*/4096, true); }
BENCHMARK(BM_HitInDramOfADatabase);

// Nine blocks of ten lie in SCM.
void BM_HitInScm(benchmark::State& state) { Hits(state, /*dram_bytes=*/8 << 20, /*blocks=*/16'384); }
BENCHMARK(BM_HitInScm);
void BM_HitInScmOfADatabase(benchmark::State& state) { Hits(state, /*dram_bytes=*/16 << 20, /*blocks=*/16'384, true); }
BENCHMARK(BM_HitInScmOfADatabase);

void BM_HitInScmOfFiles(benchmark::State& state) {
  Hits(state, /*dram_bytes=*/8 << 20, /*blocks=*/16'384, /*shared=*/false,
       state.range(0) == 1 ? Lies::kOnAFile : Lies::kOnTwoFiles);
}
BENCHMARK(BM_HitInScmOfFiles)->Arg(1)->Arg(2);

// Each block is new. Both tiers are full, so segments are reclaimed as well.
void BM_InsertAndDemote(benchmark::State& state) {
  const std::unique_ptr<BlockCache> cache = Opened(/*dram_bytes=*/8 << 20);
  if (cache == nullptr) return state.SkipWithError("the cache could not be opened");
  const std::vector<std::byte> bytes(kBlockBytes);
  uint64_t key = 0;
  for (; key < 2 * kScmBytes / kBlockBytes; ++key) cache->Insert(BlockKeyOf(key), BlockRole::kData, bytes);
  for (auto _ : state) cache->Insert(BlockKeyOf(key++), BlockRole::kData, bytes);
}
BENCHMARK(BM_InsertAndDemote);

// A database reads 50,000 blocks at random, which the SCM tier could hold, while its neighbour scans four blocks for
// each of them. Arguments: 0: both have the cache; 1: each has a share of it, and the reader's reserve is its blocks.
// The policy: 0: dram_first, which stores all; 1: adaptive. Reports the reader's misses once it has read ten times all.
void BM_BesideAScan(benchmark::State& state) {
  constexpr uint64_t kBlocks = 50'000, kScanBegins = 1'000'000'000;
  HybridCacheOptions options;
  options.dram_bytes = 16 << 20;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.capacity_bytes = kScmBytes;
  options.policy = state.range(1) == 0 ? "dram_first" : "adaptive";
  options.scm.pack = PackMode::kOff;
  std::shared_ptr<rocksdb::Cache> whole;
  if (!NewHybridCache(options, &whole).ok()) return state.SkipWithError("the cache could not be opened");
  std::shared_ptr<rocksdb::Cache> of_reader = whole, of_scan = whole;
  if (state.range(0) == 1 && (!ForDatabase(whole, "reader", {.scm = {.reserved_percent = 85}}, &of_reader).ok() ||
                              !ForDatabase(whole, "scan", {}, &of_scan).ok()))
    return state.SkipWithError("the cache could not be shared");
  BlockCache reader(of_reader), scan(of_scan);
  const std::vector<std::byte> bytes(kBlockBytes);
  std::minstd_rand random(1);
  uint64_t scanned = kScanBegins, misses = 0;
  const auto read = [&] {
    const BlockKey key = BlockKeyOf(random() % kBlocks);
    const bool hit = static_cast<bool>(reader.Lookup(key, BlockRole::kData));
    if (!hit) reader.Insert(key, BlockRole::kData, bytes);
    for (int i = 0; i < 4; ++i, ++scanned) {
      if (!scan.Lookup(BlockKeyOf(scanned), BlockRole::kData))
        scan.Insert(BlockKeyOf(scanned), BlockRole::kData, bytes);
    }
    return hit;
  };
  for (uint64_t i = 0; i < 10 * kBlocks; ++i) read();
  for (auto _ : state) misses += read() ? 0 : 1;
  state.counters["misses"] = benchmark::Counter(static_cast<double>(misses), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_BesideAScan)->ArgsProduct({{0, 1}, {0, 1}})->Iterations(200'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mezz

BENCHMARK_MAIN();
