// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/curve_surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mezz::plan {
namespace {

// A size within the grid, and what share of it the tier has: below the smallest, hits are taken to shrink as the size.
struct Within {
  Within(double wanted, const std::vector<uint64_t>& grid)
      : bytes(std::max(static_cast<uint64_t>(std::llround(std::max(0.0, wanted))), grid.front())),
        share(bytes > grid.front() || bytes == 0 ? 1 : std::clamp(wanted / static_cast<double>(bytes), 0.0, 1.0)) {}
  uint64_t bytes;
  double share;
};

}  // namespace

TierShares CurveSurface::At(double dram_bytes, double scm_bytes) const {
  HitShares found;
  const Within dram(dram_bytes, curve_.form.dram), scm(scm_bytes, curve_.form.scm);
  const Status status = curve_.At(dram.bytes, scm.bytes, &found);
  assert(status.ok());
  TierShares shares;
  if (!status.ok()) return shares;
  // In the mean over seeds, each within its own band, the tiers may find a little more than both.
  shares.scm = scm.share * std::clamp(found.scm.value, 0.0, 1.0);
  shares.dram = dram.share * std::clamp(found.dram.value, 0.0, 1 - shares.scm);
  shares.miss_band = found.both.band;
  shares.scm_writes = scm_bytes > 0 ? found.scm_writes : 0;
  shares.scm_promoted = scm.share * (found.promotions - found.packed_promotions);
  shares.scm_unpacked = scm.share * (found.scm_unpacked + found.packed_promotions);
  // A packed record that gets a second chance is moved as it is.
  shares.scm_packs = scm_bytes > 0 ? std::max(0.0, found.packed_writes - found.second_chances) : 0;
  shares.scm_record_bytes = found.scm_writes > 0 ? found.scm_written_bytes / found.scm_writes : 0;
  return shares;
}

Traffic TrafficOf(const Curve& curve, double lookups_per_operation, double reads_per_miss) {
  Traffic traffic;
  traffic.name = curve.traces.empty() ? "a curve" : curve.traces.front();
  if (curve.traces.size() > 1) traffic.name += fmt::format(" and {} more", curve.traces.size() - 1);
  traffic.policy = curve.form.policy;
  traffic.pack = curve.form.pack;
  traffic.block_bytes = curve.mean_block_bytes() > 0 ? curve.mean_block_bytes() : curve.form.block_bytes;
  traffic.flash_bytes = traffic.block_bytes;
  traffic.lookups_per_operation = lookups_per_operation;
  traffic.reads_per_miss = reads_per_miss;
  // A sum over hosts; one of them has its share.
  traffic.footprint_bytes =
      static_cast<double>(curve.sums.footprint_bytes) / static_cast<double>(std::max<uint64_t>(1, curve.sums.hosts));
  traffic.curve = curve.exact()
                      ? "exact"
                      : fmt::format("{} samples, {:.2g} of the blocks at least", curve.form.seeds, curve.rate_min);
  return traffic;
}

}  // namespace mezz::plan
