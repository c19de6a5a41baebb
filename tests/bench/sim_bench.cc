// SPDX-License-Identifier: Apache-2.0
// Speed of the simulator on one thread: accesses/s of each reference and policy, by footprint.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <map>
#include <random>

#include "admission/policy.h"
#include "workloads/sim/opt.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

// Keys after a power law, the cheapest there is: the low ones are asked for most.
class SkewedSource final : public RequestSource {
 public:
  explicit SkewedSource(uint64_t blocks) : blocks_(blocks) {}
  bool Next(Request* request) override {
    if (left_ == 0) return false;
    --left_;
    const auto drawn = static_cast<double>(random_() >> 11) * 0x1p-53;
    *request = Request{.key = static_cast<uint64_t>(static_cast<double>(blocks_) * drawn * drawn * drawn)};
    return true;
  }
  Status status() const override { return Status::Ok(); }
  Status Rewind() override { return Status::NotSupported("not needed"); }
  std::string description() const override { return "skewed"; }

 private:
  const uint64_t blocks_;
  uint64_t left_ = 2'000'000;
  std::mt19937_64 random_{1};
};

const LoadedTrace& Trace(uint64_t blocks) {
  static std::map<uint64_t, LoadedTrace> traces;
  LoadedTrace& trace = traces[blocks];
  if (trace.accesses().empty()) {
    SkewedSource source(blocks);
    if (const Status loaded = LoadedTrace::Load(&source, {}, &trace); !loaded.ok()) std::abort();
  }
  return trace;
}

// Argument: distinct keys drawn from. The total is a tenth of those that came.
void BM_Reference(benchmark::State& state, const char* policy) {
  const LoadedTrace& trace = Trace(static_cast<uint64_t>(state.range(0)));
  const std::vector<uint32_t> next_uses = NextUses(trace.accesses(), trace.unique());
  for (auto _ : state) benchmark::DoNotOptimize(CountReferenceMisses(policy, trace, trace.unique() / 10, 0, next_uses));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(trace.accesses().size()));
}

void BM_Policy(benchmark::State& state, const std::string& policy_name, DramCache dram_cache) {
  const LoadedTrace& trace = Trace(static_cast<uint64_t>(state.range(0)));
  SimOptions options;
  options.dram_cache = dram_cache;
  options.policies = {policy_name};
  Capacity capacity;
  if (!PlanCapacity(trace, options, {.text = "10%", .share = 0.1}, &capacity).ok()) return;
  for (auto _ : state) {
    SimClock clock;
    std::unique_ptr<Policy> policy;
    const PolicyOptions policy_options{.dram_bytes = capacity.dram * 4096,
                                       .scm_bytes = capacity.scm * 4096,
                                       .now_ns = [&clock] { return clock.now_ns; }};
    if (!MakePolicy(policy_name, policy_options, &policy).ok()) return state.SkipWithError("no such policy");
    std::vector<std::string> violations;
    const SimCounts counts =
        RunTwoTier(trace, MakeTwoTierOptions(trace, options, capacity), policy.get(), &clock, &violations);
    if (!violations.empty()) return state.SkipWithError(violations.front().c_str());
    state.counters["miss"] = static_cast<double>(counts.misses) / static_cast<double>(counts.accesses);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(trace.accesses().size()));
}

void RegisterAll() {
  for (const std::string_view name : ReferenceNames()) {
    const std::string text(name);
    benchmark::RegisterBenchmark(("BM_Reference/" + text).c_str(),
                                 [name](benchmark::State& state) { BM_Reference(state, name.data()); })
        ->Arg(100'000)
        ->Arg(10'000'000)
        ->Unit(benchmark::kMillisecond);
  }
  for (const std::string_view name : PolicyNames()) {
    for (const DramCache dram_cache : {DramCache::kLru, DramCache::kHcc}) {
      const std::string text(name);
      benchmark::RegisterBenchmark(("BM_Policy/" + text + (dram_cache == DramCache::kLru ? "/lru" : "/hcc")).c_str(),
                                   [text, dram_cache](benchmark::State& state) { BM_Policy(state, text, dram_cache); })
          ->Arg(100'000)
          ->Arg(10'000'000)
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace mezz::sim

int main(int argc, char** argv) {
  mezz::sim::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
