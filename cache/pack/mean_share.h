// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "cache/base/atomic.h"

namespace mezz {

// What blocks take packed, of their own size, on average of late; those that did not pack count whole. Policies size
// their ghosts and sketch by it, and never shrink them, so it promises nothing beforehand: it begins as if kDoubted
// blocks had been found not to pack. An average of the first kWindow, from then on decaying over as many.
//
// One atomic word: the mean in 1/kFraction of 1/kWhole, above the blocks counted, up to kWindow. Changed by Note alone,
// by load and store: a lost race loses a block. Relaxed: it is an estimate.
//
// Thread-safe.
class MeanShare {
 public:
  // A block of so many bytes takes `stored_bytes`; if those are more, it counts whole. REQUIRES: bytes > 0
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
  // In 1/kWhole.
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
