// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "admission/curves/block_key.h"

namespace mezz {

// Numbers distinct keys 0, 1, 2, ... as they come. It uses open addressing with linear probing, at most two thirds
// full.
class KeyMap {
 public:
  KeyMap() : slots_(kFirstSlots, Slot{0, kEmpty}) {}

  // The number of `key`; size() before the call if it is new.
  uint32_t Number(uint64_t key) {
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = MixWord(key) & mask;
    while (slots_[at].number != kEmpty && slots_[at].key != key) at = (at + 1) & mask;
    if (slots_[at].number != kEmpty) return slots_[at].number;
    const uint32_t number = size_++;
    slots_[at] = {key, number};
    if (uint64_t{size_} * 3 > slots_.size() * 2) Grow();
    return number;
  }

  std::optional<uint32_t> Find(uint64_t key) const {
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = MixWord(key) & mask;
    while (slots_[at].number != kEmpty && slots_[at].key != key) at = (at + 1) & mask;
    if (slots_[at].number == kEmpty) return std::nullopt;
    return slots_[at].number;
  }

  uint32_t size() const { return size_; }
  uint64_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    uint64_t key;
    uint32_t number;
  };
  static constexpr uint32_t kEmpty = UINT32_MAX;
  static constexpr size_t kFirstSlots = 1 << 12;

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2, Slot{0, kEmpty});
    old.swap(slots_);
    const uint64_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.number == kEmpty) continue;
      uint64_t at = MixWord(slot.key) & mask;
      while (slots_[at].number != kEmpty) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  uint32_t size_ = 0;
};

}  // namespace mezz
