// SPDX-License-Identifier: Apache-2.0
// What it takes to open a medium again that another process left full of blocks of 4 KiB, killed or closed. A process
// of its own fills it, and one for each repeat opens it and ends alike. With MEZZ_BENCH_LARGE of 1, 4, 8 and 12 GiB, in
// /dev/shm.
// Counters:
//   open_ms          until Open returned
//   first_answer_ms  until the first look-up was answered, hit or miss
//   first_hit_ms     until the block put last was found
//   recovered_ms     until all is back; which is also the time of the benchmark
//   close_ms         what the tier's destructor took; 0: killed
//   blocks           that are back
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "tests/support/bench_main.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr size_t kBlockBytes = 4096;

bool IsLarge() { return std::getenv("MEZZ_BENCH_LARGE") != nullptr; }

ScmOptions Options(const std::string& path, uint64_t mib, bool packs) {
  ScmOptions options = test::AnonymousOptions(mib << 20, /*segment_bytes=*/0);
  options.medium = MediumKind::kFile;
  options.path = path;
  options.recovery = Recovery::kWarm;
  options.prepare = Prepare::kBackground;
  options.pack = packs ? PackMode::kAuto : PackMode::kOff;  // which has to look for dictionaries first
  return options;
}

// Runs work() in a process of its own. False: it failed.
template <typename Work>
bool InChild(Work&& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Closes it, or leaves what a killed process would.
void End(std::unique_ptr<ScmTier> tier, bool closed) {
  if (!closed) (void)tier.release();
}

bool Fill(const ScmOptions& options, uint64_t keys, bool closed) {
  ScmOptions prepared = options;
  prepared.prepare = Prepare::kBeforeOpen;
  std::unique_ptr<ScmTier> tier;
  if (!ScmTier::Open(prepared, &tier).ok()) return false;
  const std::vector<std::byte> block(kBlockBytes, std::byte{0x5a});
  for (uint64_t n = 1; n <= keys; ++n) {
    if (tier->Put(test::Key(n), BlockRole::kData, block) != PutResult::kStored) return false;
  }
  End(std::move(tier), closed);
  return true;
}

struct Times {
  double open_ms = 0, first_answer_ms = 0, first_hit_ms = 0, recovered_ms = 0, close_ms = 0;
  uint64_t blocks = 0;
};

bool Reopen(const ScmOptions& options, uint64_t last_key, bool closed, Times* times) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ms = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  std::unique_ptr<ScmTier> tier;
  if (!ScmTier::Open(options, &tier).ok()) return false;
  times->open_ms = ms();
  bool found = static_cast<bool>(tier->Find(test::Key(last_key)));
  times->first_answer_ms = ms();
  while (!found && tier->recovery().running) found = static_cast<bool>(tier->Find(test::Key(last_key)));
  times->first_hit_ms = ms();
  tier->WaitUntilRecovered();
  times->recovered_ms = ms();
  times->blocks = tier->recovery().records;
  found |= static_cast<bool>(tier->Find(test::Key(last_key)));  // it may have come back with the last ones
  const bool as_left = tier->recovery().from_snapshot == closed;
  const double closing_ms = ms();
  End(std::move(tier), closed);
  times->close_ms = closed ? ms() - closing_ms : 0;
  return found && as_left;
}

void BM_Reopen(benchmark::State& state) {
  const test::ScratchFile file;
  const uint64_t mib = static_cast<uint64_t>(state.range(0));
  const bool closed = state.range(2) != 0;
  const ScmOptions options = Options(file.path(), mib, state.range(1) != 0);
  // What fits but for a few segments.
  const uint64_t keys = (mib << 20) / layout::RecordBytes(kBlockBytes) * 95 / 100;
  if (!InChild([&] { return Fill(options, keys, closed); })) state.SkipWithError("the medium could not be filled");
  Times sum;
  for (auto _ : state) {
    int pipes[2];
    Times times;
    if (pipe(pipes) != 0) state.SkipWithError("no pipe");
    const bool reopened = InChild([&] {
      return Reopen(options, keys, closed, &times) && write(pipes[1], &times, sizeof(times)) == sizeof(times);
    });
    if (!reopened || read(pipes[0], &times, sizeof(times)) != sizeof(times)) state.SkipWithError("it was not reopened");
    close(pipes[0]);
    close(pipes[1]);
    state.SetIterationTime(times.recovered_ms / 1000);
    sum.open_ms += times.open_ms;
    sum.first_answer_ms += times.first_answer_ms;
    sum.first_hit_ms += times.first_hit_ms;
    sum.recovered_ms += times.recovered_ms;
    sum.close_ms += times.close_ms;
    sum.blocks += times.blocks;
  }
  const auto mean = [](double of_all) { return benchmark::Counter(of_all, benchmark::Counter::kAvgIterations); };
  state.counters["open_ms"] = mean(sum.open_ms);
  state.counters["first_answer_ms"] = mean(sum.first_answer_ms);
  state.counters["first_hit_ms"] = mean(sum.first_hit_ms);
  state.counters["recovered_ms"] = mean(sum.recovered_ms);
  state.counters["close_ms"] = mean(sum.close_ms);
  state.counters["blocks"] = mean(static_cast<double>(sum.blocks));
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"mib", "packs", "closed"})->UseManualTime();
  benchmark->Iterations(IsLarge() ? 3 : 1)->Unit(benchmark::kMillisecond);
  for (const int64_t mib :
       IsLarge() ? std::vector<int64_t>{1 << 10, 4 << 10, 8 << 10, 12 << 10} : std::vector<int64_t>{64})
    benchmark->Args({mib, 0, 0})->Args({mib, 0, 1});
  benchmark->Args({IsLarge() ? 8 << 10 : 64, 1, 0});
}
BENCHMARK(BM_Reopen)->Apply(Sizes);

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) { return mezz::test::BenchMain(argc, argv, "tmpfs (emulated SCM)"); }
