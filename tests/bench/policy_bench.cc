// SPDX-License-Identifier: Apache-2.0
// What a decision costs: ns for each OnScmHit and OnDramEviction of every policy, sized for 256 MiB of DRAM and 1 GiB
// of SCM in 4 KiB blocks, over a skewed stream of keys. `none` is the empty loop: the facts are made, a virtual
// function is called, and it does nothing. Subtract it.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "admission/policy.h"

namespace mezz {
namespace {

constexpr uint64_t kDramBlocks = 65'536;
constexpr uint64_t kScmBlocks = 4 * kDramBlocks;
constexpr uint64_t kKeys = 4 * (kDramBlocks + kScmBlocks);
constexpr size_t kStream = size_t{1} << 21;  // a power of two
constexpr uint32_t kBlockBytes = 4096;

// Nothing of it is known where it is called, or the loop would be emptier than any policy's.
#ifdef __clang__
#define MEZZ_OPAQUE [[gnu::noinline]]
#else
#define MEZZ_OPAQUE [[gnu::noipa]]
#endif
class NoPolicy final : public Policy {
 public:
  std::string_view name() const override { return "none"; }
  bool may_divert_misses() const override { return false; }
  MEZZ_OPAQUE Decision OnMiss(const BlockFacts&) override { return {Action::kToDram, Reason::kPolicyDefault}; }
  MEZZ_OPAQUE Decision OnDramEviction(const BlockFacts&) override { return {Action::kDrop, Reason::kPolicyDefault}; }
  MEZZ_OPAQUE Decision OnScmHit(const BlockFacts&) override { return {Action::kInPlace, Reason::kPolicyDefault}; }
  MEZZ_OPAQUE Decision OnReclaim(const BlockFacts&) override { return {Action::kDrop, Reason::kPolicyDefault}; }
  size_t dram_bytes() const override { return 0; }
};

// Zipf of exponent 0.9, by inverting the integral of its density; ranks are dealt to key numbers at random.
const std::vector<uint32_t>& Stream() {
  static const std::vector<uint32_t> keys = [] {
    constexpr double kExponent = 0.9;
    std::mt19937_64 random(1);
    std::vector<uint32_t> drawn(kStream);
    const double whole = std::pow(static_cast<double>(kKeys), 1 - kExponent) - 1;
    for (uint32_t& key : drawn) {
      const double share = static_cast<double>(random() >> 11) * 0x1p-53;
      const double rank = std::pow(share * whole + 1, 1 / (1 - kExponent));
      key = static_cast<uint32_t>(static_cast<uint64_t>(rank) * 2654435761u % kKeys);
    }
    return drawn;
  }();
  return keys;
}

BlockFacts FactsOf(uint32_t key) {
  return {.key = {{0x6d657a7a74726163ull, key}}, .role = BlockRole::kData, .bytes = kBlockBytes};
}

// What leaves DRAM: every other block is one that came once and will not again.
uint32_t Leaving(size_t i) { return i % 2 == 0 ? Stream()[i % kStream] : static_cast<uint32_t>(kKeys + i); }
bool WasHit(size_t i) { return i % 8 == 0; }

std::unique_ptr<Policy> MakeWarm(const std::string& name) {
  std::unique_ptr<Policy> policy;
  if (name == "none") {
    policy = std::make_unique<NoPolicy>();
  } else {
    PolicyOptions options;
    options.dram_bytes = kDramBlocks * kBlockBytes;
    options.scm_bytes = kScmBlocks * kBlockBytes;
    if (!MakePolicy(name, options, &policy).ok()) return nullptr;
  }
  for (size_t i = 0; i < kStream; ++i) {
    BlockFacts block = FactsOf(Leaving(i));
    policy->OnMiss(block);
    if (i >= kDramBlocks) {  // first in, first out
      BlockFacts leaving = FactsOf(Leaving(i - kDramBlocks));
      leaving.was_hit_in_dram = WasHit(i - kDramBlocks);
      policy->OnDramEviction(leaving);
    }
    block.in_scm = true;
    if (i % 4 == 0) policy->OnReclaim(block);
    policy->OnDramHits(2);
  }
  return policy;
}

void BM_OnScmHit(benchmark::State& state, const std::string& name) {
  const std::unique_ptr<Policy> policy = MakeWarm(name);
  const std::vector<uint32_t>& keys = Stream();
  size_t at = 0;
  uint64_t promoted = 0;
  for (auto _ : state) {
    BlockFacts block = FactsOf(keys[at++ % kStream]);
    block.in_scm = true;
    block.scm_heat = at & 3;
    const Decision decision = policy->OnScmHit(block);
    promoted += decision.action == Action::kPromote || decision.action == Action::kMove;
  }
  state.counters["promoted"] = benchmark::Counter(static_cast<double>(promoted), benchmark::Counter::kAvgIterations);
  state.counters["policy_bytes"] = static_cast<double>(policy->dram_bytes());
}

void BM_OnDramEviction(benchmark::State& state, const std::string& name) {
  const std::unique_ptr<Policy> policy = MakeWarm(name);
  size_t at = kStream;
  uint64_t demoted = 0;
  for (auto _ : state) {
    BlockFacts block = FactsOf(Leaving(at));
    block.was_hit_in_dram = WasHit(at++);
    const Decision decision = policy->OnDramEviction(block);
    demoted += decision.action == Action::kToScm;
    if (at % 64 == 0) policy->OnDramHits(256);  // or the governor sees writes alone
  }
  state.counters["demoted"] = benchmark::Counter(static_cast<double>(demoted), benchmark::Counter::kAvgIterations);
}

void RegisterAll() {
  std::vector<std::string> names = {"none"};
  for (const std::string_view name : PolicyNames()) names.emplace_back(name);
  for (const std::string& name : names) {
    benchmark::RegisterBenchmark(("BM_OnScmHit/" + name).c_str(),
                                 [name](benchmark::State& state) { BM_OnScmHit(state, name); });
    benchmark::RegisterBenchmark(("BM_OnDramEviction/" + name).c_str(),
                                 [name](benchmark::State& state) { BM_OnDramEviction(state, name); });
  }
}

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) {
  mezz::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
