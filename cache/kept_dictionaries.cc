// SPDX-License-Identifier: Apache-2.0
#include "cache/kept_dictionaries.h"

#include <algorithm>
#include <cassert>
#include <mutex>

namespace mezz {

// Another writer may see the bit before the hold is counted. Until then both writers have holds of their own.
void KeptDictionaries::Keep(SegmentId id, uint16_t number) {
  assert(parts_.table.writers(id) != 0);
  const unsigned slot = Dictionaries::SlotOf(number);
  Atomic<uint32_t>& kept = parts_.table[id].dictionaries;
  if ((kept.load(std::memory_order_relaxed) & 1u << slot) != 0) return;
  if ((kept.fetch_or(1u << slot, std::memory_order_relaxed) & 1u << slot) == 0) dictionaries_->Hold(slot);
}

// Relaxed: the bit was set before the record was published, and stays while it can be read.
bool KeptDictionaries::Keeps(SegmentId id, uint16_t number) const {
  const uint32_t kept = parts_.table[id].dictionaries.load(std::memory_order_relaxed);
  return dictionaries_ != nullptr && number != 0 && (kept & 1u << Dictionaries::SlotOf(number)) != 0 &&
         dictionaries_->Find(number) != nullptr;
}

void KeptDictionaries::ReleaseLocked(SegmentId id) {
  const uint32_t kept = parts_.table[id].dictionaries.exchange(0, std::memory_order_relaxed);
  for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) {
    if ((kept & 1u << slot) != 0) dictionaries_->Release(slot);
  }
}

template <typename IsLost>
void KeptDictionaries::LosePlacesIf(IsLost&& is_lost) const {
  for (unsigned slot = 0; dictionaries_ != nullptr && slot < Dictionaries::kSlots; ++slot) {
    const uint64_t place = dictionaries_->place(slot);
    if (place != 0 && is_lost(parts_.SegmentAt(place))) dictionaries_->LosePlace(slot, place);
  }
}

void KeptDictionaries::LosePlaceInLocked(SegmentId id) {
  LosePlacesIf([id](SegmentId lies_in) { return lies_in == id; });
}

// Places that are stored before this takes the mutex are seen here. For those stored later CheckPlaces is called.
void KeptDictionaries::LeaveBehind(uint64_t sequence) {
  const std::lock_guard lock(parts_.mutex);
  left_behind_ = std::max(left_behind_, sequence);
  LosePlacesIf([this](SegmentId id) { return parts_.SequenceOf(id) < left_behind_; });
}

}  // namespace mezz
