// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>

#include "workloads/plan/demand.h"
#include "workloads/plan/latencies.h"

namespace mezz::plan {
namespace {

TierShares MissesMoved(const TierShares& shares, double by) {
  TierShares moved = shares;
  const double hit = 1 - shares.miss();
  const double miss = std::clamp(shares.miss() + by, 0.0, 1.0);
  const double factor = hit > 0 ? (1 - miss) / hit : 0;
  moved.dram *= factor;
  moved.scm *= factor;
  moved.slow_scm *= factor;
  moved.scm_unpacked *= factor;
  moved.scm_promoted *= factor;
  if (hit <= 0) moved.dram = 1 - miss;
  return moved;
}

struct Solved {
  Demand demand;
  NetworkLoad network;
};

Solved Solve(const Machine& machine, const Traffic& traffic, const TierShares& shares, const Load& load, End end) {
  const double by = end == End::kGood ? -shares.miss_band : end == End::kBad ? shares.miss_band : 0;
  Solved solved{.demand = DemandOf(machine, traffic, MissesMoved(shares, by), end), .network = {}};
  solved.network = load.closed ? SolveClosed(solved.demand.stations, load.threads)
                               : SolveOpen(solved.demand.stations, load.rate / 1e9);
  return solved;
}

// Service that varies less than exponential service waits less: nobody waits more than the product form says, and
// nothing is faster than a network in which nobody waits (Denning and Buzen 1978, asymptotic bounds).
double MostPerNs(const Solved& good, const Load& load) {
  double demand_ns = 0;
  for (const Station& station : good.demand.stations) demand_ns += station.demand_ns;
  const double capacity = Capacity(good.demand.stations);
  return std::min(capacity, load.closed ? load.threads / demand_ns : load.rate / 1e9);
}

void FillLatencies(const Machine& machine, const Traffic& traffic, const Solved (&solved)[3], Prediction* prediction) {
  double Bracket::*const ends[3] = {&Bracket::low, &Bracket::value, &Bracket::high};
  for (size_t i = 0; i < 3; ++i) {
    const double mean_ns = solved[i].network.response_ns;
    prediction->mean_us.*ends[i] = mean_ns / 1e3;
    if (std::isinf(mean_ns)) {
      for (Bracket* one : {&prediction->p50_us, &prediction->p95_us, &prediction->p99_us}) one->*ends[i] = kInfinite;
      continue;
    }
    const Latencies latencies(machine, traffic, solved[i].demand, solved[i].network);
    prediction->p50_us.*ends[i] = latencies.At(0.50);
    prediction->p95_us.*ends[i] = latencies.At(0.95);
    prediction->p99_us.*ends[i] = latencies.At(0.99);
  }
}

void FillDevices(const Traffic& traffic, const Load& load, const Solved& middle, Prediction* prediction) {
  constexpr double kBusy = 0.7;
  const double per_s = prediction->throughput.value;
  const Demand& demand = middle.demand;
  prediction->flash_reads_per_s = per_s * demand.flash_reads;
  prediction->flash_bytes_per_s = prediction->flash_reads_per_s * BytesOfARead(traffic);
  size_t busiest = kCpu;
  std::array<double, kPlaces> share{};
  for (size_t i = 0; i < demand.stations.size(); ++i) {
    share[i] = std::min(1.0, per_s / 1e9 * demand.stations[i].demand_ns / demand.stations[i].servers);
    if (share[i] > share[busiest]) busiest = i;
  }
  prediction->cpu_share = share[kCpu];
  for (size_t i = 0; i < kMediaMax; ++i) {
    prediction->media[i] = {.hit = demand.media[i].hits / traffic.lookups_per_operation,
                            .read_bytes_per_s = per_s * demand.media[i].read_bytes,
                            .written_bytes_per_s = per_s * demand.media[i].written_bytes,
                            .share = std::max(share[kReadPlaces[i]], share[kWritePlaces[i]])};
    prediction->scm_read_bytes_per_s += prediction->media[i].read_bytes_per_s;
    prediction->scm_written_bytes_per_s += prediction->media[i].written_bytes_per_s;
    prediction->scm_share = std::max(prediction->scm_share, prediction->media[i].share);
  }
  prediction->flash_share = std::max(share[kFlash], share[kFlashBandwidth]);
  prediction->bottleneck = load.closed && share[busiest] < kBusy ? "threads" : kPlaceNames[busiest];
}

}  // namespace

nlohmann::json ToJson(const Bracket& bracket) {
  const auto finite = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); };
  return {{"low", finite(bracket.low)}, {"value", finite(bracket.value)}, {"high", finite(bracket.high)}};
}

const OperationCosts& PresetCosts() {
  // One core of a virtual machine of 2026, RocksDB 11.8.1, 4 KiB blocks, assertions off: mezz_replay of
  // results/calibration (a_none.json): 2.7 us a Get whose blocks lie in DRAM, 0.36 more for one in SCM,
  // 39 more for one from the machine's own disk. An NVMe drive without a hypervisor between costs a few us.
  static const OperationCosts preset = {
      .base = {.low = 1500, .value = 2700, .high = 5400},
      .scm_hit = {.low = 200, .value = 360, .high = 720},
      .flash_read = {.low = 4000, .value = 10000, .high = 39000},
      .flash_wait = {},
      .source = "preset: a Get of RocksDB 11.8.1 on one core of 2026, not this machine; mezz_plan calibrate measures"};
  return preset;
}

Status ParseScmModel(const std::string& name, MediumModel* model) {
  // DRAM's random read of Izraelevitz et al. 2019, and sixteen line-fill buffers to stream with. Its bandwidth is out
  // of reach of what this model is for.
  static constexpr MediumModel kLikeDram = {.name = "none",
                                            .random_read_ns = 81,
                                            .write_ns = 81,
                                            .thread_read_bytes_per_ns = 16 * 64 / 81.0,
                                            .read_bytes_per_ns = 1e6,
                                            .write_bytes_per_ns = 1e6,
                                            .read_unit_bytes = 64};
  if (name == "optane100") {
    *model = GetMediumModel(MediumModelName::kOptane100);
  } else if (name == "cxl") {
    *model = GetMediumModel(MediumModelName::kCxl);
  } else if (name == "none") {
    *model = kLikeDram;
  } else {
    return Status::InvalidArgument(fmt::format("the SCM model {} is not known; it is none, optane100 or cxl", name));
  }
  return Status::Ok();
}

Prediction Predict(const Machine& machine, const Traffic& traffic, const TierShares& shares, const Load& load) {
  assert(machine.flash != nullptr && machine.cores > 0 && machine.scm_modules > 0 && machine.flash_devices > 0);
  assert(shares.dram >= 0 && shares.scm >= 0 && shares.miss() >= -1e-9);
  const Solved solved[3] = {Solve(machine, traffic, shares, load, End::kGood),
                            Solve(machine, traffic, shares, load, End::kMiddle),
                            Solve(machine, traffic, shares, load, End::kBad)};
  Prediction prediction;
  prediction.shares = shares;
  const auto served = [&](const Solved& one) {
    return 1e9 * std::min(one.network.per_ns, Capacity(one.demand.stations));
  };
  prediction.throughput = {
      .low = served(solved[2]), .value = served(solved[1]), .high = 1e9 * MostPerNs(solved[0], load)};
  prediction.overloaded = !load.closed && load.rate / 1e9 >= Capacity(solved[1].demand.stations);
  FillLatencies(machine, traffic, solved, &prediction);
  FillDevices(traffic, load, solved[1], &prediction);
  return prediction;
}

}  // namespace mezz::plan
