// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cache/status.h"
#include "workloads/replay/processes/channel.h"

namespace mezz {

// Where one cache runs, away from the others. Ended, if need be by force, when it is destroyed.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual Channel* channel() = 0;
  // Its window should end soon.
  virtual void Stop() = 0;
  // After the channel broke: what became of it, as in "killed by signal 11 (Segmentation fault)".
  virtual std::string Fate() = 0;
};

struct WorkerOrder {
  size_t number = 0;  // of the cache in ReplayOptions::caches
  int window_fd = -1;
  int group_fd = -1;  // cgroup.procs of a group to join first; -1: none
  int lock_fd = -1;   // of the folder of the databases: held by the worker too, so that it is free when all have gone
};

// Starts a worker that runs ServeCache.
using WorkerLauncher = std::function<Status(const WorkerOrder&, std::unique_ptr<Worker>*)>;

}  // namespace mezz
