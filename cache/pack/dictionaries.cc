// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/dictionaries.h"

#include <cassert>

namespace mezz {

Dictionaries::Lease& Dictionaries::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Return();
    owner_ = std::exchange(other.owner_, nullptr);
    held_ = other.held_;
  }
  return *this;
}

void Dictionaries::Lease::Return() {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->Release(SlotOf(held_->number()));
}

Dictionaries::Lease Dictionaries::TakeLive(BlockRole role) {
  const uint32_t number = live_[static_cast<size_t>(role)].load(std::memory_order_acquire);
  if (number == 0) return {};
  return Take(SlotOf(static_cast<uint16_t>(number)), static_cast<uint16_t>(number), /*retired_too=*/false);
}

Dictionaries::Lease Dictionaries::Take(unsigned slot) {
  const uint16_t number = NumberOf(slots_[slot].word.load(std::memory_order_acquire));
  return Take(slot, number, /*retired_too=*/true);
}

Dictionaries::Lease Dictionaries::Take(unsigned slot, uint16_t number, bool retired_too) {
  const uint64_t before = slots_[slot].word.fetch_add(1, std::memory_order_acquire);
  assert(HoldsOf(before) < UINT32_MAX);
  const State seen = StateOf(before);
  const bool good = seen == State::kLive || (retired_too && seen == State::kRetired);
  if (good && NumberOf(before) == number) return {this, slots_[slot].dictionary.get()};
  Release(slot);
  return {};
}

const Dictionary* Dictionaries::Find(uint16_t number) const {
  if (number == 0) return nullptr;
  const Slot& slot = slots_[SlotOf(number)];
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  return StateOf(word) != State::kEmpty && NumberOf(word) == number ? slot.dictionary.get() : nullptr;
}

void Dictionaries::Hold(unsigned slot) {
  [[maybe_unused]] const uint64_t before = slots_[slot].word.fetch_add(1, std::memory_order_relaxed);
  assert(StateOf(before) != State::kEmpty && HoldsOf(before) > 0 && HoldsOf(before) < UINT32_MAX);
}

void Dictionaries::Release(unsigned slot) {
  const uint64_t before = slots_[slot].word.fetch_sub(1, std::memory_order_release);
  assert(HoldsOf(before) > 0);
  if (StateOf(before) == State::kRetired && HoldsOf(before) == 1) trainer_->Call();
}

std::optional<uint16_t> Dictionaries::NextNumber() const {
  for (unsigned i = 0; i < kSlots; ++i) {
    if (StateOf(slots_[i].word.load(std::memory_order_relaxed)) != State::kEmpty) continue;
    const uint16_t last = slots_[i].last_number;
    const bool again = last == 0 || last > UINT16_MAX - kSlots;
    return static_cast<uint16_t>(again ? i + 1 : last + kSlots);
  }
  return std::nullopt;
}

void Dictionaries::Publish(std::unique_ptr<const Dictionary> dictionary) {
  const BlockRole role = dictionary->role();
  const uint16_t number = dictionary->number();
  Slot& slot = slots_[SlotOf(number)];
  assert(slot.dictionary == nullptr && slot.place.load(std::memory_order_relaxed) == 0);
  held_bytes_.fetch_add(dictionary->dram_bytes(), std::memory_order_relaxed);
  slot.last_number = number;
  slot.dictionary = std::move(dictionary);
  [[maybe_unused]] const uint64_t before = slot.word.fetch_add(Word(State::kLive, number), std::memory_order_release);
  assert(StateOf(before) == State::kEmpty && NumberOf(before) == 0);
  Retire(role);
  live_[static_cast<size_t>(role)].store(number, std::memory_order_release);
}

void Dictionaries::Restore(std::unique_ptr<const Dictionary> dictionary, uint64_t place) {
  const unsigned slot = SlotOf(dictionary->number());
  Publish(std::move(dictionary));
  SetPlace(slot, place);
}

void Dictionaries::Retire(BlockRole role) {
  const Dictionary* const old = live(role);
  if (old == nullptr) return;
  live_[static_cast<size_t>(role)].store(0, std::memory_order_release);
  const uint64_t step = Word(State::kRetired, 0) - Word(State::kLive, 0);
  [[maybe_unused]] const uint64_t before =
      slots_[SlotOf(old->number())].word.fetch_add(step, std::memory_order_relaxed);
  assert(StateOf(before) == State::kLive && NumberOf(before) == old->number());
}

const Dictionary* Dictionaries::live(BlockRole role) const {
  return Find(static_cast<uint16_t>(live_[static_cast<size_t>(role)].load(std::memory_order_acquire)));
}

bool Dictionaries::Write(const Dictionary& dictionary, const Medium& medium, record::Place place, Emulation* emulation,
                         Counters* counters) {
  if (!dictionary.Write(medium, place, authenticator_)) return false;
  SetPlace(SlotOf(dictionary.number()), place.offset);
  if (emulation != nullptr) emulation->ChargeWrite(place.offset, RecordBytes(dictionary));
  counters->Add(Event::kDictionaryWritten, dictionary.role());
  counters->Add(Event::kScmWrittenBytes, dictionary.role(), RecordBytes(dictionary));
  return true;
}

std::array<unsigned, kBlockRoles> Dictionaries::Collect() {
  std::array<unsigned, kBlockRoles> collected{};
  for (Slot& slot : slots_) {
    uint64_t unused = Word(State::kRetired, NumberOf(slot.word.load(std::memory_order_relaxed)));
    if (!slot.word.compare_exchange_strong(unused, Word(State::kEmpty, 0), std::memory_order_acquire,
                                           std::memory_order_relaxed))
      continue;
    held_bytes_.fetch_sub(slot.dictionary->dram_bytes(), std::memory_order_relaxed);
    ++collected[static_cast<size_t>(slot.dictionary->role())];
    slot.dictionary.reset();
    slot.place.store(0, std::memory_order_release);
  }
  return collected;
}

}  // namespace mezz
