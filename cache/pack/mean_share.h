// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "cache/base/atomic.h"

namespace mezz {

// The mean share of their size that blocks took packed of late; a block that did not pack counts as a whole. Policies
// size their ghosts and sketch by it, and never shrink those. So it begins carefully, as if kDoubted blocks had not
// packed. It is the average of the first kWindow blocks, and then decays over as many.
//
// One atomic word: the mean, in 1/kFraction of 1/kWhole, above the number of blocks, which counts up to kWindow. Only
// Note changes it, by load and store: a lost race loses a block. Relaxed, as it is an estimate.
//
// Thread-safe.
class MeanShare {
 public:
  // Counts a block of `bytes` bytes that takes `stored_bytes`, or at most its own size. REQUIRES: bytes > 0
  void Note(uint64_t stored_bytes, uint64_t bytes) {
    assert(bytes != 0);
    const uint32_t seen = word_.load(std::memory_order_relaxed);
    const uint32_t blocks = seen & kBlocksMask;
    const uint32_t counted = blocks < kWindow ? blocks + 1 : kWindow;
    const auto share = static_cast<int64_t>(std::min(stored_bytes, bytes) * kWhole * kFraction / bytes);
    const auto mean = static_cast<int64_t>(seen >> kMeanShift);
    const auto now = static_cast<uint32_t>(mean + (share - mean) / static_cast<int64_t>(counted));
    assert(now <= kWhole * kFraction);
    word_.store(now << kMeanShift | counted, std::memory_order_relaxed);
  }
  // The mean share, in 1/kWhole.
  uint32_t value() const { return (word_.load(std::memory_order_relaxed) >> kMeanShift) / kFraction; }

  static constexpr uint32_t kWhole = 1 << 16;
  static constexpr uint32_t kDoubted = 32, kWindow = 256;

 private:
  static constexpr unsigned kMeanShift = 9;
  static constexpr uint32_t kFraction = 32, kBlocksMask = (1u << kMeanShift) - 1;
  static_assert(kWindow <= kBlocksMask && uint64_t{kWhole} * kFraction << kMeanShift <= UINT32_MAX);

  Atomic<uint32_t> word_{kWhole * kFraction << kMeanShift | kDoubted};
};

}  // namespace mezz
