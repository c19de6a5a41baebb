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
#include "cache/media/model.h"
#include "cache/pack/dictionary.h"
#include "cache/types.h"

namespace mezz {

// The dictionaries that records were packed with: one that is live for each role, and retired ones for as long as a
// record may carry them. One number is one dictionary; it lies in slot (number - 1) % kSlots, so who knows the number
// finds the dictionary without a search, and a number comes back only after 8191 others of its slot.
//
// A slot is one atomic word, state, number and holds together, so that all its steps have one order:
//
//   kEmpty --Publish: add, release--> kLive --Retire: add--> kRetired --Collect: CAS from (kRetired, no holds)-->
//   kEmpty
//
// Holds keep the dictionary in memory. Who packs takes one for the time (TakeLive: add, acquire; good only if the state
// it saw was kLive and the number the same, else taken back; so one may show for a moment in any state). Each segment
// of the log that a record with the dictionary was written to takes one until the segment is free (SegmentLog), which
// is after the last pin of its records. Release: sub, release, so that Collect (acquire) comes after the last read.
// Hold adds to a hold that the caller has, so a count that Collect sees at 0 stays there: no record is left that could
// be read, and nobody packs one.
//
// live_ of a role: 0 --Publish: release store--> number --Retire: release store--> 0. Advice: who reads an old one
// finds the slot retired, and packs without.
//
// place: where the dictionary's own record lies on the medium, 0 while there is none. Set by the thread that trains
// where it was 0, and by reclaim, under its mutex, where it lay in the segment that is reclaimed; so each change has
// one author. But who leaves segments behind for good (SegmentLog) takes it to 0 from what it was, by CAS. Release and
// acquire, though a segment's control word orders them already.
//
// Thread-safe. Publish, Retire, Collect, NextNumber and live are for one thread at a time, the trainer's.
class Dictionaries {
 public:
  static constexpr unsigned kSlots = 8;
  // Whether all are known that records of an earlier life may have.
  enum class Numbers { kKnown, kUnknown };
  static unsigned SlotOf(uint16_t number) { return (number - 1u) % kSlots; }

  // `trainer` is called when a retired dictionary lost its last hold, and when one has no place; not owned.
  explicit Dictionaries(Wakeup* trainer) : trainer_(trainer) {}

  // What their records get their MACs from (verify=keyed), before anything else is called; not owned.
  void UseAuthenticator(const Authenticator* authenticator) { authenticator_ = authenticator; }
  const Authenticator* authenticator() const { return authenticator_; }
  uint64_t RecordBytes(const Dictionary& dictionary) const { return dictionary.RecordBytes(authenticator_); }

  // A hold, and the dictionary; empty: there is none.
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
  // The one to pack with.
  Lease TakeLive(BlockRole role);
  // Of the slot's dictionary, live or retired.
  Lease Take(unsigned slot);

  // Null: it is not here. REQUIRES: the caller, or a segment it has pinned, holds it.
  const Dictionary* Find(uint16_t number) const;
  // REQUIRES: the caller holds it.
  void Hold(unsigned slot);
  void Release(unsigned slot);

  // The number of the next dictionary; nothing: all slots are in use.
  std::optional<uint16_t> NextNumber() const;
  // Makes it the live one of its role, and retires the one that was. REQUIRES: the slot of its number is empty.
  void Publish(std::unique_ptr<const Dictionary> dictionary);
  void Retire(BlockRole role);
  // As Publish of one whose record lies at `place` (0: it has to be written anew), by who takes a medium over, before
  // anything else is called.
  void Restore(std::unique_ptr<const Dictionary> dictionary, uint64_t place);
  // Records may carry numbers of the slot up to this one: the next one is higher.
  void SkipNumbers(unsigned slot, uint16_t number) {
    slots_[slot].last_number = std::max(slots_[slot].last_number, number);
  }
  // REQUIRES: the trainer has stopped.
  uint16_t last_number(unsigned slot) const { return slots_[slot].last_number; }
  // Null: none.
  const Dictionary* live(BlockRole role) const;
  // Destroys those that are retired and not held. How many of each role.
  std::array<unsigned, kBlockRoles> Collect();

  uint64_t place(unsigned slot) const { return slots_[slot].place.load(std::memory_order_acquire); }
  // Writes its record there, and that is its place from now on; counted, and charged to `throttle`, which may be null.
  // False: the medium did not take it, and the place is as before. REQUIRES: the caller holds it, and RecordBytes() are
  // reserved at `place`.
  bool Write(const Dictionary& dictionary, const Medium& medium, record::Place place, Throttle* throttle,
             Counters* counters);
  void LosePlace(unsigned slot) {
    SetPlace(slot, 0);
    CallTrainer();
  }
  // If that is its place.
  void LosePlace(unsigned slot, uint64_t place) {
    if (slots_[slot].place.compare_exchange_strong(place, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
      CallTrainer();
  }
  // There may be room for what has no place.
  void CallTrainer() { trainer_->Call(); }

  uint32_t holds(unsigned slot) const { return HoldsOf(slots_[slot].word.load(std::memory_order_relaxed)); }
  uint64_t dram_bytes() const { return sizeof(*this) + held_bytes_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint64_t { kEmpty, kLive, kRetired };
  struct Slot {
    Atomic<uint64_t> word{0};  // state << 48 | number << 32 | holds
    Atomic<uint64_t> place{0};
    std::unique_ptr<const Dictionary> dictionary;  // written while kEmpty
    uint16_t last_number = 0;                      // the trainer's
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
