// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cache/status.h"
#include "workloads/replay/processes/messages.h"
#include "workloads/replay/processes/worker.h"
#include "workloads/requests/progress.h"

namespace mezz {

// One cache under test, as the runner sees it: a worker and what it answers. A worker that dies is no error of the run:
// failure() says what became of it, and from then on every call answers nothing. Single-threaded.
class CacheClient {
 public:
  CacheClient(std::string name, Progress* progress, const std::atomic<bool>& stop)
      : name_(std::move(name)), progress_(progress), stop_(stop) {}
  ~CacheClient();
  CacheClient(CacheClient&&) = default;

  Status Launch(const WorkerLauncher& launcher, const WorkerOrder& order);
  // Instead of Launch, for what cannot run here.
  void SetUnavailable(std::string reason) { facts_.unavailable = std::move(reason); }
  Status Build(unsigned ordinal);
  Status Open(const OpenCommand& command);
  // Its database may be stopped in the middle of the window; then *result is of what was done.
  Status Run(const WindowCommand& command, WindowResult* result);
  Status Finish(CacheEnd* end);

  const std::string& name() const { return name_; }
  const CacheFacts& facts() const { return facts_; }
  const std::string& failure() const { return failure_; }  // empty: the worker lives, or has finished
  bool usable() const { return worker_ != nullptr && facts_.unavailable.empty() && failure_.empty(); }

 private:
  // *answer is empty if the worker died.
  Status Ask(const nlohmann::json& command, const std::string& doing, nlohmann::json* answer);
  Status Await(nlohmann::json* answer);

  std::string name_;
  Progress* progress_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<Worker> worker_;
  CacheFacts facts_;
  std::string failure_;
  unsigned windows_ = 0;  // asked for
};

}  // namespace mezz
