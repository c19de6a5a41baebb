// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/counters.h"

namespace mezz {

// Counts hits in the DRAM tier. An atomic increment at each hit would cost a tenth of the look-up, because later loads
// cannot start before it, and a stock cache counts nothing there.
//
// Each of up to kOwnedSlots living threads owns a slot, the same in every instance, and adds with a plain load and
// store. Threads beyond those share `overflow`. Relaxed order: counts publish nothing; a slot's next owner sees the
// last one's count because the slot itself is released and acquired.
class DramHits {
 public:
  explicit DramHits(Counters& overflow) : overflow_(overflow) {}

  void Add(BlockRole role) {
    const unsigned slot = SlotOfThisThread();
    if (slot >= kOwnedSlots) return overflow_.Add(Event::kDramHit, role);
    std::atomic<uint64_t>& hits = slots_[slot].hits[static_cast<size_t>(role)];
    hits.store(hits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Adds what the slots hold to `sum`.
  void AddTo(CounterSnapshot& sum) const;

  static constexpr unsigned kOwnedSlots = 64;

 private:
  struct alignas(kLineBytes) Slot {
    std::array<std::atomic<uint64_t>, kBlockRoles> hits{};
  };
  static_assert(sizeof(Slot) == kLineBytes);

  static constexpr unsigned kUnclaimed = ~0u;
  static unsigned SlotOfThisThread() {
    const unsigned slot = slot_;
    return slot != kUnclaimed ? slot : Claim();
  }
  static unsigned Claim();
  struct Owner;

  static thread_local constinit unsigned slot_;

  Counters& overflow_;
  std::array<Slot, kOwnedSlots> slots_;
};

}  // namespace mezz
