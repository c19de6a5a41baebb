// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cache/layout.h"
#include "workloads/plan/known_policies.h"
#include "workloads/plan/queueing.h"
#include "workloads/sim/access_time.h"
#include "workloads/sim/alternatives.h"

namespace mezz::plan {
namespace {

constexpr double kFlashLatencyBytes = 4096;  // of which the devices' latencies are

// Those of the slow medium are there if it is.
enum Place : size_t { kCpu, kScmRead, kScmWrite, kFlash, kFlashBandwidth, kSlowRead, kSlowWrite, kPlaces };
constexpr std::array<const char*, kPlaces> kPlaceNames = {
    "cpu", "scm_read", "scm_write", "flash", "flash_bandwidth", "slow_scm_read", "slow_scm_write"};
constexpr std::array<Place, kMediaMax> kReadPlaces = {kScmRead, kSlowRead};
constexpr std::array<Place, kMediaMax> kWritePlaces = {kScmWrite, kSlowWrite};

// Which end of what is not known is taken.
enum class End { kGood, kMiddle, kBad };

double Pick(const Bracket& bracket, End end) {
  return end == End::kGood ? bracket.low : end == End::kBad ? bracket.high : bracket.value;
}

// What one operation asks of one medium of the SCM tier.
struct MediumDemand {
  double hits = 0;
  double hit_ns = 0;  // of a core, for a look-up found there; the medium's own time included
  double read_transfer_ns = 0, write_transfer_ns = 0;  // shared bandwidth
  double read_bytes = 0, written_bytes = 0;
};

// What one operation asks for, in ns of each kind.
struct Demand {
  double base_ns = 0;            // of a core, whatever is found where
  double flash_cpu_ns = 0;       // of a core, for a read from flash and all of its blocks
  double flash_ns = 0;           // on the device, for a read
  double write_ns = 0;           // of a core: the demotions' stores
  double flash_transfer_ns = 0;  // shared bandwidth
  double flash_reads = 0;        // for an operation
  std::array<MediumDemand, kMediaMax> media;
  std::vector<Station> stations;

  double scm_hits() const { return media[kFastMedium].hits + media[kSlowMedium].hits; }
};

double TransferNs(double bytes, double bytes_per_ns) { return bytes_per_ns > 0 ? bytes / bytes_per_ns : 0; }

// The medium's own time for a hit, beyond what the same search costs in DRAM; and the bytes it moves.
struct MediumCost {
  double ns = 0;
  double bytes = 0;
};
MediumCost MediumCostOf(const Machine& machine, const MediumModel& medium, const Traffic& traffic,
                        const TierShares& shares, double record_bytes) {
  const double unpacked = std::min(1.0, shares.scm_unpacked / shares.scm);
  const double promoted = std::min(1 - unpacked, shares.scm_promoted / shares.scm);
  const double in_place = 1 - unpacked - promoted;
  const double lines = BlockSearchLines(static_cast<size_t>(traffic.block_bytes));
  sim::AccessCosts costs;
  if (const auto alternative = sim::AlternativeOf(traffic.policy)) {
    costs = sim::AlternativeCostsOf(*alternative, medium, traffic.block_bytes, record_bytes, 0);
  } else {
    costs = sim::CostsOf(medium, traffic.block_bytes, 0);
    sim::AddPackedCosts(medium, traffic.block_bytes, traffic.pack == "zstd" ? Codec::kZstd : Codec::kLz4, record_bytes,
                        &costs);
  }
  const double hidden_ns = machine.scm_emulated ? 0 : costs.dram_hit_ns;
  return {
      .ns = in_place * std::max(0.0, costs.scm_hit_ns - hidden_ns) + promoted * costs.promotion_ns +
            unpacked * costs.unpack_ns,
      .bytes = in_place * lines * medium.read_unit_bytes + promoted * traffic.block_bytes + unpacked * record_bytes};
}

double RecordBytes(const Traffic& traffic, const TierShares& shares) {
  if (shares.scm_record_bytes > 0) return shares.scm_record_bytes;
  return static_cast<double>(layout::RecordBytes(static_cast<uint64_t>(traffic.block_bytes)));
}

// Of one medium, where a look-up finds `hits` and writes `writes`: its demand, and a core's time for the stores.
MediumDemand DemandOfMedium(const Machine& machine, const MediumModel& medium, const Traffic& traffic,
                            const TierShares& shares, double hits, double writes, End end, double* write_ns) {
  const double record = RecordBytes(traffic, shares);
  MediumDemand d;
  d.hits = traffic.lookups_per_operation * hits;
  d.written_bytes = traffic.lookups_per_operation * writes * record;
  if (d.hits > 0) {
    const MediumCost cost = MediumCostOf(machine, medium, traffic, shares, record);
    const double transfer_ns = TransferNs(cost.bytes, medium.read_bytes_per_ns);
    d.read_bytes = d.hits * cost.bytes;
    d.read_transfer_ns = d.hits * transfer_ns;
    // The device's transfer is part of what an idle device takes; it queues by itself.
    d.hit_ns = Pick(machine.costs.scm_hit, end) + std::max(0.0, cost.ns - transfer_ns);
  }
  const double write_transfer_ns = TransferNs(record, medium.write_bytes_per_ns);
  const double writes_of_operation = traffic.lookups_per_operation * writes;
  d.write_transfer_ns = writes_of_operation * write_transfer_ns;
  *write_ns += writes_of_operation * std::max(0.0, medium.write_ns - write_transfer_ns);
  return d;
}

void AddScm(const Machine& machine, const Traffic& traffic, const TierShares& shares, End end, Demand* d) {
  d->media[kFastMedium] = DemandOfMedium(machine, machine.scm, traffic, shares, shares.scm - shares.slow_scm,
                                         shares.scm_writes, end, &d->write_ns);
  if (machine.slow_scm_modules > 0) {
    d->media[kSlowMedium] = DemandOfMedium(machine, machine.slow_scm, traffic, shares, shares.slow_scm,
                                           shares.slow_scm_writes, end, &d->write_ns);
  }
  if (!IsOfDramTwice(traffic.policy)) return;
  const double record = RecordBytes(traffic, shares);
  const sim::AccessCosts costs =
      sim::AlternativeCostsOf(*sim::AlternativeOf(traffic.policy), machine.scm, traffic.block_bytes, record, 0);
  d->write_ns = traffic.lookups_per_operation * shares.scm_writes * (costs.pack_ns + costs.scm_write_ns);
  // Of a device: there is none.
  d->media[kFastMedium].read_bytes = d->media[kFastMedium].written_bytes = 0;
}

// Of a core, for the records that an operation packs.
double PackingNs(const Machine& machine, const Traffic& traffic, const TierShares& shares) {
  if (!machine.charges_packing || traffic.pack == "off") return 0;
  sim::AccessCosts costs;
  sim::AddPackedCosts(machine.scm, traffic.block_bytes, traffic.pack == "zstd" ? Codec::kZstd : Codec::kLz4,
                      shares.scm_record_bytes, &costs);
  return traffic.lookups_per_operation * shares.scm_packs * costs.pack_ns;
}

double BytesOfARead(const Traffic& traffic) { return traffic.flash_bytes / traffic.reads_per_miss; }

Demand DemandOf(const Machine& machine, const Traffic& traffic, const TierShares& shares, End end) {
  Demand d;
  d.base_ns = Pick(machine.costs.base, end);
  AddScm(machine, traffic, shares, end, &d);
  d.write_ns += PackingNs(machine, traffic, shares);
  d.flash_reads = traffic.reads_per_miss * traffic.lookups_per_operation * std::max(0.0, shares.miss());
  d.flash_cpu_ns = Pick(machine.costs.flash_read, end) / traffic.reads_per_miss;
  const double read_bytes = BytesOfARead(traffic);
  const double transfer_ns = TransferNs(read_bytes, machine.flash->bytes_per_ns);
  const double beyond_ns = TransferNs(std::max(0.0, read_bytes - kFlashLatencyBytes), machine.flash->bytes_per_ns);
  const double fitted = Pick(machine.costs.flash_wait, end);
  const double latency_ns = fitted > 0 ? fitted : machine.flash->MeanLatencyNs() + beyond_ns;
  d.flash_transfer_ns = d.flash_reads * transfer_ns;
  d.flash_ns = std::max(0.0, latency_ns - transfer_ns);
  const bool ordered = machine.slow_scm_modules > 0;
  d.stations.resize(ordered ? kPlaces : kSlowRead);
  const MediumDemand &fast = d.media[kFastMedium], &slow = d.media[kSlowMedium];
  d.stations[kCpu] = {
      d.base_ns + fast.hits * fast.hit_ns + slow.hits * slow.hit_ns + d.flash_reads * d.flash_cpu_ns + d.write_ns,
      machine.cores};
  for (size_t i = 0; i < (ordered ? kMediaMax : kSlowMedium); ++i) {
    const unsigned modules = i == kSlowMedium ? machine.slow_scm_modules : machine.scm_modules;
    d.stations[kReadPlaces[i]] = {d.media[i].read_transfer_ns / modules, 1};
    d.stations[kWritePlaces[i]] = {d.media[i].write_transfer_ns / modules, 1};
  }
  d.stations[kFlash] = {d.flash_reads * d.flash_ns, machine.flash->queue_depth * machine.flash_devices};
  d.stations[kFlashBandwidth] = {d.flash_transfer_ns / machine.flash_devices, 1};
  return d;
}

constexpr size_t kSamples = 2048;
constexpr size_t kDimensions = 8;
using Point = std::array<double, kDimensions>;

// Low-discrepancy points in the unit cube (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences"):
// the same figures for the same question, and steadier than pseudo-random ones.
const std::array<Point, kSamples>& Points() {
  static const auto points = [] {
    auto all = std::make_unique<std::array<Point, kSamples>>();
    double root = 1;  // of x^(d+1) = x + 1
    for (int i = 0; i < 64; ++i) root = std::pow(1 + root, 1.0 / (kDimensions + 1));
    for (size_t sample = 0; sample < kSamples; ++sample) {
      for (size_t i = 0; i < kDimensions; ++i)
        (*all)[sample][i] = std::fmod(0.5 + static_cast<double>(sample + 1) * std::pow(1 / root, i + 1), 1.0);
    }
    return all;
  }();
  return *points;
}

// The normal distribution's quantile, to 4.5e-4 (Abramowitz and Stegun 1964, 26.2.23).
double NormalQuantile(double q) {
  const double tail = std::clamp(std::min(q, 1 - q), 1e-12, 0.5);
  const double t = std::sqrt(-2 * std::log(tail));
  const double z =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return q < 0.5 ? -z : z;
}

// The number of successes of a binomial with mean `mean` over about `trials`, at quantile `q`; the rest of q within the
// class is handed on, so that one dimension chooses class and place in it.
unsigned Binomial(double mean, double trials, double q, double* rest) {
  const auto n = static_cast<unsigned>(std::max(1.0, std::ceil(trials)));
  const double p = std::min(1.0, mean / n);
  if (p >= 1) {
    *rest = q;
    return n;
  }
  constexpr double kLeastExponent = -700;  // of what a double holds
  if (n * std::log1p(-p) < kLeastExponent) {
    const double at =
        std::clamp(mean + std::sqrt(mean * (1 - p)) * NormalQuantile(q) + 0.5, 0.0, static_cast<double>(n));
    *rest = at - std::floor(at);
    return static_cast<unsigned>(at);
  }
  double at_most = 0, mass = std::pow(1 - p, n);
  for (unsigned k = 0;; ++k) {
    if (q < at_most + mass || k == n) {
      *rest = mass > 0 ? std::clamp((q - at_most) / mass, 0.0, 1.0) : 0;
      return k;
    }
    at_most += mass;
    mass *= p / (1 - p) * (n - k) / (k + 1);
  }
}

// Of mean 1.
double Lognormal(double sigma, double q) {
  return sigma > 0 ? std::exp(sigma * NormalQuantile(q) - sigma * sigma / 2) : 1;
}

// An exponential wait that some of the arrivals have.
double WaitNs(const StationLoad& load, double q) {
  if (load.wait_share <= 0 || q >= load.wait_share) return 0;
  return -load.mean_wait_ns * std::log(std::max(1e-12, q / load.wait_share));
}

// Percentiles of the mixture over what an operation found where. Device latencies are drawn from the device's own
// curve, waits from the network; what the cores do varies as calibrated for an operation in DRAM, and what comes on top
// takes its time and no other.
class Latencies {
 public:
  Latencies(const Machine& machine, const Traffic& traffic, const Demand& demand, const NetworkLoad& network) {
    us_.reserve(kSamples);
    const StationLoad& cpu = network.stations[kCpu];
    const StationLoad& bandwidth = network.stations[kFlashBandwidth];
    const double per_read = 1 / traffic.reads_per_miss;
    const double misses = demand.flash_reads * per_read;
    const double scm_hits = demand.scm_hits();
    const double slow_part = scm_hits > 0 ? demand.media[kSlowMedium].hits / scm_hits : 0;
    const double lookups = std::max(traffic.lookups_per_operation, misses + scm_hits);
    const double mean_ns = demand.flash_ns + demand.flash_transfer_ns / std::max(1e-12, demand.flash_reads);
    const double stretch = mean_ns / machine.flash->MeanLatencyNs();
    for (const Point& at : Points()) {
      double rest = 0, of_scm = 0, unused = 0;
      const unsigned reads = Binomial(demand.flash_reads, lookups / per_read, 1 - at[0], &rest);
      const double left = std::max(0.0, lookups - reads * per_read);
      const double scm_mean = lookups > misses ? scm_hits * left / (lookups - misses) : 0;
      const unsigned scm = left > 0 ? Binomial(scm_mean, left, at[1], &of_scm) : 0;
      const unsigned slow = slow_part > 0 && scm > 0 ? Binomial(slow_part * scm, scm, of_scm, &unused) : 0;
      double ns = demand.base_ns * Lognormal(machine.costs.base_sigma, at[7]) + demand.write_ns +
                  (scm - slow) * demand.media[kFastMedium].hit_ns + WaitNs(cpu, at[2]) +
                  Each(network.stations[kScmRead], demand.media[kFastMedium].hits, scm - slow, at[3]) +
                  network.stations[kScmWrite].residence_ns;
      if (network.stations.size() > kSlowRead) {
        ns += slow * demand.media[kSlowMedium].hit_ns +
              Each(network.stations[kSlowRead], demand.media[kSlowMedium].hits, slow, 1 - at[3]) +
              network.stations[kSlowWrite].residence_ns;
      }
      for (unsigned read = 0; read < reads; ++read) {
        const double own = read == 0 ? rest : std::fmod(rest + at[4] * (read + 1) + 0.618 * read, 1.0);
        ns += demand.flash_cpu_ns + stretch * machine.flash->LatencyNs(own);
      }
      ns += Each(network.stations[kFlash], demand.flash_reads, reads, at[5], /*service=*/false) +
            Each(bandwidth, demand.flash_reads, reads, at[6], /*service=*/false);
      us_.push_back(ns / 1e3);
    }
    std::sort(us_.begin(), us_.end());
  }

  double At(double share) const { return us_[static_cast<size_t>(share * static_cast<double>(us_.size() - 1))]; }

 private:
  // The station's loads are those of a mean operation, of `mean` visits; this one has `visits`.
  static double Each(const StationLoad& load, double mean, unsigned visits, double q, bool service = true) {
    if (visits == 0 || mean <= 0) return 0;
    const double served = service ? load.residence_ns - load.wait_share * load.mean_wait_ns : 0;
    return (served + WaitNs(load, q)) * visits / mean;
  }

  std::vector<double> us_;
};

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
