// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mezz {

// A histogram of how long misses took (MissTimer), in fixed buckets. Thread-safe. Relaxed order, because counts publish
// nothing. A miss, which reads flash, costs two locked additions; a hit costs nothing.
class MissLatency {
 public:
  // The buckets' upper bounds, which belong to them. They reach from a read of the page cache to a device that stalls.
  static constexpr std::array<uint64_t, 13> kBoundsNs = {5'000,      10'000,      20'000,       50'000,    100'000,
                                                         200'000,    500'000,     1'000'000,    2'000'000, 5'000'000,
                                                         10'000'000, 100'000'000, 1'000'000'000};

  struct Snapshot {
    std::array<uint64_t, kBoundsNs.size() + 1> counts{};  // the last counts what is above all bounds
    uint64_t sum_ns = 0;
  };

  void Add(uint64_t ns) {
    const auto bucket = std::lower_bound(kBoundsNs.begin(), kBoundsNs.end(), ns) - kBoundsNs.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  Snapshot Read() const {
    Snapshot read;
    for (size_t i = 0; i < counts_.size(); ++i) read.counts[i] = counts_[i].load(std::memory_order_relaxed);
    read.sum_ns = sum_ns_.load(std::memory_order_relaxed);
    return read;
  }

 private:
  std::array<std::atomic<uint64_t>, kBoundsNs.size() + 1> counts_{};
  std::atomic<uint64_t> sum_ns_{0};
};

}  // namespace mezz
