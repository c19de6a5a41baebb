// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "workloads/replay/caches/cache_factory.h"
#include "workloads/replay/engine/pacing.h"
#include "workloads/replay/engine/request_feed.h"
#include "workloads/replay/engine/series.h"
#include "workloads/replay/engine/thread_team.h"
#include "workloads/replay/engine/window_result.h"
#include "workloads/requests/progress.h"

namespace mezz {

struct WindowSettings {
  double seconds = 0;  // > 0: stop then; else when the feeds are empty
  uint64_t expected_ops = 0;
  Pacing pacing = {};
  uint64_t mean_block_bytes = 4096;
  // Waits for what goes on in the background, and ends it: work that the window brought about. It is counted, and its
  // time told; `settle_within`: as a part of the window's, so that a cache that slows compactions down does not look
  // fast.
  bool settle_within = true;
  std::function<Status()> settle = [] { return Status::Ok(); };
};

// Makes a thread's target: what its requests are put to. DatabaseTarget or BlockTarget.
template <typename Target>
using TargetFactory = std::function<std::unique_ptr<Target>()>;

// Replays one window: thread i of the team takes its requests from feeds[i]. Every error of a target fails the run: a
// cache may forget, it may never lie. The calling thread looks at the counts once a second and tells `series` (which
// may be null) what it saw.
template <typename Target>
Status RunWindow(const TargetFactory<Target>& make_target, const BuiltCache& cache, const WindowSettings& settings,
                 ThreadTeam* team, const std::vector<RequestFeed*>& feeds, Progress* progress,
                 const std::atomic<bool>& stop, Series* series, WindowResult* result);

}  // namespace mezz
