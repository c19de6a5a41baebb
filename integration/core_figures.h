// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "admission/decision_counters.h"
#include "cache/counters.h"
#include "cache/recoverer.h"
#include "cache/types.h"
#include "integration/cache_curve.h"
#include "integration/dram_budget.h"
#include "integration/hybrid_core.h"
#include "integration/metrics.h"
#include "integration/metrics_endpoint.h"
#include "integration/miss_latency.h"
#include "integration/read_back.h"

namespace mezz {

// What a hybrid cache knows of itself at one moment: what its report (core_report.cc) and its metrics
// (metrics_of_core.cc) tell.
struct CoreFigures {
  HybridCacheOptions options;  // as opened, but for the policy, which is the one in force
  CounterSnapshot counters;
  DecisionSnapshot decisions;
  DramUse dram;
  RecoveryReport recovery;
  std::optional<DramTierUse> dram_tier;  // nothing: not known
  std::optional<MissLatency::Snapshot> misses;
  MetricsDeliveries deliveries;

  // Of the SCM tier.
  MediumInfo medium;
  std::string name_trouble;  // of the medium's file; empty: none
  uint64_t capacity_bytes = 0, ready_bytes = 0, used_bytes = 0, pinned_bytes = 0, quarantined_bytes = 0;
  uint64_t resident_blocks = 0, faults = 0, bus_errors = 0, scm_dram_bytes = 0;
  bool pin_pressure = false, closed = false;

  uint64_t policy_bytes = 0;                 // of DRAM, the one in force
  std::optional<Codec> codec;                // of new records; nothing: they stay raw
  std::optional<uint64_t> dram_total_bytes;  // nothing: dram=, not dram_total=
  uint64_t dram_capacity_bytes = 0, dram_warmed_bytes = 0;
  std::optional<uint64_t> flash_read_ns;               // with pack=auto
  std::optional<uint64_t> zstd_percent;                // with pack=auto
  std::optional<uint64_t> staged_puts, unstaged_puts;  // with pack_stage=
  ReadBackCounts read_back;
  uint64_t offered_by_flushes = 0, offered_by_compactions = 0, read_by_compactions = 0;

  std::optional<CacheCurve::Figures> curve;  // with curve=on
};

// The one table of what monitoring is told.
MetricFamilies ToMetrics(const CoreFigures& figures);

// Counters and configuration as text, one "name: value" a line. `uri`: what its first line is.
std::string ToReport(const CoreFigures& figures, UriKind uri);

}  // namespace mezz
