// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/window_result.h"

namespace mezz {

TierCounts& TierCounts::operator+=(const TierCounts& other) {
  hits += other.hits;
  second_hits += other.second_hits;
  flash_reads += other.flash_reads;
  flash_bytes += other.flash_bytes;
  scm_bytes_read += other.scm_bytes_read;
  scm_bytes_written += other.scm_bytes_written;
  return *this;
}

TierCounts TierCounts::operator-(const TierCounts& earlier) const {
  return {hits - earlier.hits,
          second_hits - earlier.second_hits,
          flash_reads - earlier.flash_reads,
          flash_bytes - earlier.flash_bytes,
          scm_bytes_read - earlier.scm_bytes_read,
          scm_bytes_written - earlier.scm_bytes_written};
}

PackedCounts& PackedCounts::operator+=(const PackedCounts& other) {
  hits += other.hits;
  writes += other.writes;
  bytes += other.bytes;
  stored += other.stored;
  return *this;
}

void WindowResult::Add(const WindowResult& other) {
  ops += other.ops;
  seconds += other.seconds;
  cpu_seconds += other.cpu_seconds;
  context_switches += other.context_switches;
  tiers += other.tiers;
  flash += other.flash;
  latencies.Add(other.latencies);
  for (size_t i = 0; i < kRoleSlots; ++i) roles[i] += other.roles[i];
  second_hits_by_role = other.second_hits_by_role;
  demotions += other.demotions;
  promotions += other.promotions;
  scm_writes += other.scm_writes;
  clean_evictions += other.clean_evictions;
  packed += other.packed;
  for (const auto& [reason, count] : other.refusals) refusals[reason] += count;
  for (const auto& [operation, count] : other.operations) operations[operation] += count;
  not_found += other.not_found;
  other_bytes = other.other_bytes;
  scm_dead_share = other.scm_dead_share;
  touched += other.touched;
}

}  // namespace mezz
