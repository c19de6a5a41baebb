// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include "cache/base/atomic.h"

namespace mezz {

// Counts the faults of a medium, and closes the tier for good once there are too many.
//
// One word has the number of faults in its lower half, and the state in its upper one:
//
//   open --Note, the last one, or Close: CAS--> closing --Claim: CAS--> closed
//   Note adds one in every state, up to the largest number that the half can hold.
//
// All operations are seq_cst. The thread that closes the tier empties the index afterwards; a put publishes first, and
// then looks here (IsOver). So one of the two sees the other, and no block stays behind.
//
// Thread-safe. Waits for nothing, so it may be called under any lock.
class Faults {
 public:
  // `max`: as ScmOptions::faults_max.
  explicit Faults(uint32_t max) : max_(max) {}

  // Whether faults can close the tier, beyond what each costs.
  bool have_limit() const { return max_ != 0; }
  uint32_t count() const { return CountOf(word_.load(std::memory_order_relaxed)); }
  void Note() {
    Exchange([this](uint64_t seen) {
      if (CountOf(seen) == UINT32_MAX) return seen;
      const bool last = have_limit() && seen < kClosing && CountOf(seen) + 1 >= max_;
      return (last ? seen | kClosing : seen) + 1;
    });
  }
  // Closes the tier, whatever the count.
  void Close() {
    Exchange([](uint64_t seen) { return seen < kClosing ? seen | kClosing : seen; });
  }
  // Closes the tier because a change of the superblock was stored nowhere: the next life cannot be told of changes any
  // more, so nothing more may be stored. `may_lie`: as a consequence, an erased block may be found again.
  void CloseWithoutSuperblock(bool may_lie = false) {
    if (may_lie) may_lie_.store(true, std::memory_order_relaxed);
    lost_superblock_.store(true, std::memory_order_relaxed);
    Close();
  }
  // REQUIRES: IsOver().
  bool lost_superblock() const { return lost_superblock_.load(std::memory_order_relaxed); }
  bool may_lie() const { return may_lie_.load(std::memory_order_relaxed); }
  // Whether somebody should call Claim. A hint.
  bool IsClosing() const { return word_.load(std::memory_order_relaxed) >> kStateShift == 1; }
  // True for one caller, which must empty the tier.
  bool Claim() {
    const uint64_t before = Exchange([](uint64_t seen) { return seen >> kStateShift == 1 ? seen + kClosing : seen; });
    assert(before >= kClosing);
    return before >> kStateShift == 1;
  }
  // Whether nothing more may be stored.
  bool IsOver() const { return word_.load(std::memory_order_seq_cst) >= kClosing; }

 private:
  static constexpr unsigned kStateShift = 32;
  static constexpr uint64_t kClosing = uint64_t{1} << kStateShift;

  static uint32_t CountOf(uint64_t word) { return static_cast<uint32_t>(word); }
  // Returns the word before the exchange.
  template <typename Next>
  uint64_t Exchange(Next next) {
    uint64_t seen = word_.load(std::memory_order_seq_cst);
    while (next(seen) != seen &&
           !word_.compare_exchange_weak(seen, next(seen), std::memory_order_seq_cst, std::memory_order_seq_cst)) {
    }
    return seen;
  }

  const uint32_t max_;
  Atomic<uint64_t> word_{0};
  // false --CloseWithoutSuperblock--> true, for good. Relaxed: each is stored before the word is (seq_cst), which
  // publishes it.
  Atomic<bool> lost_superblock_{false}, may_lie_{false};
};

}  // namespace mezz
