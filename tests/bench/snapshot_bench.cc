// SPDX-License-Identifier: Apache-2.0
// How long a tier takes to close, and another one to open what it left: a full medium of 4 KiB blocks on tmpfs.
// Iterations are timed from the call of Open until all blocks are found again. Counters:
//   open_s    until Open returned
//   close_s   what the tier's destructor took
//   blocks    found again
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cache/superblock.h"
#include "tests/support/bench_main.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr size_t kBlockBytes = 4096;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// As if the tier had been killed instead of closed, but for what is not on the medium.
void RemoveSnapshot(const std::string& path) {
  std::array<std::byte, layout::kSuperblockSpace> head;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (pread(fd, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size())) {
    layout::Superblock superblock = FindSuperblock(head).superblock;
    superblock.snapshot_segment = superblock.snapshot_chunks = 0;
    superblock.flags = 0;
    superblock = Sealed(superblock);
    for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt})
      if (pwrite(fd, &superblock, sizeof(superblock), static_cast<off_t>(at)) < 0) std::abort();
  }
  close(fd);
}

// Arguments: MiB of the medium; 1: from the snapshot, 0: by a scan. MEZZ_BENCH_LARGE=1 asks for up to 12 GiB of memory.
void Arguments(benchmark::internal::Benchmark* bench) {
  const bool large = std::getenv("MEZZ_BENCH_LARGE") != nullptr;
  bench->ArgNames({"MiB", "snapshot"});
  bench->ArgsProduct({large ? std::vector<int64_t>{256, 1024, 4096, 8192, 12288} : std::vector<int64_t>{64}, {1, 0}});
}
void BM_Reopen(benchmark::State& state) {
  const test::ScratchFile file;
  ScmOptions options;
  options.path = file.path();
  options.capacity_bytes = static_cast<uint64_t>(state.range(0)) << 20;
  options.recovery = Recovery::kWarm;
  options.pack = PackMode::kOff;
  auto tier = test::OpenOrDie(options);
  if (tier == nullptr) return state.SkipWithError("the medium could not be opened");
  if (!tier->WaitUntilPrepared().ok()) return state.SkipWithError("the medium could not be prepared");
  const std::vector<std::byte> block(kBlockBytes, std::byte{0x5a});
  const uint64_t puts = options.capacity_bytes / layout::RecordBytes(kBlockBytes);
  for (uint64_t n = 1; n <= puts; ++n) tier->Put(test::Key(n), BlockRole::kData, block);
  double close_s = 0, open_s = 0;
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    tier.reset();
    close_s += SecondsSince(begin);
    if (state.range(1) == 0) RemoveSnapshot(options.path);
    begin = std::chrono::steady_clock::now();
    tier = test::OpenOrDie(options);
    if (tier == nullptr) return state.SkipWithError("the medium could not be opened again");
    open_s += SecondsSince(begin);
    tier->WaitUntilRecovered();
    state.SetIterationTime(SecondsSince(begin));
    if (tier->recovery().from_snapshot != (state.range(1) == 1)) state.SkipWithError("it was opened the other way");
  }
  state.counters["open_s"] = benchmark::Counter(open_s, benchmark::Counter::kAvgIterations);
  state.counters["close_s"] = benchmark::Counter(close_s, benchmark::Counter::kAvgIterations);
  state.counters["blocks"] = static_cast<double>(tier->resident_blocks());
}
BENCHMARK(BM_Reopen)->Apply(Arguments)->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) { return mezz::test::BenchMain(argc, argv, "tmpfs (emulated SCM)"); }
