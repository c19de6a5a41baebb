// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include "cache/base/atomic.h"
#include "cache/types.h"

namespace mezz {

// Finds out that blocks of a kind do not pack, and then skips nearly all of them. Of those that it would skip, one in
// kProbes is tried, so that a change is noticed.
//
// One atomic word: in its upper half the decayed share of tries that were rejected, in its lower half the skips since
// the last try.
//   share += (rejected - share) / 32 at each try, from 0; skipping while share > 7/8
// It is changed by one CAS; a thread that loses a race does not count. Relaxed, as it is a hint.
//
// Thread-safe.
class AutoSkip {
 public:
  // Whether to try this block. False: skip it.
  bool ShouldTry() {
    uint32_t seen = word_.load(std::memory_order_relaxed);
    if (seen >> kShareShift <= kSkipAbove) return true;
    const uint32_t skipped = (seen & kSkippedMask) + 1;
    if (skipped >= kProbes) return true;
    word_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed, std::memory_order_relaxed);
    return false;
  }
  void Tried(bool rejected) {
    uint32_t seen = word_.load(std::memory_order_relaxed);
    uint32_t share = seen >> kShareShift;
    share = Decayed(share, rejected ? kOne : 0, kWindowShift);
    assert(share <= kOne);
    word_.compare_exchange_weak(seen, share << kShareShift, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  static constexpr uint32_t kProbes = 16;

 private:
  static constexpr unsigned kShareShift = 16;
  static constexpr uint32_t kSkippedMask = 0xffff;
  static constexpr unsigned kWindowShift = 5;
  static constexpr uint32_t kOne = 65535;
  static constexpr uint32_t kSkipAbove = kOne / 8 * 7;

  Atomic<uint32_t> word_{0};
};

}  // namespace mezz
