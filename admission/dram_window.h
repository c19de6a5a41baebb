// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "admission/dram_sample.h"
#include "cache/types.h"

namespace mezz {

// Decides whether blocks that are read from flash (newcomers) should pass through DRAM. In a scan, or a loop larger
// than DRAM, every newcomer pushes out another one that was not hit yet. DRAM then has no hits, and what lay there
// before is gone. So the window closes: newcomers pass DRAM by, as if it had evicted them at once, and DRAM keeps what
// it has.
//
//   open   --fewer than kCloseBelow of the newcomers that leave DRAM were hit there--> closed
//   closed --more than kOpenAbove of the newcomers would have been hit there---------> open
//
// Both shares are means over about the last 256 of a DramSample: about a turn of DRAM. A newcomer would have been hit
// if it is asked for again before as many others came as DRAM holds. One newcomer in kProbes enters all the same, so
// that DRAM changes slowly where all blocks are asked for alike.
//
// Atomic words, all relaxed, as they are hints. The state has both shares, in 16 bits each, and whether the window is
// closed. It is changed by one CAS: an event that loses a race does not count. The number of newcomers grows.
//
// Thread-safe.
class DramWindow {
 public:
  explicit DramWindow(uint64_t dram_blocks) : sample_(dram_blocks) {}

  // Sets how many blocks DRAM holds from now on. An event meanwhile may be counted by the former sample.
  void SetCapacity(uint64_t dram_blocks) { sample_.SetCapacity(dram_blocks); }

  // Call it when a block that SCM does not hold leaves DRAM. `hash` must be well mixed.
  void OnEviction(uint64_t hash, bool was_hit);
  // Call it when a block was read from flash. Returns whether it should enter DRAM.
  bool Admits(uint64_t hash);

  bool closed() const { return (state_.load(std::memory_order_relaxed) & kClosed) != 0; }

  static constexpr uint64_t kProbes = 1024;

 private:
  static constexpr unsigned kWindowShift = 8;
  static constexpr uint64_t kOne = 65535;
  static constexpr uint64_t kCloseBelow = kOne / 50;
  static constexpr uint64_t kOpenAbove = kOne / 50;
  // hits | regrets << 16 | closed << 32
  static constexpr unsigned kRegretsShift = 16;
  static constexpr uint64_t kClosed = uint64_t{1} << 32;

  bool IsProbe(uint64_t hash) const {
    return ((hash >> 20) + newcomers_.load(std::memory_order_relaxed)) % kProbes == 0;
  }
  static uint64_t Step(uint64_t share, bool yes) { return Decayed(share, yes ? kOne : 0, kWindowShift); }
  void CountRegret(bool would_have_been_hit);

  DramSample sample_;
  RecentKeys turned_away_;  // which newcomer it was, by number
  std::atomic<uint64_t> state_{kOne};
  std::atomic<uint32_t> newcomers_{0};  // in the sample
};

}  // namespace mezz
