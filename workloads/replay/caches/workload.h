// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "workloads/replay/caches/backing_store.h"
#include "workloads/replay/caches/options.h"
#include "workloads/replay/engine/request_feed.h"
#include "workloads/requests/progress.h"
#include "workloads/requests/request.h"

namespace mezz {

// What is replayed: the requests, cut into windows and into one share per thread. Requests for the same key stay in
// order within a thread: a trace is shared out by key (a batch by its first key, so that it stays whole); a generator
// gives each thread a substream of its own. Under --rate a request's time_us is its ordinal in its window.
// Single-threaded.
class Workload {
 public:
  virtual ~Workload() = default;

  // As options.mode says. A trace is read once, whole.
  static Status Open(const ReplayOptions& options, Progress* progress, std::unique_ptr<Workload>* workload);

  // Claims the folder --db for what the requests ask for. *store must go before the workload.
  virtual Status ClaimStore(std::unique_ptr<BackingStore>* store) const = 0;
  virtual std::string Description() const = 0;
  virtual uint64_t distinct_keys() const = 0;
  virtual uint64_t requests() const = 0;  // 0: endless

  // Whether keys may be gone when they are asked for.
  virtual bool has_deletes() const { return false; }
  virtual uint64_t window_first_time_us() const { return 0; }

  // Replaces the current window by the next `requests` requests, or a few more, if a batch would be cut.
  virtual Status NextWindow(uint64_t requests) = 0;
  // The current window, by thread.
  const std::vector<std::vector<Request>>& window() const { return window_; }
  // A thread's endless stream of requests; generators only.
  static std::unique_ptr<RequestFeed> EndlessFeed(const ReplayOptions& options, unsigned thread);

 protected:
  std::vector<std::vector<Request>> window_;
};

// One for databases: also the keys to load. Only one window of a trace is held in memory.
class DatabaseWorkload : public Workload {
 public:
  static Status Open(const ReplayOptions& options, Progress* progress, std::unique_ptr<DatabaseWorkload>* workload);

  Status ClaimStore(std::unique_ptr<BackingStore>* store) const override;
  // Identifies the keys and initial values: a database that was loaded from an equal identity can be reused.
  virtual nlohmann::json Identity() const = 0;
  virtual uint64_t key(uint64_t index) const = 0;  // ascending in index, [0, distinct_keys())
  // Bytes of the value that `key` is loaded with.
  virtual uint32_t InitialValueBytes(uint64_t key) const = 0;

 protected:
  explicit DatabaseWorkload(const ReplayOptions& options) : options_(options) {}

  const ReplayOptions options_;  // of a generator: keys and scale are resolved
};

}  // namespace mezz
