// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace mezz {

// Counts values of any size: exactly below 256, above in buckets of 0.8 %, of which each remembers its least value.
// Some 120 KiB once it holds a large value.
class LogHistogram {
 public:
  void Add(uint64_t value, uint64_t count = 1) {
    const size_t bucket = BucketOf(value);
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    buckets_[bucket].count += count;
    buckets_[bucket].least = std::min(buckets_[bucket].least, value);
    count_ += count;
    sum_ += static_cast<double>(value) * static_cast<double>(count);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The value that `share` of all are not above, or up to 0.8 % less; 0 if there are none.
  uint64_t Percentile(double share) const {
    const double wanted = share * static_cast<double>(count_);
    uint64_t seen = 0;
    for (const Bucket& bucket : buckets_) {
      seen += bucket.count;
      if (bucket.count > 0 && static_cast<double>(seen) >= wanted) return bucket.least;
    }
    return max_;
  }

 private:
  struct Bucket {
    uint64_t count = 0;
    uint64_t least = UINT64_MAX;
  };
  static constexpr int kExactBits = 8;
  static constexpr uint64_t kHalf = uint64_t{1} << (kExactBits - 1);  // buckets of each further power of two

  static size_t BucketOf(uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kExactBits);
    return static_cast<size_t>(shift) * kHalf + (value >> shift);
  }

  std::vector<Bucket> buckets_;
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace mezz
