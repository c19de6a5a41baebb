// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "workloads/replay/caches/workload.h"

namespace mezz {

// The accesses of a trace of blocks as requests: key and role are the simulator's, value_bytes are the block's, as its
// first access says, or a unit. Shared out by block. The trace is held in memory, in the simulator's dense form.
Status OpenBlockWorkload(const ReplayOptions& options, Progress* progress, std::unique_ptr<Workload>* workload);

}  // namespace mezz
