// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/thread_team.h"

#include <utility>

namespace mezz {

ThreadTeam::ThreadTeam(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this, i] { Serve(i); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Start(std::function<void(unsigned)> work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    running_ = size();
    ++round_;
  }
  started_.notify_all();
}

bool ThreadTeam::WaitFor(std::chrono::nanoseconds most) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, most, [this] { return running_ == 0; });
}

void ThreadTeam::Serve(unsigned number) {
  std::unique_lock lock(mutex_);
  for (uint64_t served = 0;;) {
    started_.wait(lock, [&] { return leaving_ || round_ != served; });
    if (leaving_) return;
    served = round_;
    lock.unlock();
    work_(number);
    lock.lock();
    if (--running_ == 0) ended_.notify_one();
  }
}

}  // namespace mezz
