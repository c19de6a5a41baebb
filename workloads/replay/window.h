// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "workloads/replay/cache_factory.h"
#include "workloads/replay/latency_histogram.h"
#include "workloads/replay/progress.h"
#include "workloads/replay/workload.h"

namespace mezz {

// What one window on one cache cost.
struct WindowResult {
  uint64_t ops = 0;
  double seconds = 0;
  double cpu_seconds = 0;

  // Block look-ups of the replay threads, by where they ended.
  uint64_t cache_hits = 0;  // in any tier
  uint64_t second_hits = 0;
  uint64_t flash_reads = 0;
  uint64_t scm_bytes_written = 0;

  LatencyHistogram latencies;
  uint64_t touched = 0;  // a sum over the values' lines: keeps the reads from being optimised away

  double ops_per_s() const { return seconds > 0 ? static_cast<double>(ops) / seconds : 0; }
};

struct WindowSettings {
  unsigned threads = 1;
  double seconds = 0;  // > 0: stop then; else when the feeds are empty
  uint64_t expected_ops = 0;
  bool verify = false;
  uint32_t put_value_bytes = 0;  // 0: as the request says
  uint64_t mean_block_bytes = 4096;
};

// Replays one window: thread i takes its requests from feeds[i]. Every cache line of every value is read, as an
// application would. A value that is missing or wrong, and every RocksDB error, fails the run: a cache may
// forget, it may never lie.
Status RunWindow(rocksdb::DB* db, const BuiltCache& cache, const WindowSettings& settings,
                 const std::vector<RequestFeed*>& feeds, Progress* progress, const std::atomic<bool>& stop,
                 WindowResult* result);

}  // namespace mezz
