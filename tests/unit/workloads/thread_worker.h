// SPDX-License-Identifier: Apache-2.0
// A worker that is a thread of the test: the same commands over the same socket, without a process to start.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "workloads/replay/processes/cache_worker.h"
#include "workloads/replay/processes/worker.h"

namespace mezz {

class ThreadWorker final : public Worker {
 public:
  ThreadWorker(const ReplayOptions& options, const WorkerOrder& order, int ours, int theirs,
               const std::atomic<bool>& stop)
      : channel_(std::make_unique<Channel>(ours)), thread_([&options, order, theirs, &stop] {
          Channel channel(theirs);
          SharedWindow window(dup(order.window_fd));
          (void)ServeCache(options, order.number, &channel, &window, stop);
        }) {}
  ~ThreadWorker() override {
    channel_.reset();
    thread_.join();
  }
  Channel* channel() override { return channel_.get(); }
  void Stop() override {}  // it looks at the test's own `stop`
  std::string Fate() override { return "ended"; }

 private:
  std::unique_ptr<Channel> channel_;
  std::thread thread_;
};

// `options` and `stop` must outlive the workers.
inline WorkerLauncher ThreadLauncher(const ReplayOptions& options, const std::atomic<bool>& stop) {
  return [&options, &stop](const WorkerOrder& order, std::unique_ptr<Worker>* worker) -> Status {
    if (order.group_fd >= 0) return Status::NotSupported("a thread cannot be put into a cgroup");
    int ours = -1;
    int theirs = -1;
    MEZZ_RETURN_IF_ERROR(Channel::MakePair(&ours, &theirs));
    *worker = std::make_unique<ThreadWorker>(options, order, ours, theirs, stop);
    return Status::Ok();
  };
}

}  // namespace mezz
