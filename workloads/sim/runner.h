// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/curves/two_tier.h"
#include "cache/status.h"
#include "workloads/requests/progress.h"
#include "workloads/sim/options.h"

namespace mezz::sim {

// One policy at one capacity on one trace.
struct SimRow {
  std::string trace;
  std::string policy;
  std::string total;  // as it was asked for
  Capacity capacity;
  double share = 0;  // of the footprint
  bool single_tier = false;
  std::optional<Alternative> alternative{};  // else a policy, or single_tier
  SimCounts counts{};
  double optane100_ns = 0;  // mean access time
  double cxl_ns = 0;
  double ordered_ns = 0;               // of two levels: the fast one under cxl, the slow one under optane100
  std::optional<double> gap_closed{};  // of the way from LRU to OPT, where both were run
  uint32_t scm_unit_bytes = 1;         // of counts.scm_written_units
  uint64_t policy_dram_bytes = 0;
  double cpu_seconds = 0;

  double per_access(uint64_t count) const {
    return counts.accesses == 0 ? 0 : static_cast<double>(count) / static_cast<double>(counts.accesses);
  }
  double miss() const { return per_access(counts.misses); }
  // Whether its SCM tier is a fast level and a slow one.
  bool has_levels() const { return !single_tier && capacity.fast != 0; }
  double scm_written_bytes_per_access() const { return per_access(counts.scm_written_units) * scm_unit_bytes; }
};

struct TraceSummary {
  std::string trace;
  uint64_t accesses = 0;  // after sampling
  uint64_t unique = 0;
  uint64_t footprint_bytes = 0;
  double mean_access_bytes = 0;
  bool has_time = false;
  uint64_t damaged_records = 0;  // left out
  std::vector<std::string> remarks{};
};

struct SimReport {
  std::vector<TraceSummary> traces;
  std::vector<SimRow> rows;  // by trace, total, policy, each in the order they were named
};

// Runs every policy at every total on every trace. What can be refused is refused before the first run.
Status RunSim(const SimOptions& options, SimReport* report, Progress* progress = nullptr);

// Whether every total has room on this trace, and policy opt the memory.
Status JudgeTrace(const LoadedTrace& trace, const SimOptions& options);
// The runs on one trace; appends to *report.
Status RunTrace(const LoadedTrace& trace, const SimOptions& options, SimReport* report, Progress* progress = nullptr);

// Misses of a single-tier reference of `capacity` equal blocks on the accesses from `warmup` on. `next_uses` is for opt
// alone. REQUIRES: IsReference(policy).
uint64_t CountReferenceMisses(std::string_view policy, const LoadedTrace& trace, uint64_t capacity, uint64_t warmup,
                              const std::vector<uint32_t>& next_uses);
// The same of `capacity` bytes, each block with its own; opt is a bound (PfooLowerMisses).
uint64_t CountSizedReferenceMisses(std::string_view policy, const LoadedTrace& trace, uint64_t capacity,
                                   uint64_t warmup, const std::vector<uint32_t>& next_uses);

}  // namespace mezz::sim
