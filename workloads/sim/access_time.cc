// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/access_time.h"

#include <algorithm>

#include "cache/layout.h"

namespace mezz::sim {
namespace {

// Blocks of 4 KiB of source text, one core; rejected ones of random bytes.
constexpr double kLz4PackNsPerByte = 7000.0 / 4096, kLz4UnpackNsPerByte = 1200.0 / 4096;
constexpr double kZstdPackNsPerByte = 17000.0 / 4096, kZstdUnpackNsPerByte = 5700.0 / 4096;
constexpr double kLz4RejectNsPerByte = 900.0 / 4096, kZstdRejectNsPerByte = 4100.0 / 4096;

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

double Lz4UnpackNs(double block_bytes) { return kLz4UnpackNsPerByte * block_bytes; }

void AddPackedCosts(const MediumModel& model, double block_bytes, Codec codec, double packed_record_bytes,
                    AccessCosts* costs) {
  const bool lz4 = codec == Codec::kLz4;
  const double record_bytes = static_cast<double>(layout::RecordBytes(static_cast<uint64_t>(block_bytes)));
  costs->unpack_ns =
      StreamReadNs(model, packed_record_bytes) + (lz4 ? kLz4UnpackNsPerByte : kZstdUnpackNsPerByte) * block_bytes;
  costs->pack_ns = (lz4 ? kLz4PackNsPerByte : kZstdPackNsPerByte) * block_bytes;
  costs->reject_ns = (lz4 ? kLz4RejectNsPerByte : kZstdRejectNsPerByte) * block_bytes;
  costs->packed_write_ns = std::max(model.write_ns, packed_record_bytes / model.write_bytes_per_ns);
  costs->packed_spare_ns = StreamReadNs(model, packed_record_bytes) + costs->packed_write_ns;
  costs->repack_ns = StreamReadNs(model, record_bytes) + costs->packed_write_ns;
}

double MeanAccessNs(const AccessCosts& costs, const SimCounts& counts) { return MeanAccessNs(costs, costs, counts); }

double MeanAccessNs(const AccessCosts& fast, const AccessCosts& slow, const SimCounts& counts) {
  const auto times = [](uint64_t count, double ns) { return static_cast<double>(count) * ns; };
  const uint64_t writes = counts.demotions + counts.inserts_to_scm;
  const uint64_t packed_writes =
      counts.packed_writes - counts.packed_second_chances - counts.packed_at_reclaim - counts.packed_level_demotions;
  // As if all lay on the fast level.
  double sum =
      times(counts.dram_hits, fast.dram_hit_ns) + times(counts.scm_in_place, fast.scm_hit_ns) +
      times(counts.scm_unpacked + counts.packed_promotions, fast.unpack_ns) +
      times(counts.promotions - counts.packed_promotions, fast.promotion_ns) + times(counts.misses, fast.miss_ns) +
      times(writes - packed_writes, fast.scm_write_ns) + times(packed_writes, fast.packed_write_ns) +
      times(counts.second_chances - counts.packed_second_chances, fast.spare_ns) +
      times(counts.packed_second_chances, fast.packed_spare_ns) + times(counts.packed_at_reclaim, fast.repack_ns) +
      times(counts.pack_tries - counts.pack_rejected, fast.pack_ns) + times(counts.pack_rejected, fast.reject_ns);
  const SlowCounts& of_slow = counts.slow;
  sum += times(of_slow.in_place, slow.scm_hit_ns - fast.scm_hit_ns) +
         times(of_slow.unpacked + of_slow.packed_promotions, slow.unpack_ns - fast.unpack_ns) +
         times(of_slow.promotions - of_slow.packed_promotions, slow.promotion_ns - fast.promotion_ns) +
         times(of_slow.second_chances - of_slow.packed_second_chances, slow.spare_ns - fast.spare_ns) +
         times(of_slow.packed_second_chances, slow.packed_spare_ns - fast.packed_spare_ns) +
         times(of_slow.packed_at_reclaim, slow.repack_ns - fast.repack_ns);
  // A record that is spared is read, and written to the same medium.
  const double read_ns = fast.spare_ns - fast.scm_write_ns,
               packed_read_ns = fast.packed_spare_ns - fast.packed_write_ns;
  sum += times(counts.level_demotions - counts.packed_level_demotions, read_ns + slow.scm_write_ns) +
         times(counts.packed_level_demotions, packed_read_ns + slow.packed_write_ns);
  return counts.accesses == 0 ? 0 : sum / static_cast<double>(counts.accesses);
}

}  // namespace mezz::sim
