// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/window_result.h"

namespace mezz {

uint64_t WindowCounts::writes() const {
  uint64_t sum = 0;
  for (const char* const operation : {"put", "merge", "delete"}) {
    if (const auto found = operations.find(operation); found != operations.end()) sum += found->second;
  }
  return sum;
}

void WindowResult::Add(const WindowResult& other) {
  ops += other.ops;
  seconds += other.seconds;
  settle_seconds += other.settle_seconds;
  background += other.background;
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
