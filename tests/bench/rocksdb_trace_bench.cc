// SPDX-License-Identifier: Apache-2.0
// How fast a block-cache trace is read, decompression included: records a second of one core.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "../unit/workloads/compress.h"
#include "../unit/workloads/rocksdb_records.h"
#include "workloads/readers/open_trace.h"

namespace mezz {
namespace {

constexpr int kRecords = 200'000;

std::string Content() {
  std::mt19937_64 random(1);
  std::string content = BlockTraceHeader();
  for (int i = 0; i < kRecords; ++i) {
    const std::string block_key = Fixed(random() % 64) + Fixed((random() % 100'000) * 4096);
    const bool is_data = random() % 8 != 0;
    content += BlockAccess{.block_key = block_key,
                           .time_us = 1'700'000'000'000'000ull + static_cast<uint64_t>(i) * 7,
                           .type = static_cast<uint8_t>(is_data ? 9 : 7),
                           .block_bytes = 4000 + random() % 200,
                           .level = static_cast<uint32_t>(random() % 7),
                           .is_hit = static_cast<uint8_t>(random() % 2)}
                   .Record();
  }
  return content;
}

void ReadBlockTrace(benchmark::State& state) {
  const std::string path = "/tmp/mezz-rocksdb-trace-bench-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << Compress(static_cast<Compression>(state.range(0)), Content());
  std::unique_ptr<RequestSource> source;
  if (!OpenTrace(path, "", &source).ok()) return state.SkipWithError("cannot open");
  uint64_t keys = 0;
  for (auto _ : state) {
    for (Request request; source->Next(&request);) keys ^= request.key;
    if (!source->Rewind().ok()) state.SkipWithError("cannot rewind");
  }
  benchmark::DoNotOptimize(keys);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kRecords);
  std::remove(path.c_str());
}
BENCHMARK(ReadBlockTrace)
    ->ArgName("compression")
    ->Arg(static_cast<int>(Compression::kNone))
    ->Arg(static_cast<int>(Compression::kZstd))
    ->Arg(static_cast<int>(Compression::kGzip))
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mezz

BENCHMARK_MAIN();
