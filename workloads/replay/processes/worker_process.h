// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/replay/processes/worker.h"

namespace mezz {

// What a worker is told on its command line.
struct WorkerAddress {
  size_t number = 0;
  int channel_fd = -1;
  int window_fd = -1;
};
std::string ToString(const WorkerAddress& address);
Status ParseWorkerAddress(const std::string& text, WorkerAddress* address);

// Workers that are this program again, with the same arguments and `--worker=ADDRESS`: a fresh process inherits no
// heap, no threads and no page tables, and its peak memory is its cache's. They die with the thread that launched them.
WorkerLauncher ProcessLauncher(std::vector<std::string> arguments);

}  // namespace mezz
