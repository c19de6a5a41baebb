// SPDX-License-Identifier: Apache-2.0
// What persistence costs where the tier works: look-ups that hit, and puts that reclaim, of 4 KiB blocks on a medium
// that remembers (a file on tmpfs), beside the same of one that does not (anonymous memory). There is no option that
// turns persistence off: the other medium is without it.
//
// Each repetition makes both tiers anew, runs each once untimed, and times eight pairs of short turns: A B A B to its
// end, in the next repetition B A B A. So each turn finds the processor's caches full of the other tier. Counters:
//   ns            of an operation of the tier that `life` names, and the time of the benchmark: median of its turns
//   anonymous_ns  of the one that does not remember
//   ratio         median of the pairs
//   huge_files, huge_anonymous  bytes in huge pages of either kind of memory, over the bytes of one medium
// Arguments: `life` (below); whether there may be huge pages: neither medium has any, or both what the kernel gives.
//
// MEZZ_BENCH_LARGE=1: media of 512 MiB instead of 32. Meant for an even number of --benchmark_repetitions.
#include <benchmark/benchmark.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "tests/support/bench_main.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

// The tier that is divided by the anonymous one.
enum Life : int64_t {
  kAnonymous,  // is another such: what the measurement itself scatters by
  kDiscard,    // lies in a file, with recovery=discard
  kFresh,      // with recovery=warm, filled in this life
  kClosed,     // filled in an earlier life, which was closed
  kKilled,     // filled in an earlier life, which was not
};

constexpr size_t kBlockBytes = 4096;
const std::vector<std::byte> block(kBlockBytes, std::byte{0x5a});

bool IsLarge() { return std::getenv("MEZZ_BENCH_LARGE") != nullptr; }
uint64_t MediumBytes() { return IsLarge() ? 512 << 20 : 32 << 20; }
uint64_t RecordsThatFit() { return MediumBytes() / layout::RecordBytes(kBlockBytes); }

// Of both kinds of memory, in this process.
struct HugeBytes {
  uint64_t of_files = 0, anonymous = 0;
};
HugeBytes HugeNow() {
  HugeBytes huge;
  std::ifstream smaps("/proc/self/smaps_rollup");
  for (std::string word; smaps >> word;) {
    uint64_t kib = 0;
    if (word == "AnonHugePages:" && smaps >> kib) huge.anonymous = kib << 10;
    if (word == "ShmemPmdMapped:" && smaps >> kib) huge.of_files = kib << 10;
  }
  return huge;
}

void PutKeys(ScmTier& tier, uint64_t first, uint64_t count) {
  for (uint64_t key = first; key < first + count; ++key) tier.Put(test::Key(key), BlockRole::kData, block);
}

// A process of its own fills the medium, and ends by no close.
bool FillAndDie(const ScmOptions& options, uint64_t keys) {
  const pid_t child = fork();
  if (child == 0) {
    std::unique_ptr<ScmTier> tier;
    if (!ScmTier::Open(options, &tier).ok()) _exit(1);
    PutKeys(*tier, 1, keys);
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

struct Tiers {
  test::ScratchFile file;
  std::unique_ptr<ScmTier> remembering, anonymous;
  uint64_t next_key = 1;

  ScmOptions Options(Life life, EraseMode erase) const {
    ScmOptions options = test::AnonymousOptions(MediumBytes(), /*segment_bytes=*/0);
    if (life == kAnonymous) return options;
    test::UseFile(file.path(), &options);
    options.recovery = life == kDiscard ? Recovery::kDiscard : Recovery::kWarm;
    options.erase = erase;
    return options;
  }

  // Both, and `keys` put in each. False: something failed.
  bool Make(Life life, uint64_t keys, EraseMode erase = EraseMode::kVolatile) {
    const ScmOptions options = Options(life, erase);
    if (life == kKilled && !FillAndDie(options, keys)) return false;
    remembering = test::OpenOrDie(options);
    if (remembering == nullptr) return false;
    if (life != kKilled) PutKeys(*remembering, 1, keys);
    if (life == kClosed) {
      remembering.reset();
      remembering = test::OpenOrDie(options);
      if (remembering == nullptr) return false;
    }
    remembering->WaitUntilRecovered();
    const bool is_adopted = remembering->recovery().records != 0;
    if (is_adopted != (life == kClosed || life == kKilled)) return false;
    anonymous = test::OpenOrDie(Options(kAnonymous, EraseMode::kVolatile));
    if (anonymous == nullptr) return false;
    PutKeys(*anonymous, 1, keys);
    next_key = 1 + keys;
    return true;
  }
};

template <typename Work>
double NsOf(uint64_t operations, Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(operations);
}

constexpr unsigned kTurns = 8;  // that are timed

double Median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

// Times `ns_of(tier, turn)` of both; `turn` counts from 0 for each of them, and is kTurns to warm up.
template <typename NsOfTurn>
void Compare(benchmark::State& state, Tiers& tiers, NsOfTurn&& ns_of) {
  static bool remembering_first = false;
  remembering_first = !remembering_first;
  std::vector<double> remembering, anonymous, ratios;
  for (unsigned n = 0; n <= kTurns; ++n) {
    const unsigned turn = n == 0 ? kTurns : n - 1;
    double ns = 0, anonymous_ns = 0;
    if (remembering_first) {
      ns = ns_of(*tiers.remembering, turn);
      anonymous_ns = ns_of(*tiers.anonymous, turn);
    } else {
      anonymous_ns = ns_of(*tiers.anonymous, turn);
      ns = ns_of(*tiers.remembering, turn);
    }
    if (turn == kTurns) continue;
    remembering.push_back(ns);
    anonymous.push_back(anonymous_ns);
    ratios.push_back(ns / anonymous_ns);
  }
  state.SetIterationTime(Median(remembering) / 1e9);
  state.counters["ns"] = Median(remembering);
  state.counters["anonymous_ns"] = Median(anonymous);
  state.counters["ratio"] = Median(ratios);
  const HugeBytes huge = HugeNow();
  const auto share = [](uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(MediumBytes()); };
  state.counters["huge_files"] = share(huge.of_files);
  state.counters["huge_anonymous"] = share(huge.anonymous);
}

// For what is made from now on.
bool AllowHugePages(bool allowed) { return prctl(PR_SET_THP_DISABLE, allowed ? 0 : 1, 0, 0, 0) == 0; }

// What both tiers hold and have found more often than they count: where it comes from an earlier life it is proven.
std::vector<uint32_t> KeysProven(Tiers& tiers) {
  std::vector<uint32_t> keys;
  for (unsigned heat = 0; heat < 4; ++heat) {
    keys.clear();
    for (uint64_t key = 1; key < tiers.next_key; ++key) {
      const bool found = static_cast<bool>(tiers.remembering->Find(test::Key(key)));
      if (static_cast<bool>(tiers.anonymous->Find(test::Key(key))) && found) keys.push_back(static_cast<uint32_t>(key));
    }
  }
  return keys;
}

// Find to release; the payload is not read.
void BM_Hit(benchmark::State& state) {
  static uint32_t seed = 0;
  const uint64_t hits = IsLarge() ? 120'000 : 1000;
  for (auto _ : state) {
    Tiers tiers;
    AllowHugePages(state.range(1) != 0);
    if (!tiers.Make(Life{state.range(0)}, RecordsThatFit() * 9 / 10)) return state.SkipWithError("no tiers");
    const std::vector<uint32_t> keys = KeysProven(tiers);
    if (keys.size() < tiers.next_key * 9 / 10) return state.SkipWithError("blocks were lost");
    ++seed;
    bool missed = false;
    Compare(state, tiers, [&](ScmTier& tier, unsigned turn) {
      std::mt19937 random(seed * (kTurns + 1) + turn);
      return NsOf(hits, [&] {
        for (uint64_t n = 0; n < hits; ++n) {
          const PinnedBlock found = tier.Find(test::Key(keys[uint64_t{random()} * keys.size() >> 32]));
          missed |= !found;
          benchmark::DoNotOptimize(found.stored().data());
        }
      });
    });
    if (missed) state.SkipWithError("a look-up missed");
  }
}

// Of each block found again the first hit reads and checks all of it. In the order of their keys, which is that on the
// medium.
void BM_FirstHit(benchmark::State& state) {
  for (auto _ : state) {
    Tiers tiers;
    AllowHugePages(state.range(1) != 0);
    if (!tiers.Make(Life{state.range(0)}, RecordsThatFit() * 9 / 10)) return state.SkipWithError("no tiers");
    const uint64_t hits = tiers.next_key / (kTurns + 1);
    Compare(state, tiers, [&](ScmTier& tier, unsigned turn) {
      return NsOf(hits, [&] {
        for (uint64_t n = 1; n <= hits; ++n)
          benchmark::DoNotOptimize(static_cast<bool>(tier.Find(test::Key(hits * turn + n))));
      });
    });
  }
}

// Into a full tier: each put pays for reclaim. After an earlier life it is that life's records that are reclaimed.
void PutIntoFull(benchmark::State& state, EraseMode erase, bool erases) {
  const Life life{state.range(0)};
  const uint64_t puts = RecordsThatFit() * 9 / 10 / (kTurns + 1);  // no more than what an earlier life left
  for (auto _ : state) {
    Tiers tiers;
    AllowHugePages(state.range(1) != 0);
    if (!tiers.Make(life, RecordsThatFit() * 2, erase)) return state.SkipWithError("no tiers");
    Compare(state, tiers, [&](ScmTier& tier, unsigned turn) {
      return NsOf(puts, [&] {
        for (uint64_t n = 0; n < puts; ++n) {
          const BlockKey key = test::Key(tiers.next_key + turn * puts + n);
          if (erases) tier.Erase(key);
          tier.Put(key, BlockRole::kData, block);
        }
      });
    });
    if (tiers.remembering->counters().Snapshot()[Event::kScmSegmentReclaimed] == 0)
      state.SkipWithError("nothing was reclaimed");
  }
}
void BM_Put(benchmark::State& state) { PutIntoFull(state, EraseMode::kVolatile, /*erases=*/false); }
// An erase before each put, as a hybrid cache whose keys name changing bytes makes.
void BM_EraseAndPut(benchmark::State& state) { PutIntoFull(state, EraseMode::kVolatile, /*erases=*/true); }
void BM_EraseDurablyAndPut(benchmark::State& state) { PutIntoFull(state, EraseMode::kDurable, /*erases=*/true); }

double Smallest(const std::vector<double>& of) { return *std::min_element(of.begin(), of.end()); }
double Largest(const std::vector<double>& of) { return *std::max_element(of.begin(), of.end()); }

void Arguments(benchmark::internal::Benchmark* bench, const std::vector<int64_t>& lives) {
  bench->ArgNames({"life", "huge"})->ArgsProduct({lives, {0, 1}});
  bench->Iterations(1)->UseManualTime()->ComputeStatistics("min", Smallest)->ComputeStatistics("max", Largest);
}
BENCHMARK(BM_Hit)->Apply([](auto* bench) { Arguments(bench, {kAnonymous, kDiscard, kFresh, kClosed, kKilled}); });
BENCHMARK(BM_Put)->Apply([](auto* bench) { Arguments(bench, {kAnonymous, kDiscard, kFresh, kClosed}); });
BENCHMARK(BM_FirstHit)->Apply([](auto* bench) { Arguments(bench, {kClosed}); });
BENCHMARK(BM_EraseAndPut)->Apply([](auto* bench) { Arguments(bench, {kFresh}); });
BENCHMARK(BM_EraseDurablyAndPut)->Apply([](auto* bench) { Arguments(bench, {kFresh}); });

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) {
  return mezz::test::BenchMain(argc, argv, "tmpfs and anonymous memory (emulated SCM)");
}
