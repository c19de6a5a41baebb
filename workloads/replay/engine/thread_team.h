// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mezz {

// The replay threads of one cache, from its first window to its last. A cache keeps things by thread, such as the
// segment that it fills: with new threads for each window it would begin as many anew, as no program has it do.
class ThreadTeam {
 public:
  explicit ThreadTeam(unsigned threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  unsigned size() const { return static_cast<unsigned>(threads_.size()); }
  // Has thread i call work(i), for every i, and returns. REQUIRES: all have returned from the work before.
  void Start(std::function<void(unsigned)> work);
  // Waits so long at most; whether all have returned.
  bool WaitFor(std::chrono::nanoseconds most);

 private:
  void Serve(unsigned number);

  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable ended_;
  // Under mutex_. A thread that serves a round reads work_ without it: it does not change before all have returned.
  std::function<void(unsigned)> work_;
  uint64_t round_ = 0;
  unsigned running_ = 0;
  bool leaving_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace mezz
