// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "cache/base/atomic.h"
#include "cache/types.h"

namespace mezz {

// Blocks on their way into the tier: copied, not packed yet. Memory of kUnits units of one size; a block takes the
// units it needs, side by side, and is known by the number of the first: its slot. At most one block of a key counts.
//
// A slot's states, under mutex_. It is `counted` (a bit of held_) until its block was published or forgotten.
//
//   kFree --Reserve--> kFilling --Commit--> kStaged --Take--> kPacking --Finish--> kOver --no pin is left--> kFree
//                         |                    |
//                         +--Abandon; Commit,  +--forgotten--> kOver
//                            if forgotten--> kOver
//
//   Forget, ForgetAll and Reserve of the same key clear `counted`, whatever the state. Whoever fills or packs then goes
//   on with its bytes, which stay; but Publish, which tests and clears `counted` under the mutex, publishes no more. So
//   after Forget returned, the block is where others see it already, or never will be.
//   Pins are taken of counted blocks in kStaged and kPacking; bytes do not change, and units are not free, until the
//   last one went.
//
// held_: bit s is set by Reserve, seq_cst, after tags_[s] was stored; cleared under the mutex. Who looks for a key
// reads both without the mutex, and takes it only if a tag fits. Tags are stored with release and read with acquire:
// who finds that of a slot's next block sees where its last one was published. So Reserve orders as the index's Publish
// does: of two threads that put one key, one reserving a slot and then erasing the key from the index, the other
// publishing to the index and then forgetting the key here, at least one sees what the other did.
//
// Thread-safe. The mutex is held for some hundred instructions; by Publish for what the caller's publication takes.
// Never in a forked child. Allocates in the constructor only.
class StagedBlocks {
 public:
  static constexpr unsigned kUnits = 64;
  // Larger blocks are no small part of it.
  static constexpr unsigned kUnitsOfBlockMax = kUnits / 2;

  // `bytes`: for blocks, a multiple of kUnits * kLineBytes.
  explicit StagedBlocks(uint64_t bytes);
  bool ok() const { return memory_ != nullptr; }  // false: the memory was not to be had

  using Slot = unsigned;
  struct Block {
    Slot slot = 0;
    BlockKey key;
    BlockRole role = BlockRole::kOther;
    Generation generation = Generation::kYoung;
    std::span<std::byte> bytes;
  };
  struct Pinned {
    Slot slot = 0;
    BlockRole role = BlockRole::kOther;
    unsigned heat = 0;
    std::span<const std::byte> bytes;
  };

  // --- for who puts
  // Forgets an older block of the key. Nothing: no room (found_full). Block::bytes are the caller's to fill until
  // Commit or Abandon.
  std::optional<Block> Reserve(const BlockKey& key, BlockRole role, Generation generation, size_t bytes);
  // Filled. True: so much is staged that the thread should be woken.
  bool Commit(Slot slot);
  void Abandon(Slot slot);

  // --- for all
  // False: no block of the key is counted. Without the mutex; a few nanoseconds while nothing is staged.
  bool MayHold(const BlockKey& key) const {
    for (uint64_t left = held_.load(std::memory_order_seq_cst); left != 0; left &= left - 1) {
      const auto slot = static_cast<Slot>(std::countr_zero(left));
      if (tags_[slot].load(std::memory_order_acquire) == TagOf(key)) return true;
    }
    return false;
  }
  // True: a block of the key was counted, and is no more.
  bool Forget(const BlockKey& key);
  void ForgetAll();
  // The block with a pin, if it is filled; `raise` adds to its heat.
  std::optional<Pinned> Pin(const BlockKey& key, bool raise);
  void Unpin(Slot slot);
  // A block of the key is counted and filled.
  bool Has(const BlockKey& key);
  // Whether the DRAM tier holds it too. False: no block of the key is counted and filled.
  bool SetDram(const BlockKey& key, bool dram);
  // Calls visit(key, bytes, role) for blocks that are counted and filled, without the mutex.
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);

  // --- for the thread
  // The block that was committed first. Nothing: none is staged.
  std::optional<Block> Take();
  // Calls publish(heat, dram) under the mutex, if the block still counts; it then no longer does. False: it did not.
  template <typename F>
  bool Publish(Slot slot, F&& publish) {
    const std::lock_guard lock(mutex_);
    assert(slots_[slot].state == State::kPacking);
    if (!IsHeld(slot)) return false;
    publish(slots_[slot].heat, slots_[slot].dram);
    Release(slot);
    return true;
  }
  // Nobody forgot the block that is being packed.
  bool IsWanted(Slot slot);
  void Finish(Slot slot);

  uint64_t pins();
  // Blocks that were filled and left to the thread, ever.
  uint64_t committed();
  // Those there was no room for.
  uint64_t found_full();
  // Slots that are neither free nor only pinned: none, if nobody puts and the thread is done.
  unsigned busy();
  uint64_t dram_bytes() const { return sizeof(*this) + kUnits * unit_bytes_; }

 private:
  enum class State : uint8_t { kFree, kFilling, kStaged, kPacking, kOver };
  struct SlotState {
    State state = State::kFree;
    BlockRole role = BlockRole::kOther;
    Generation generation = Generation::kYoung;
    uint8_t heat = 0;
    bool dram = false;
    unsigned units = 0;
    uint32_t bytes = 0;
    uint32_t pins = 0;
    uint64_t turn = 0;  // of the Commit
    BlockKey key;
  };

  static uint32_t TagOf(const BlockKey& key) {
    return static_cast<uint32_t>((key.words[0] ^ std::rotl(key.words[1], 32)) * 0x9e3779b97f4a7c15ull >> 32);
  }
  static uint64_t UnitsOf(Slot slot, unsigned units) { return (~uint64_t{0} >> (kUnits - units)) << slot; }
  std::span<std::byte> BytesOf(Slot slot) const { return {memory_.get() + slot * unit_bytes_, slots_[slot].bytes}; }
  bool IsHeld(Slot slot) const { return (held_.load(std::memory_order_relaxed) >> slot & 1) != 0; }
  std::optional<Slot> FindLocked(const BlockKey& key) const;
  std::optional<Slot> FindFilledLocked(const BlockKey& key) const;
  void Release(Slot slot) { held_.fetch_and(~(uint64_t{1} << slot), std::memory_order_seq_cst); }
  void ForgetLocked(Slot slot);
  void EndLocked(Slot slot);

  const uint64_t unit_bytes_;
  const std::unique_ptr<std::byte[]> memory_;

  Atomic<uint64_t> held_{0};
  std::array<Atomic<uint32_t>, kUnits> tags_{};

  Mutex mutex_;
  std::array<SlotState, kUnits> slots_;  // GUARDED_BY(mutex_); of first units
  uint64_t free_units_ = ~uint64_t{0};   // GUARDED_BY(mutex_)
  uint64_t staged_ = 0;                  // GUARDED_BY(mutex_): slots in kStaged
  uint64_t next_turn_ = 0;               // GUARDED_BY(mutex_)
  uint64_t found_full_ = 0;              // GUARDED_BY(mutex_)
};

}  // namespace mezz
