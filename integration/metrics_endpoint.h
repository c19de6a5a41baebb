// SPDX-License-Identifier: Apache-2.0
// Serves a cache's metrics at a socket that a scraper asks, or in a file, as HybridCacheOptions::metrics says.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cache/status.h"
#include "integration/metrics.h"

namespace mezz {

// `done` counts clients that were answered, or files that were written. `failed` counts clients that went away or did
// not read in time, and files that could not be written, as on a full disk.
struct MetricsDeliveries {
  uint64_t done = 0;
  uint64_t failed = 0;
};

// One thread does all the work, and takes no signals. A client can delay this thread only:
//
// - A client has ten seconds in all, and gets one answer. If more than eight are connected, the oldest is dropped.
// - The destructor waits for no client. It waits for a text that is being made, and for a file that is being written.
//
// A forked child serves nothing: its copy of the listening socket is closed at fork(), and the destructor leaves
// everything to the parent. No exception leaves. Thread-safe, except for the destructor.
class MetricsEndpoint {
 public:
  using Text = std::function<std::string(MetricsFormat)>;

  // The DRAM that it takes: at most nine texts.
  static constexpr uint64_t kDramBytes = 1 << 20;

  // Takes the socket or the file, so that every error shows now. If `metrics` is empty, *endpoint stays null. kBusy if
  // another cache of this or another process has it, which for a file PATH a lock on PATH.lock tells. A socket at which
  // nobody answers is replaced.
  static Status Open(const std::string& metrics, std::unique_ptr<MetricsEndpoint>* endpoint);
  virtual ~MetricsEndpoint() = default;
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // From now on clients are answered. A file is written at once, then every ten seconds, and by the destructor. `text`
  // is called by one thread at a time, until the destructor has returned. Call Serve once.
  virtual void Serve(Text text) = 0;
  virtual MetricsDeliveries deliveries() const = 0;

 protected:
  MetricsEndpoint() = default;
};

// Counted by one thread and read by others. Relaxed, because they are figures only.
class DeliveryCounts {
 public:
  void Count(bool done) { (done ? done_ : failed_).fetch_add(1, std::memory_order_relaxed); }
  MetricsDeliveries Read() const {
    return {.done = done_.load(std::memory_order_relaxed), .failed = failed_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> done_{0}, failed_{0};
};

}  // namespace mezz
