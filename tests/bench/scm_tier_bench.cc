// SPDX-License-Identifier: Apache-2.0
// Microbenchmarks of the SCM tier alone. Counters, on the benchmarks they belong to:
//   dram_bytes_per_block           every DRAM structure of the tier / resident blocks, full
//   payload_fraction               resident payload bytes / medium bytes, full
//   medium_bytes_per_demoted_byte  written to the medium / payload put, second chances apart
//   allocations_per_hit            operator new calls of this thread / operations (a put is an operation too)
#include <benchmark/benchmark.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

#include "tests/support/bench_main.h"
#include "tests/support/tier_fixture.h"

static std::atomic<uint64_t> allocations{0};

// Not inlined, or GCC sees malloc and delete meet and warns.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace mezz {
namespace {

constexpr uint64_t kMediumBytes = 256 << 20;

std::vector<std::byte> scratch(1 << 20, std::byte{0x5a});

// Which payload size each key has: fixed, or spread over 1 to 64 KiB.
size_t SizeOf(uint64_t key, int64_t bytes) {
  return bytes > 0 ? static_cast<size_t>(bytes) : 1024 + test::Key(key).words[0] % (63 * 1024);
}

void PutKey(ScmTier& tier, uint64_t key, int64_t bytes) {
  tier.Put(test::Key(key), BlockRole::kData, std::span(scratch).first(SizeOf(key, bytes)));
}

// Puts keys from `first` until `bytes_put` payload bytes are written; returns the next key.
uint64_t Fill(ScmTier& tier, uint64_t first, uint64_t bytes_put, int64_t bytes) {
  for (uint64_t put = 0; put < bytes_put; put += SizeOf(first++, bytes)) PutKey(tier, first, bytes);
  return first;
}

ScmOptions Options() { return test::AnonymousOptions(kMediumBytes, /*segment_bytes=*/0); }

void ReportSpace(benchmark::State& state, ScmTier& tier) {
  const ScmAudit audit = tier.Audit();
  for (const std::string& violation : audit.violations) state.SkipWithError(violation.c_str());
  state.counters["payload_fraction"] =
      static_cast<double>(audit.resident_payload_bytes) / static_cast<double>(audit.medium_bytes);
  state.counters["dram_bytes_per_block"] =
      static_cast<double>(audit.dram_bytes) / static_cast<double>(audit.resident_blocks);
  const CounterSnapshot counts = tier.counters().Snapshot();
  state.counters["medium_bytes_per_demoted_byte"] =
      static_cast<double>(counts[Event::kScmWrittenBytes] - counts[Event::kScmSecondChanceBytes]) /
      static_cast<double>(counts[Event::kScmPutBytes]);
}

// Arguments: block bytes (0: mixed 1-64 KiB), block bytes of an earlier fill (churn; 0: none).
void BM_Put(benchmark::State& state) {
  auto tier = test::OpenOrDie(Options());
  uint64_t key = 0;
  if (state.range(1) > 0) key = Fill(*tier, key, 2 * kMediumBytes, state.range(1));
  key = Fill(*tier, key, 2 * kMediumBytes, state.range(0));
  const uint64_t before = allocations.load(std::memory_order_relaxed);
  uint64_t bytes = 0;
  for (auto _ : state) {
    bytes += SizeOf(++key, state.range(0));
    PutKey(*tier, key, state.range(0));
  }
  state.counters["allocations_per_hit"] =
      static_cast<double>(allocations.load(std::memory_order_relaxed) - before) / state.iterations();
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  ReportSpace(state, *tier);
}
BENCHMARK(BM_Put)->ArgNames({"bytes", "churned_from"})->Args({4096, 0})->Args({5300, 4096})->Args({0, 0});

std::unique_ptr<ScmTier> shared_tier;
uint64_t shared_keys = 0;

void FillShared(const benchmark::State& state) {
  ScmOptions options = Options();
  options.expected_block_bytes = static_cast<uint32_t>(state.range(0));
  shared_tier = test::OpenOrDie(options);
  shared_keys = kMediumBytes * 9 / 10 / static_cast<uint64_t>(state.range(0) + 64);
  for (uint64_t key = 0; key < shared_keys; ++key) PutKey(*shared_tier, key, state.range(0));
}
void DropShared(const benchmark::State&) { shared_tier.reset(); }

// What a search in a block touches: a few dependent lines.
uint64_t Search(std::span<const std::byte> block) {
  uint64_t at = block.size() - 8, sum = 0;
  for (unsigned line = 0; line < BlockSearchLines(block.size()); ++line) {
    sum += static_cast<uint64_t>(block[at]);
    at = (at * 2654435761u + sum) & (std::bit_floor(block.size()) - 1);
  }
  return sum;
}

// Find to release. Arguments: block bytes; whether the block is also searched (a few dependent lines: most of an
// in-place hit's cost, none of a copy's, whose lines are in L1 by then).
void BM_HitInPlace(benchmark::State& state) {
  std::mt19937_64 random(state.thread_index() + 1);
  const uint64_t before = allocations.load(std::memory_order_relaxed);
  uint64_t hits = 0;
  for (auto _ : state) {
    const PinnedBlock block = shared_tier->Find(test::Key(random() % shared_keys));
    if (!block) continue;
    ++hits;
    benchmark::DoNotOptimize(block.payload().data());
    if (state.range(1) != 0) benchmark::DoNotOptimize(Search(block.payload()));
  }
  state.SetItemsProcessed(static_cast<int64_t>(hits));
  if (state.thread_index() == 0)
    state.counters["allocations_per_hit"] =
        static_cast<double>(allocations.load(std::memory_order_relaxed) - before) / state.iterations();
}

// The same hit copied to memory of its own first, as a cache that cannot serve in place must.
void BM_HitCopied(benchmark::State& state) {
  std::mt19937_64 random(state.thread_index() + 1);
  for (auto _ : state) {
    const PinnedBlock block = shared_tier->Find(test::Key(random() % shared_keys));
    if (!block) continue;
    std::unique_ptr<std::byte[]> copy(new std::byte[block.payload().size()]);
    std::memcpy(copy.get(), block.payload().data(), block.payload().size());
    benchmark::DoNotOptimize(copy.get());
    if (state.range(1) != 0) benchmark::DoNotOptimize(Search({copy.get(), block.payload().size()}));
  }
}

void HitArguments(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "searched"})->ArgsProduct({{4096, 32768}, {0, 1}});
  bench->Setup(FillShared)->Teardown(DropShared)->Threads(1)->Threads(2)->UseRealTime();
}
BENCHMARK(BM_HitInPlace)->Apply(HitArguments);
BENCHMARK(BM_HitCopied)->Apply(HitArguments);

void BM_Miss(benchmark::State& state) {
  std::mt19937_64 random(7);
  for (auto _ : state) benchmark::DoNotOptimize(static_cast<bool>(shared_tier->Find(test::Key(random() | 1ull << 63))));
}
BENCHMARK(BM_Miss)->ArgName("bytes")->Arg(4096)->Setup(FillShared)->Teardown(DropShared);

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) { return mezz::test::BenchMain(argc, argv, "anonymous memory (emulated SCM)"); }
