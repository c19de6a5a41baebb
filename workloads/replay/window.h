// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "workloads/replay/cache_factory.h"
#include "workloads/replay/database_target.h"
#include "workloads/replay/databases.h"
#include "workloads/replay/pacing.h"
#include "workloads/replay/progress.h"
#include "workloads/replay/request_feed.h"
#include "workloads/replay/series.h"
#include "workloads/replay/window_result.h"

namespace mezz {

struct WindowSettings {
  unsigned threads = 1;
  double seconds = 0;  // > 0: stop then; else when the feeds are empty
  uint64_t expected_ops = 0;
  Pacing pacing;
  TargetSettings target;
};

// Replays one window: thread i takes its requests from feeds[i]. A value that is wrong, one that is missing though
// nothing was deleted, and every RocksDB error fail the run: a cache may forget, it may never lie. The calling thread
// looks at the counts once a second and tells `series` (which may be null) what it saw.
Status RunWindow(const Databases& dbs, const BuiltCache& cache, const WindowSettings& settings,
                 const std::vector<RequestFeed*>& feeds, Progress* progress, const std::atomic<bool>& stop,
                 Series* series, WindowResult* result);

}  // namespace mezz
