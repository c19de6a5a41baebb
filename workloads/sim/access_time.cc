// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/access_time.h"

#include <algorithm>

#include "cache/layout.h"

namespace mezz::sim {
namespace {

constexpr double kDramRandomReadNs = 81;
// As integration/hybrid_core.cc weighs them for serve=auto.
constexpr double kCopyFixedNs = 40;
constexpr double kCopyNsPerByte = 0.03;

double StreamReadNs(const MediumModel& model, double bytes) {
  const double own = model.random_read_ns + bytes / model.thread_read_bytes_per_ns;
  return std::max(own, bytes / model.read_bytes_per_ns);
}

}  // namespace

AccessCosts CostsOf(const MediumModel& model, double block_bytes, double flash_us) {
  const double lines = BlockSearchLines(static_cast<size_t>(block_bytes));
  const double record_bytes = static_cast<double>(layout::RecordBytes(static_cast<uint64_t>(block_bytes)));
  const double in_place =
      std::max(lines * model.random_read_ns, lines * model.read_unit_bytes / model.read_bytes_per_ns);
  AccessCosts costs;
  costs.dram_hit_ns = lines * kDramRandomReadNs;
  costs.promotion_ns = StreamReadNs(model, block_bytes) + kCopyFixedNs + kCopyNsPerByte * block_bytes;
  costs.scm_hit_ns = std::min(in_place, costs.promotion_ns);
  costs.miss_ns = flash_us * 1000 + costs.dram_hit_ns;
  costs.scm_write_ns = std::max(model.write_ns, record_bytes / model.write_bytes_per_ns);
  costs.spare_ns = StreamReadNs(model, record_bytes) + costs.scm_write_ns;
  return costs;
}

double MeanAccessNs(const AccessCosts& costs, const SimCounts& counts) {
  const auto times = [](uint64_t count, double ns) { return static_cast<double>(count) * ns; };
  const double sum = times(counts.dram_hits, costs.dram_hit_ns) + times(counts.scm_in_place, costs.scm_hit_ns) +
                     times(counts.promotions, costs.promotion_ns) + times(counts.misses, costs.miss_ns) +
                     times(counts.demotions + counts.inserts_to_scm, costs.scm_write_ns) +
                     times(counts.second_chances, costs.spare_ns);
  return counts.accesses == 0 ? 0 : sum / static_cast<double>(counts.accesses);
}

}  // namespace mezz::sim
