// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/decision_counters.h"
#include "cache/counters.h"
#include "cache/recovery_report.h"
#include "cache/types.h"
#include "integration/cache_curve.h"
#include "integration/database_shares.h"
#include "integration/dram_budget.h"
#include "integration/hybrid_core.h"
#include "integration/metrics.h"
#include "integration/metrics_endpoint.h"
#include "integration/miss_latency.h"
#include "integration/read_back_counts.h"

namespace mezz {

// All figures of a hybrid cache at one moment. Its report (core_report.cc) and its metrics (metrics_of_core.cc) are
// made of them.
struct CoreFigures {
  HybridCacheOptions options;  // as opened, except that the policy is the one in force
  CounterSnapshot counters;
  DecisionSnapshot decisions;
  DramUse dram;
  RecoveryReport recovery;
  std::optional<DramTierUse> dram_tier;  // none if it is not known
  std::optional<MissLatency::Snapshot> misses;
  MetricsDeliveries deliveries;

  // Of the SCM tier.
  MediumInfo medium;
  std::vector<MemberFigures> members;  // of several media
  std::string name_trouble;            // of the medium's file; empty if there is none
  uint64_t capacity_bytes = 0, ready_bytes = 0, used_bytes = 0, pinned_bytes = 0, quarantined_bytes = 0;
  uint64_t huge_page_bytes = 0;  // as far as is known
  uint64_t resident_blocks = 0, faults = 0, bus_errors = 0, scm_dram_bytes = 0;
  bool pin_pressure = false, closed = false;

  uint64_t policy_bytes = 0;                 // of DRAM, for the policy in force
  std::optional<Codec> codec;                // of new records; none if they stay raw
  std::optional<uint64_t> dram_total_bytes;  // none with dram=, which leaves dram_total= out
  uint64_t dram_capacity_bytes = 0, dram_warmed_bytes = 0;
  std::optional<uint64_t> flash_read_ns;               // with pack=auto
  std::optional<uint64_t> zstd_percent;                // with pack=auto
  std::optional<uint64_t> staged_puts, unstaged_puts;  // with pack_stage=
  ReadBackCounts read_back;
  uint64_t offered_by_flushes = 0, offered_by_compactions = 0, read_by_compactions = 0;
  uint64_t largest_flush_bytes = 0;  // 0: none that the cache was told of

  std::optional<CacheCurve::Figures> curve;  // with curve=on
  std::vector<DatabaseFigures> databases;    // the rest first; empty if no database has a share
};

// Makes the metrics. metrics_of_core.cc has the one table of them.
MetricFamilies ToMetrics(const CoreFigures& figures);

// The counters and the configuration as text, one "name: value" a line. `uri` says which URI the first line gives.
std::string ToReport(const CoreFigures& figures, UriKind uri);

}  // namespace mezz
