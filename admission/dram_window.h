// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "admission/dram_sample.h"
#include "cache/types.h"

namespace mezz {

// Whether it is worth anything that what is read from flash passes through DRAM. Under a scan or a loop larger than
// DRAM every newcomer pushes out another one that was not hit yet: DRAM finds nothing, and what lay there before is
// gone. Then the window is closed: newcomers pass DRAM by, as if it had let go of them at once, and DRAM keeps what it
// has.
//
//   open   --of the newcomers that leave DRAM fewer than kCloseBelow were hit there--> closed
//   closed --of the newcomers more than kOpenAbove would have been hit there---------> open
//
// Both shares are means over the last 256 or so of a DramSample: about a turn of DRAM. A newcomer would have been hit
// if it was turned away while no more than a DRAM's worth of others came. One newcomer in kProbes enters nevertheless,
// so that DRAM changes, slowly, where all alike are asked for again.
//
// Atomic words. State: both shares in 16 bits each, and whether it is closed; changed by CAS, tried once: an event that
// loses a race is left out. Newcomers: grows. All relaxed: it is advice.
//
// Thread-safe.
class DramWindow {
 public:
  explicit DramWindow(uint64_t dram_blocks) : sample_(dram_blocks) {}

  // DRAM holds so many blocks from now on. Thread-safe: an event meanwhile may be counted by the former sample.
  void SetCapacity(uint64_t dram_blocks) { sample_.SetCapacity(dram_blocks); }

  // A block that SCM does not hold leaves DRAM. `hash` must be well mixed.
  void OnEviction(uint64_t hash, bool was_hit);
  // A block was read from flash. Whether it is to enter DRAM.
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
  RecentKeys turned_away_;  // as which newcomer
  std::atomic<uint64_t> state_{kOne};
  std::atomic<uint32_t> newcomers_{0};  // in the sample
};

}  // namespace mezz
