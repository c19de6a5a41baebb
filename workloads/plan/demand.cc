// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/demand.h"

#include <algorithm>

#include "cache/layout.h"
#include "workloads/plan/known_policies.h"
#include "workloads/sim/access_time.h"
#include "workloads/sim/alternatives.h"

namespace mezz::plan {
namespace {

constexpr double kFlashLatencyBytes = 4096;  // of which the devices' latencies are

double Pick(const Bracket& bracket, End end) {
  return end == End::kGood ? bracket.low : end == End::kBad ? bracket.high : bracket.value;
}

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

}  // namespace

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

}  // namespace mezz::plan
