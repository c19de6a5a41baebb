// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "cache/types.h"

namespace mezz {

// Tells whether promoting pays, by how many of the blocks that leave DRAM and also lie in SCM were hit while they were
// in DRAM. A promotion without a second hit has cost a copy, a second place for one block, and the place in DRAM that a
// new block needed. So while too few were hit, a block must be asked for more and more often to be promoted; while many
// were, less often.
//
//   s += (was_hit - s) / 64 at each such eviction, from 1. After each 64 of them: s < target raises the offset by one,
//   s > target + kSlack lowers it; 0 to kOffsetMax.
//
// The target follows the cost of a duplicate: 0.8 of them must be hit if they are raw, half if LZ4 made them half as
// large, and a fifth with zstd, where a promotion also saves a slower hit.
//
// A fixed 64th of the keys is promoted as soon as they are hot, whatever the offset. Otherwise a high offset would
// leave nothing to learn from.
//
// One atomic word: s in 16 bits, evictions since the last step in 8, the offset in 8. It is changed by one CAS: an
// eviction that loses a race does not count. Relaxed, as it is a hint.
//
// Thread-safe.
class PromotionFeedback {
 public:
  // Call it when a block that also lies in SCM leaves DRAM.
  void OnDuplicateEviction(bool was_hit, uint32_t target = kTargetRaw) {
    uint32_t seen = word_.load(std::memory_order_relaxed);
    uint32_t share = seen >> kShareShift;
    uint32_t count = (seen >> kCountShift & kByte) + 1;
    uint32_t offset = seen & kByte;
    share = Decayed(share, was_hit ? kOne : 0, kWindowShift);
    if (count == kWindow) {
      count = 0;
      if (share < target) {
        offset = std::min(offset + 1, kOffsetMax);
      } else if (share > target + kSlack && offset > 0) {
        --offset;
      }
    }
    assert(share <= kOne && offset <= kOffsetMax);
    word_.compare_exchange_weak(seen, share << kShareShift | count << kCountShift | offset, std::memory_order_relaxed,
                                std::memory_order_relaxed);
  }

  // Whether to promote a block. `hot`: the frequency from which on blocks fill DRAM. `hash` must be well mixed.
  bool Promotes(unsigned frequency, unsigned hot, uint64_t hash) const {
    return frequency >= hot && (frequency >= hot + offset() || IsProbe(hash));
  }
  static bool IsProbe(uint64_t hash) { return (hash >> 40) % kProbes == 0; }
  unsigned offset() const { return word_.load(std::memory_order_relaxed) & kByte; }

  static constexpr uint32_t kOne = 65535;
  static constexpr uint32_t kTargetRaw = kOne * 8 / 10, kTargetLz4 = kOne / 2, kTargetZstd = kOne / 5;
  static constexpr uint32_t kOffsetMax = 14;
  static constexpr unsigned kProbes = 64;  // one key in this many

 private:
  static constexpr unsigned kWindowShift = 6;
  static constexpr uint32_t kWindow = 1u << kWindowShift;
  static constexpr uint32_t kSlack = kOne / 10;
  static constexpr unsigned kShareShift = 16, kCountShift = 8;
  static constexpr uint32_t kByte = 255;

  std::atomic<uint32_t> word_{kOne << kShareShift};
};

}  // namespace mezz
