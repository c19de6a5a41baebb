// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cache/status.h"
#include "workloads/requests/progress.h"

namespace mezz {

// What misses are read from, in the folder --db: a database for each cache, or a file of blocks for all of them. Only
// one process uses a folder at a time. Outlives the workers that use it.
class BackingStore {
 public:
  virtual ~BackingStore() = default;

  // Writes what is not there yet. Stops early, without an error, when *stop is set.
  virtual Status Load(Progress* progress, const std::atomic<bool>& stop) = 0;
  // What cache `number` is to open.
  virtual Status PathFor(unsigned number, std::string* path) = 0;
  // Holds the folder against other processes as long as anyone has it open.
  virtual int lock_fd() const = 0;

  virtual bool reused() const = 0;  // all of it was there
  virtual uint64_t bytes() const = 0;
  virtual uint64_t mean_block_bytes() const = 0;  // what a cached block costs a medium
};

}  // namespace mezz
