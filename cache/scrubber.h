// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "cache/base/fork_guard.h"
#include "cache/index.h"
#include "cache/log_reader.h"

namespace mezz {

// Looks for damage that no hit has met: reads resident records in the order of the index, checks header and payload,
// and takes the damaged ones out (counted). Thread-safe; one pass at a time.
class Scrubber {
 public:
  // None is owned; all outlive this.
  Scrubber(Index* index, const LogReader& reader, const ForkGuard& guard);
  ~Scrubber();  // stops

  // Checks the next records of `bytes` payload bytes and the one on the border, or all once if that is less. Returns
  // how many bytes were checked. May run beside the thread.
  uint64_t Scrub(uint64_t bytes);

  // From now on a thread scrubs `bytes_per_second` (> 0), in pieces of a tenth of a second. Call it once. False: there
  // is no thread to be had.
  bool Start(uint64_t bytes_per_second);
  // Ends the thread, if there is one and this is the process that started it.
  void Stop();

 private:
  // The thread, and what it waits on.
  struct Background {
    std::mutex mutex;
    std::condition_variable stop_changed;
    bool stop = false;  // guarded by mutex
    std::thread thread;
  };
  void Run(uint64_t bytes_per_second);

  Index* const index_;
  LogReader reader_;
  const ForkGuard& guard_;

  std::mutex scrub_mutex_;  // one pass at a time
  uint64_t next_slot_ = 0;  // guarded by scrub_mutex_

  std::unique_ptr<Background> background_;  // null: no thread
};

}  // namespace mezz
