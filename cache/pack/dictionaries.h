// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/base/wakeup.h"
#include "cache/counters.h"
#include "cache/media/emulation.h"
#include "cache/pack/dictionary.h"
#include "cache/types.h"

namespace mezz {

// The dictionaries that records were packed with: a live one for each role, and retired ones as long as a record may
// need them. A number names one dictionary, which lies in slot (number - 1) % kSlots. So it is found without a search,
// and a number is used again only after 8191 others of its slot.
//
// A slot has one atomic word of state, number and holds, so that all its steps have one order:
//
//   kEmpty --Publish: add, release--> kLive --Retire: add--> kRetired --Collect: CAS from (kRetired, no holds)-->
//   kEmpty
//
// Holds keep the dictionary in memory. A thread that packs takes one meanwhile. (TakeLive: add, acquire; valid only if
// the state that it saw was kLive and the number the same, else taken back. So a hold may show for a moment in any
// state.) Each segment of the log with a record that needs the dictionary has a hold until the segment is free
// (KeptDictionaries), which is after the last pin of its records. Release is a sub with release order, so that Collect
// (acquire) comes after the last read. Hold adds to a hold that the caller has. So once Collect sees no hold there will
// be none: no record is left that could be read, and nobody packs one.
//
// live_ of a role: 0 --Publish: release store--> number --Retire: release store--> 0. It is a hint: a thread that reads
// an old number finds the slot retired, and packs without a dictionary.
//
// place: where the dictionary's own record lies on the medium; 0: nowhere. The trainer's thread sets it where it was 0.
// Reclaim, under its mutex, changes it where the record lay in the reclaimed segment. So each change has one author.
// When segments are left behind for good (KeptDictionaries), it is set to 0 by CAS from its present value. Release and
// acquire, though a segment's control word orders these already.
//
// Thread-safe. Publish, Retire, Collect, NextNumber and live are for one thread at a time, the trainer's.
class Dictionaries {
 public:
  static constexpr unsigned kSlots = 8;
  // Whether all dictionary numbers are known that records of an earlier life may have.
  enum class Numbers { kKnown, kUnknown };
  static unsigned SlotOf(uint16_t number) { return (number - 1u) % kSlots; }

  // `trainer` is called when a retired dictionary lost its last hold, and when a dictionary has no place. Not owned.
  explicit Dictionaries(Wakeup* trainer) : trainer_(trainer) {}

  // Sets what gives the dictionaries' records their MACs (verify=keyed). Call it before anything else. Not owned.
  void UseAuthenticator(const Authenticator* authenticator) { authenticator_ = authenticator; }
  const Authenticator* authenticator() const { return authenticator_; }
  uint64_t RecordBytes(const Dictionary& dictionary) const { return dictionary.RecordBytes(authenticator_); }

  // A dictionary and a hold on it. Empty: there is no dictionary.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), held_(other.held_) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { Return(); }
    explicit operator bool() const { return owner_ != nullptr; }
    const Dictionary& operator*() const { return *held_; }
    const Dictionary* operator->() const { return held_; }

   private:
    friend class Dictionaries;
    Lease(Dictionaries* owner, const Dictionary* held) : owner_(owner), held_(held) {}
    void Return();

    Dictionaries* owner_ = nullptr;
    const Dictionary* held_ = nullptr;
  };
  // The live dictionary of the role, to pack with.
  Lease TakeLive(BlockRole role);
  // The slot's dictionary, live or retired.
  Lease Take(unsigned slot);

  // The dictionary with this number. Null: it is not here. REQUIRES: the caller holds it, or a segment that the caller
  // has pinned does.
  const Dictionary* Find(uint16_t number) const;
  // Adds a hold. REQUIRES: the caller has one already.
  void Hold(unsigned slot);
  void Release(unsigned slot);

  // The number of the next dictionary. Empty: all slots are in use.
  std::optional<uint16_t> NextNumber() const;
  // Makes the dictionary the live one of its role, and retires the one before. REQUIRES: the slot of its number is
  // empty.
  void Publish(std::unique_ptr<const Dictionary> dictionary);
  void Retire(BlockRole role);
  // Publishes a dictionary of an earlier life, whose record lies at `place` (0: it must be written anew). The recovery
  // calls it before anything else is called.
  void Restore(std::unique_ptr<const Dictionary> dictionary, uint64_t place);
  // Tells that records may name numbers of the slot up to this one, so that the next one is higher.
  void SkipNumbers(unsigned slot, uint16_t number) {
    slots_[slot].last_number = std::max(slots_[slot].last_number, number);
  }
  // The highest number that the slot ever had. REQUIRES: the trainer has stopped.
  uint16_t last_number(unsigned slot) const { return slots_[slot].last_number; }
  // The role's live dictionary. Null: it has none.
  const Dictionary* live(BlockRole role) const;
  // Destroys the dictionaries that are retired and not held. Returns how many of each role.
  std::array<unsigned, kBlockRoles> Collect();

  uint64_t place(unsigned slot) const { return slots_[slot].place.load(std::memory_order_acquire); }
  // Writes the dictionary's record to `place`, which is its place from now on. This is counted, and charged to
  // `emulation`, which may be null. False: the medium did not take it, and the place is as before. REQUIRES: the caller
  // holds the dictionary, and RecordBytes() are reserved at `place`.
  bool Write(const Dictionary& dictionary, const Medium& medium, record::Place place, Emulation* emulation,
             Counters* counters);
  void LosePlace(unsigned slot) {
    SetPlace(slot, 0);
    CallTrainer();
  }
  // Takes its place from the slot's dictionary, if that is `place`.
  void LosePlace(unsigned slot, uint64_t place) {
    if (slots_[slot].place.compare_exchange_strong(place, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
      CallTrainer();
  }
  // Wakes the trainer, as there may be room for dictionaries without a place.
  void CallTrainer() { trainer_->Call(); }

  uint32_t holds(unsigned slot) const { return HoldsOf(slots_[slot].word.load(std::memory_order_relaxed)); }
  uint64_t dram_bytes() const { return sizeof(*this) + held_bytes_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint64_t { kEmpty, kLive, kRetired };
  struct Slot {
    Atomic<uint64_t> word{0};  // state << 48 | number << 32 | holds
    Atomic<uint64_t> place{0};
    std::unique_ptr<const Dictionary> dictionary;  // written while kEmpty
    uint16_t last_number = 0;                      // used by the trainer only
  };
  static constexpr uint64_t Word(State state, uint16_t number) {
    return static_cast<uint64_t>(state) << 48 | uint64_t{number} << 32;
  }
  static State StateOf(uint64_t word) { return static_cast<State>(word >> 48); }
  static uint16_t NumberOf(uint64_t word) { return static_cast<uint16_t>(word >> 32); }
  static uint32_t HoldsOf(uint64_t word) { return static_cast<uint32_t>(word); }
  Lease Take(unsigned slot, uint16_t number, bool retired_too);
  void SetPlace(unsigned slot, uint64_t offset) { slots_[slot].place.store(offset, std::memory_order_release); }

  Wakeup* const trainer_;
  const Authenticator* authenticator_ = nullptr;
  std::array<Slot, kSlots> slots_;
  std::array<Atomic<uint32_t>, kBlockRoles> live_{};
  Atomic<uint64_t> held_bytes_{0};  // relaxed: a figure
};

}  // namespace mezz
