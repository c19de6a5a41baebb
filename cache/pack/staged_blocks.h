// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>

#include "cache/base/atomic.h"
#include "cache/base/undumped_memory.h"
#include "cache/types.h"

namespace mezz {

// Staged blocks: copied into DRAM on their way into the tier, and not packed yet. The memory has kUnits units of one
// size. A block takes adjacent units; the number of the first is its slot. At most one block of a key is counted.
//
// A slot's states, under mutex_. A slot is `counted` (a bit of held_) until its block was published or forgotten.
//
//   kFree --Reserve--> kFilling --Commit--> kStaged --Take--> kPacking --Finish--> kOver --no pin is left--> kFree
//                         |                    |
//                         +--Abandon; Commit,  +--forgotten--> kOver
//                            if forgotten--> kOver
//
//   Forget, ForgetAll and Reserve of the same key clear `counted`, whatever the state. A thread that fills or packs the
//   block may go on, and its bytes stay; but Publish, which tests and clears `counted` under the mutex, then publishes
//   nothing. So after Forget has returned, the block is either visible to others already, or never will be.
//   Pins are taken of counted blocks in kStaged and kPacking. Until the last pin goes the bytes do not change, and the
//   units are not free.
//
// held_: Reserve sets bit s (seq_cst) after it stored tags_[s]; it is cleared under the mutex. A look-up reads both
// without the mutex, and takes the mutex only if a tag fits. Tags are stored with release and read with acquire: a
// thread that finds the tag of a slot's next block sees where its last block was published. So Reserve orders as the
// index's Publish does. Say two threads put one key: one reserves a slot and then erases the key from the index, the
// other publishes to the index and then forgets the key here. At least one sees what the other did.
//
// Thread-safe. The mutex is held for some hundred instructions, and by Publish as long as the caller's publication
// takes. It is never taken in a forked child. Only the constructor allocates.
class StagedBlocks {
 public:
  static constexpr unsigned kUnits = 64;
  // A larger block is not staged, as it would take too much of the stage.
  static constexpr unsigned kUnitsOfBlockMax = kUnits / 2;

  // `bytes`: the memory for blocks, a multiple of kUnits * kLineBytes.
  explicit StagedBlocks(uint64_t bytes);
  bool ok() const { return memory_.get() != nullptr; }  // false: there was no memory

  using Slot = unsigned;
  struct Block {
    Slot slot = 0;
    BlockKey key;
    BlockRole role = BlockRole::kOther;
    Generation generation = Generation::kYoung;
    ShareId share = kNoShare;
    std::span<std::byte> bytes;
  };
  struct Pinned {
    Slot slot = 0;
    BlockRole role = BlockRole::kOther;
    unsigned heat = 0;
    std::span<const std::byte> bytes;
  };

  // --- for puts
  // Reserves a slot, and forgets an older block of the key. The caller fills Block::bytes, and then calls Commit or
  // Abandon. Empty: there is no room (found_full).
  std::optional<Block> Reserve(const BlockKey& key, BlockRole role, Generation generation, size_t bytes,
                               ShareId share = kNoShare);
  // Tells that the slot is filled. True: so much is staged that the thread should be woken.
  bool Commit(Slot slot);
  void Abandon(Slot slot);

  // --- for all threads
  // False: no block of the key is counted. Takes no mutex, and a few nanoseconds while nothing is staged.
  bool MayHold(const BlockKey& key) const {
    for (uint64_t left = held_.load(std::memory_order_seq_cst); left != 0; left &= left - 1) {
      const auto slot = static_cast<Slot>(std::countr_zero(left));
      if (tags_[slot].load(std::memory_order_acquire) == TagOf(key)) return true;
    }
    return false;
  }
  // Forgets the key's block. True: a block was counted, and is not any more.
  bool Forget(const BlockKey& key);
  void ForgetAll();
  // The key's block with a pin, if it is filled. `raise` adds to its heat.
  std::optional<Pinned> Pin(const BlockKey& key, bool raise);
  void Unpin(Slot slot);
  // Whether a block of the key is counted and filled.
  bool Has(const BlockKey& key);
  // Notes whether the DRAM tier holds the block too. False: no block of the key is counted and filled.
  bool SetDram(const BlockKey& key, bool dram);
  // Calls visit(key, bytes, role) for blocks that are counted and filled, without the mutex.
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);

  // --- for the thread
  // Takes the block that was committed first. Empty: none is staged.
  std::optional<Block> Take();
  // Calls publish(heat, dram) under the mutex, if the block is still counted; it is not counted any more afterwards.
  // False: it was not counted.
  template <typename F>
  bool Publish(Slot slot, F&& publish) {
    const std::lock_guard lock(mutex_);
    assert(slots_[slot].state == State::kPacking);
    if (!IsHeld(slot)) return false;
    publish(slots_[slot].heat, slots_[slot].dram);
    Release(slot);
    return true;
  }
  // Whether the block that is being packed was not forgotten.
  bool IsWanted(Slot slot);
  void Finish(Slot slot);

  uint64_t pins();
  // The number of blocks that were ever filled and left to the thread.
  uint64_t committed();
  // The number of blocks for which there was no room.
  uint64_t found_full();
  // The number of slots that are neither free nor only pinned: 0 if nobody puts and the thread is done.
  unsigned busy();
  uint64_t dram_bytes() const { return sizeof(*this) + kUnits * unit_bytes_; }

 private:
  enum class State : uint8_t { kFree, kFilling, kStaged, kPacking, kOver };
  struct SlotState {
    State state = State::kFree;
    BlockRole role = BlockRole::kOther;
    Generation generation = Generation::kYoung;
    ShareId share = kNoShare;
    uint8_t heat = 0;
    bool dram = false;
    unsigned units = 0;
    uint32_t bytes = 0;
    uint32_t pins = 0;
    uint64_t turn = 0;  // the order of Commits
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
  const UndumpedBuffer memory_;

  Atomic<uint64_t> held_{0};
  std::array<Atomic<uint32_t>, kUnits> tags_{};

  Mutex mutex_;
  std::array<SlotState, kUnits> slots_;  // GUARDED_BY(mutex_); used for first units only
  uint64_t free_units_ = ~uint64_t{0};   // GUARDED_BY(mutex_)
  uint64_t staged_ = 0;                  // GUARDED_BY(mutex_): slots in kStaged
  uint64_t next_turn_ = 0;               // GUARDED_BY(mutex_)
  uint64_t found_full_ = 0;              // GUARDED_BY(mutex_)
};

}  // namespace mezz
