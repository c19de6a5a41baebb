// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/status.h"
#include "workloads/replay/caches/options.h"
#include "workloads/replay/engine/digest.h"
#include "workloads/replay/processes/messages.h"
#include "workloads/replay/processes/worker.h"
#include "workloads/requests/progress.h"

namespace mezz {

// One cache, over all its measured windows.
struct CacheRow {
  std::string cache;
  std::string unavailable;  // why it could not run here; empty: it did
  std::string failure;      // what became of its process; empty: it ended well. Its figures mean nothing then
  Spread ops_per_s;
  Spread ratio;
  Noise noise;      // of ops_per_s
  WindowRow total;  // latencies, shares and costs over all measured windows together
  std::vector<LatencyHistogram::Point> latency_cdf;
  std::vector<SeriesPoint> series;  // of the measured windows
  std::vector<WindowRow> windows;
  std::vector<WindowRow> cold_windows;
  bool second_tier_idle = false;  // it has a second tier that never hit in the measured windows: not a peer
  std::string medium;
  bool emulated = false;
  std::string counters;  // a cache of ours: its report at the end; naive_scm: what its allocator counted
  uint64_t peak_rss_bytes = 0;
  uint64_t dram_tier_bytes = 0;  // CacheEnd
  uint64_t dram_beside_bytes = 0;
  unsigned dram_shards = 0;        // 0: RocksDB does not tell
  unsigned dram_shards_usual = 0;  // where others of its kind have another number; else 0
  PageCounts pages;
  bool reported() const { return unavailable.empty() && failure.empty(); }
};

struct ReplayReport {
  std::vector<CacheRow> rows;
  std::vector<std::vector<std::string>> window_order;  // of the measured windows: which cache ran when
  bool complete = false;  // false: interrupted; the rows hold the windows that were finished
  bool database_reused = false;
  bool warmup_settled = true;  // false: --warmup=settle gave up waiting
  std::string workload;
  uint64_t requests = 0;  // warm-up included; 0: endless
  uint64_t distinct_keys = 0;
  uint64_t database_bytes = 0;  // --mode=block: of the blocks
  uint64_t mean_block_bytes = 0;
  std::string medium;  // of our SCM tier, else of what stands for SCM
  bool emulated = true;
};

// Judges the options, reads the trace, claims the folder, builds the caches, writes what they are to read and replays
// every window on every cache in turn. Each cache lives in a worker of its own, for the whole run; they work one at a
// time, so that a window's ratios compare neighbours in time. Nothing is built or overwritten before everything was
// judged that can be. Setting *stop ends the run soon, with what was measured until then.
Status RunReplay(const ReplayOptions& options, const WorkerLauncher& launcher, Progress* progress,
                 const std::atomic<bool>& stop, ReplayReport* report);

}  // namespace mezz
