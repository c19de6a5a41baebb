// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace mezz {

// Counts of latencies in buckets that widen with the value, as in Gil Tene's HdrHistogram with three significant
// digits: up to 2047 ns one bucket a nanosecond, beyond that 1024 buckets between a power of two and the next. What is
// read back is at most a 1024th larger than what was recorded, never smaller. The largest value is kept exactly.
//
// One thread at a time records; others may read meanwhile. Every word is written by that one thread with relaxed order:
// each count that a reader sees was true at some moment, but counts of different buckets may be a few records apart.
class LatencyHistogram {
 public:
  static constexpr uint64_t kMaxNs = (uint64_t{1} << 40) - 1;  // 18 minutes; what takes longer counts as this

  LatencyHistogram();
  LatencyHistogram(const LatencyHistogram& other) : LatencyHistogram() { Add(other); }
  LatencyHistogram& operator=(const LatencyHistogram& other);

  void Record(uint64_t ns, uint64_t times = 1) {
    const uint64_t kept = ns < kMaxNs ? ns : kMaxNs;
    Bump(&counts_[BucketOf(kept)], times);
    Bump(&count_, times);
    if (kept > max_.load(std::memory_order_relaxed)) max_.store(kept, std::memory_order_relaxed);
  }

  void Add(const LatencyHistogram& other);
  // What was recorded since `earlier`, an older copy of this histogram. The maximum stays that of the whole.
  LatencyHistogram Since(const LatencyHistogram& earlier) const;

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t max_ns() const { return max_.load(std::memory_order_relaxed); }
  // The smallest value that `share` of the records do not exceed; 0 without records.
  uint64_t ValueAt(double share) const;

  struct Point {
    uint64_t ns = 0;
    double share = 0;  // of the records that are no longer than that
  };
  // The distribution in at most `points_max` (>= 2) points, dense towards the tail; the last is {max_ns(), 1}.
  std::vector<Point> Cdf(size_t points_max) const;

  // Calls visit(bucket's largest value, count) for each bucket that is not empty, ascending. Recording just these in
  // another histogram, and SetMax, makes an equal one.
  void ForEach(const std::function<void(uint64_t, uint64_t)>& visit) const;
  void SetMax(uint64_t ns) { max_.store(ns, std::memory_order_relaxed); }

 private:
  static constexpr unsigned kExactBits = 11;
  static constexpr size_t kHalf = size_t{1} << (kExactBits - 1);
  static constexpr size_t kBuckets = (40 - kExactBits + 2) * kHalf;

  static size_t BucketOf(uint64_t ns) {
    const int shift = 64 - kExactBits - __builtin_clzll(ns | 1);
    return shift <= 0 ? ns : static_cast<size_t>(shift) * kHalf + static_cast<size_t>(ns >> shift);
  }
  static uint64_t LargestIn(size_t bucket);
  static void Bump(std::atomic<uint64_t>* word, uint64_t by) {
    word->store(word->load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> max_{0};
};

}  // namespace mezz
