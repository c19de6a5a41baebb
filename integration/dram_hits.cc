// SPDX-License-Identifier: Apache-2.0
#include "integration/dram_hits.h"

#include <bit>

namespace mezz {
namespace {

// Bit s: slot s has an owner. 0 --Claim: CAS, acquire--> 1 --the thread ends: fetch_and, release--> 0
std::atomic<uint64_t> owned_slots{0};
static_assert(DramHits::kOwnedSlots == 64);

}  // namespace

thread_local constinit unsigned DramHits::slot_ = DramHits::kUnclaimed;

// Gives the slot back when its thread ends. What the thread counts after that, in other destructors, overflows.
struct DramHits::Owner {
  ~Owner() {
    const unsigned slot = slot_;
    slot_ = kOwnedSlots;
    if (slot < kOwnedSlots) owned_slots.fetch_and(~(uint64_t{1} << slot), std::memory_order_release);
  }
};

unsigned DramHits::Claim() {
  thread_local Owner owner;
  static_cast<void>(owner);
  uint64_t owned = owned_slots.load(std::memory_order_relaxed);
  unsigned slot = kOwnedSlots;
  do {
    slot = static_cast<unsigned>(std::countr_one(owned));
  } while (slot < kOwnedSlots &&
           !owned_slots.compare_exchange_weak(owned, owned | uint64_t{1} << slot, std::memory_order_acquire,
                                              std::memory_order_relaxed));
  return slot_ = slot;
}

void DramHits::AddTo(CounterSnapshot& sum) const {
  auto& roles = sum.by_role[static_cast<size_t>(Event::kDramHit)];
  for (const Slot& slot : slots_) {
    for (size_t role = 0; role < kBlockRoles; ++role) roles[role] += slot.hits[role].load(std::memory_order_relaxed);
  }
}

}  // namespace mezz
