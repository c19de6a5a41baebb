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

// Looks for damage that no hit has met. It reads resident records in the order of the index, checks header and payload,
// and forgets and counts the damaged ones. Thread-safe; one pass runs at a time.
class Scrubber {
 public:
  // Owns none of its arguments; all must outlive this.
  Scrubber(Index* index, const LogReader& reader, const ForkGuard& guard);
  ~Scrubber();  // calls Stop

  // Checks the next records, up to the one that reaches `bytes` of payload, or all of them once if they have less.
  // Returns how many bytes were checked. May run beside the thread.
  uint64_t Scrub(uint64_t bytes);

  // Starts a thread that scrubs `bytes_per_second` (> 0), in pieces of a tenth of a second. Call it once. False: no
  // thread could be started.
  bool Start(uint64_t bytes_per_second);
  // Ends the thread, if there is one and this process started it.
  void Stop();

 private:
  // The thread and what it waits for.
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
