// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/decision_counters.h"
#include "cache/counters.h"
#include "cache/recoverer.h"
#include "cache/types.h"
#include "integration/dram_budget.h"
#include "integration/hybrid_core.h"
#include "integration/metrics.h"
#include "integration/metrics_endpoint.h"
#include "integration/miss_latency.h"
#include "integration/read_back.h"

namespace mezz {

// What a hybrid cache knows of itself at one moment: what metrics_of_core.cc gives names to.
struct CoreFigures {
  CounterSnapshot counters;
  DecisionSnapshot decisions;
  DramUse dram;
  RecoveryReport recovery;
  std::optional<DramTierUse> dram_tier;  // nothing: not known
  std::optional<MissLatency::Snapshot> misses;
  MetricsDeliveries deliveries;

  // Of the medium.
  std::string medium;  // its kind, as the URI says it
  std::string description;
  std::string granularity;
  std::string model;
  bool emulated = false, persistent = false;
  uint64_t capacity_bytes = 0, ready_bytes = 0, used_bytes = 0, pinned_bytes = 0, quarantined_bytes = 0;
  uint64_t resident_blocks = 0, faults = 0, bus_errors = 0;
  bool pin_pressure = false, closed = false;

  std::string policy, pack, codec, rocksdb;
  std::optional<uint64_t> dram_total_bytes;  // nothing: dram=, not dram_total=
  uint64_t dram_capacity_bytes = 0, dram_warmed_bytes = 0;
  std::optional<uint64_t> flash_read_ns;               // with pack=auto
  std::optional<uint64_t> zstd_percent;                // with pack=auto
  std::optional<uint64_t> staged_puts, unstaged_puts;  // with pack_stage=
  ReadBackCounts read_back;
  uint64_t offered_by_flushes = 0, offered_by_compactions = 0, read_by_compactions = 0;

  // Of the live curve. Factors are of the present sizes.
  struct Point {
    double dram = 0, scm = 0;
    double dram_hits = 0, scm_hits = 0, error = 0;  // shares of the look-ups
  };
  std::optional<uint64_t> curve_sampled, curve_dropped;
  std::vector<Point> curve{};
};

// The one table of what monitoring is told.
MetricFamilies ToMetrics(const CoreFigures& figures);

}  // namespace mezz
