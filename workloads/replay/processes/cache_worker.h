// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "cache/status.h"
#include "workloads/replay/caches/options.h"
#include "workloads/replay/processes/channel.h"
#include "workloads/replay/processes/shared_window.h"

namespace mezz {

// The worker's side: builds the cache options.caches[number], opens its database and replays the windows that the other
// end of `channel` asks for, until it says "finish" or goes. Setting *stop ends a window soon.
Status ServeCache(const ReplayOptions& options, size_t number, Channel* channel, SharedWindow* window,
                  const std::atomic<bool>& stop);

}  // namespace mezz
