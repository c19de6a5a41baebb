// SPDX-License-Identifier: Apache-2.0
// Where a cache's metrics are to be had, as HybridCacheOptions::metrics says: a socket that a scraper asks, or a file.
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

// Answered clients, or written files; and those that were not: a client that went, or did not read in time; a full
// disk.
struct MetricsDeliveries {
  uint64_t done = 0;
  uint64_t failed = 0;
};

// One thread of its own, which takes no signals, does all. Nothing that a client does holds up anybody but this thread:
//
// - A client has ten seconds for everything, and one answer. Of more than eight at a time the oldest is dropped.
// - The destructor waits for no client: for the text that is being made, and for a file to be written.
//
// In a forked child nothing is served: the child's copy of a listening socket is closed at fork(), and the destructor
// leaves all to the parent. No exception leaves. Thread-safe, but for the destructor.
class MetricsEndpoint {
 public:
  using Text = std::function<std::string(MetricsFormat)>;

  // What it takes of DRAM, at most nine texts.
  static constexpr uint64_t kDramBytes = 1 << 20;

  // Takes the socket or the file, so that all that can be wrong is told now; with no `metrics`, *endpoint stays null.
  // kBusy: another cache, of this process or of another, has it. A socket that nobody answers at is replaced.
  static Status Open(const std::string& metrics, std::unique_ptr<MetricsEndpoint>* endpoint);
  virtual ~MetricsEndpoint() = default;
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // From now on clients are answered, or the file is written: at once, every ten seconds, and by the destructor.
  // `text` is called by one thread at a time, until the destructor has returned. Call it once.
  virtual void Serve(Text text) = 0;
  virtual MetricsDeliveries deliveries() const = 0;

 protected:
  MetricsEndpoint() = default;
};

// Counted by one thread, read by others. Relaxed: figures.
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
