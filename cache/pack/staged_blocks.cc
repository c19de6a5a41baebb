// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/staged_blocks.h"

#include <algorithm>
#include <vector>

namespace mezz {
namespace {

// The number of units in use at which the thread is woken. Waking it costs as much as packing a block, so it is done
// for several at once. Blocks that wait meanwhile are found in the stage.
constexpr int kUnitsToWake = StagedBlocks::kUnits / 4;

}  // namespace

StagedBlocks::StagedBlocks(uint64_t bytes) : unit_bytes_(bytes / kUnits), memory_(unit_bytes_ * kUnits) {
  assert(unit_bytes_ != 0 && unit_bytes_ % kLineBytes == 0);
}

std::optional<StagedBlocks::Slot> StagedBlocks::FindLocked(const BlockKey& key) const {
  for (uint64_t left = held_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const auto slot = static_cast<Slot>(std::countr_zero(left));
    if (slots_[slot].key == key) return slot;
  }
  return std::nullopt;
}

std::optional<StagedBlocks::Slot> StagedBlocks::FindFilledLocked(const BlockKey& key) const {
  const auto slot = FindLocked(key);
  return slot && slots_[*slot].state != State::kFilling ? slot : std::nullopt;
}

void StagedBlocks::ForgetLocked(Slot slot) {
  assert(IsHeld(slot));
  Release(slot);
  if (slots_[slot].state != State::kStaged) return;  // who is at it ends it
  --staged_;
  EndLocked(slot);
}

void StagedBlocks::EndLocked(Slot slot) {
  SlotState& it = slots_[slot];
  assert(!IsHeld(slot) && it.state != State::kFree);
  it.state = State::kOver;
  if (it.pins != 0) return;
  it.state = State::kFree;
  assert((free_units_ & UnitsOf(slot, it.units)) == 0);
  free_units_ |= UnitsOf(slot, it.units);
}

std::optional<StagedBlocks::Block> StagedBlocks::Reserve(const BlockKey& key, BlockRole role, Generation generation,
                                                         size_t bytes, ShareId share) {
  assert(bytes != 0);
  const std::lock_guard lock(mutex_);
  const uint64_t units = (bytes + unit_bytes_ - 1) / unit_bytes_;
  uint64_t starts = units <= kUnitsOfBlockMax ? free_units_ : 0;
  for (uint64_t i = 1; i < units && starts != 0; ++i) starts &= free_units_ >> i;
  if (starts == 0) {
    ++found_full_;
    return std::nullopt;
  }
  if (const auto older = FindLocked(key)) ForgetLocked(*older);
  const auto slot = static_cast<Slot>(std::countr_zero(starts));
  free_units_ &= ~UnitsOf(slot, static_cast<unsigned>(units));
  SlotState& it = slots_[slot];
  assert(it.state == State::kFree && it.pins == 0);
  it = {.state = State::kFilling,
        .role = role,
        .generation = generation,
        .share = share,
        .heat = static_cast<uint8_t>(HeatOfNew(generation)),
        .units = static_cast<unsigned>(units),
        .bytes = static_cast<uint32_t>(bytes),
        .key = key};
  tags_[slot].store(TagOf(key), std::memory_order_release);
  held_.fetch_or(uint64_t{1} << slot, std::memory_order_seq_cst);
  return Block{slot, key, role, generation, share, BytesOf(slot)};
}

bool StagedBlocks::Commit(Slot slot) {
  const std::lock_guard lock(mutex_);
  SlotState& it = slots_[slot];
  assert(it.state == State::kFilling);
  if (!IsHeld(slot)) {
    EndLocked(slot);
    return false;
  }
  it.state = State::kStaged;
  it.turn = next_turn_++;
  ++staged_;
  return std::popcount(free_units_) <= static_cast<int>(kUnits) - kUnitsToWake;
}

void StagedBlocks::Abandon(Slot slot) {
  const std::lock_guard lock(mutex_);
  assert(slots_[slot].state == State::kFilling);
  if (IsHeld(slot)) ForgetLocked(slot);
  EndLocked(slot);
}

bool StagedBlocks::Forget(const BlockKey& key) {
  const std::lock_guard lock(mutex_);
  const auto slot = FindLocked(key);
  if (slot) ForgetLocked(*slot);
  return slot.has_value();
}

void StagedBlocks::ForgetAll() {
  const std::lock_guard lock(mutex_);
  for (uint64_t left = held_.load(std::memory_order_relaxed); left != 0; left &= left - 1)
    ForgetLocked(static_cast<Slot>(std::countr_zero(left)));
}

std::optional<StagedBlocks::Pinned> StagedBlocks::Pin(const BlockKey& key, bool raise) {
  constexpr unsigned kHeatMax = 3;  // as an index word's
  const std::lock_guard lock(mutex_);
  const auto slot = FindFilledLocked(key);
  if (!slot) return std::nullopt;
  SlotState& it = slots_[*slot];
  ++it.pins;
  if (raise && it.heat < kHeatMax) ++it.heat;
  it.dram = false;  // it is asked for here
  return Pinned{*slot, it.role, it.heat, BytesOf(*slot)};
}

void StagedBlocks::Unpin(Slot slot) {
  const std::lock_guard lock(mutex_);
  SlotState& it = slots_[slot];
  assert(it.pins != 0);
  if (--it.pins == 0 && it.state == State::kOver) EndLocked(slot);
}

bool StagedBlocks::Has(const BlockKey& key) {
  const std::lock_guard lock(mutex_);
  return FindFilledLocked(key).has_value();
}

bool StagedBlocks::SetDram(const BlockKey& key, bool dram) {
  const std::lock_guard lock(mutex_);
  const auto slot = FindFilledLocked(key);
  if (!slot) return false;
  slots_[*slot].dram = dram;
  return true;
}

void StagedBlocks::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) {
  std::vector<SlotState> found;
  {
    const std::lock_guard lock(mutex_);
    for (uint64_t left = held_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
      const SlotState& it = slots_[static_cast<size_t>(std::countr_zero(left))];
      if (it.state != State::kFilling) found.push_back(it);
    }
  }
  for (const SlotState& it : found) visit(it.key, it.bytes, it.role);
}

std::optional<StagedBlocks::Block> StagedBlocks::Take() {
  const std::lock_guard lock(mutex_);
  if (staged_ == 0) return std::nullopt;
  std::optional<Slot> first;
  for (Slot slot = 0; slot < kUnits; ++slot) {
    if (slots_[slot].state == State::kStaged && (!first || slots_[slot].turn < slots_[*first].turn)) first = slot;
  }
  assert(first);
  SlotState& it = slots_[*first];
  it.state = State::kPacking;
  --staged_;
  return Block{*first, it.key, it.role, it.generation, it.share, BytesOf(*first)};
}

bool StagedBlocks::IsWanted(Slot slot) {
  const std::lock_guard lock(mutex_);
  assert(slots_[slot].state == State::kPacking);
  return IsHeld(slot);
}

void StagedBlocks::Finish(Slot slot) {
  const std::lock_guard lock(mutex_);
  assert(slots_[slot].state == State::kPacking);
  if (IsHeld(slot)) Release(slot);  // it was refused
  EndLocked(slot);
}

uint64_t StagedBlocks::committed() {
  const std::lock_guard lock(mutex_);
  return next_turn_;
}

uint64_t StagedBlocks::found_full() {
  const std::lock_guard lock(mutex_);
  return found_full_;
}

uint64_t StagedBlocks::pins() {
  const std::lock_guard lock(mutex_);
  uint64_t pins = 0;
  for (const SlotState& it : slots_) pins += it.state == State::kFree ? 0 : it.pins;
  return pins;
}

unsigned StagedBlocks::busy() {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(std::ranges::count_if(
      slots_, [](const SlotState& it) { return it.state != State::kFree && it.state != State::kOver; }));
}

}  // namespace mezz
