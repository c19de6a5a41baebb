// SPDX-License-Identifier: Apache-2.0
// mezz_replay --mode=block: a trace of blocks against the real caches, without a database.
#pragma once

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cache/status.h"
#include "workloads/replay/latency_histogram.h"
#include "workloads/replay/options.h"
#include "workloads/replay/progress.h"

namespace mezz {

// One cache, over the accesses after the warm-up.
struct BlockRow {
  std::string cache;
  std::string unavailable;  // why it could not run here; empty: it did
  uint64_t accesses = 0;
  uint64_t dram_hits = 0;
  uint64_t scm_hits = 0;
  uint64_t misses = 0;
  uint64_t scm_writes = 0;  // blocks written to the second tier, second chances included
  uint64_t scm_bytes_written = 0;
  uint64_t promotions = 0;
  double seconds = 0;
  LatencyHistogram latencies;  // of the accesses: the look-up, and on a miss the read and the insertion
  std::string medium;
  bool emulated = false;
  std::string counters;  // a cache of ours: its report at the end

  double per_access(uint64_t count) const {
    return accesses == 0 ? 0 : static_cast<double>(count) / static_cast<double>(accesses);
  }
};

struct BlockReport {
  std::vector<BlockRow> rows;
  bool complete = false;  // false: interrupted; only finished rows are here
  std::string workload;
  uint64_t accesses = 0;         // of the trace
  uint64_t unique = 0;           // blocks
  uint64_t footprint_bytes = 0;  // of them
};

// Each cache gets the trace's accesses and starts empty: look up, and on a miss read the block from a file with direct
// I/O and insert it, as RocksDB would. Of several threads each has blocks of its own, whose accesses keep the trace's
// order. Keys are those of the simulator (BlockKeyOf). A block is as long as its first access says, or `unit_bytes`.
// Every block that comes back is checked: its ends, or with options.verify all of it. A wrong one fails the run.
Status RunBlockReplay(const ReplayOptions& options, Progress* progress, const std::atomic<bool>& stop,
                      BlockReport* report);

// One row a cache, at most 120 columns wide.
std::string BlockTable(const ReplayOptions& options, const BlockReport& report);
// The same, plus versions, host and every option. Ratios are named as mezz_sim names them.
nlohmann::json BlockJson(const ReplayOptions& options, const BlockReport& report);
std::string BlockCsv(const BlockReport& report);

}  // namespace mezz
