// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>

#include "cache/base/atomic.h"
#include "cache/log_rules.h"
#include "cache/types.h"

namespace mezz {

// The segments of a log, by number. Each has one control word with its state, its writers and its pins. So every step
// is one atomic operation, and all steps of a segment have one order. Each but those of CollectDrained is an add, under
// the log's mutex:
//
//   kUnready --Provide--> kFree --Advance--> kOpen --Seal--> kSealed --StartDraining--> kDraining
//                          ^ ^                                                             |
//                          | +-- CollectDrained: CAS from (kDraining, nobody) -------------+
//                          +-- LimitTo, LimitMember, CollectDrained --> kParked
//
//   kUnready --Await--> kAwaiting --Adopt--> kSealed, with a writer
//                           +----GiveUp...--> kDraining
//   kAwaiting: an earlier life filled the segment, and its records are not known yet. The recovery pins it
//   (AwaitingSegments::Pin: as Pin, but the state must be kAwaiting), so that its bytes stay if it is given up
//   meanwhile. After Adopt the recovery is its writer until its last record is published, so that reclaim does not walk
//   it before. Where the medium is not ready by then, reclaim takes such a segment only if the tier shrinks, and
//   CollectDrained makes it kUnready again. Segments with a snapshot of the index are kAwaiting too: they are pinned
//   until it is read, and are then given up.
//
//   kFree --TombstoneSegments::Open--> kTombstones --Close--> kDraining
//   kUnready --Adopt--> kTombstones
//   kTombstones: a segment without records, in no list. Only the Tombstones that opened or adopted it write to it.
//
//   kUnready --Quarantine--> kQuarantined
//   kDraining --CollectDrained: CAS, instead of to kFree, if it is condemned--> kQuarantined
//   kQuarantined: never written, read, reclaimed or adopted again as long as the log lives. SegmentFaults::Note
//   condemns a segment; TakeCondemned seals it and gives it to reclaim, which forgets its records unread. So words
//   leave the index before their segment goes, and a pin keeps its bytes until it is released, as with any other
//   segment. A hit pays nothing for it.
//
// Pin: fetch_add(1, acquire), valid only if the state it saw was kOpen or kSealed, else taken back. So StartDraining
// sees a pin that was taken before it, which keeps the segment from kFree; a pin taken after it fails. A failed pin may
// show for a moment in any state. CollectDrained then waits for it; the other steps add to the state and leave pins
// alone. Unpin: fetch_sub(1, release), so that CollectDrained (acquire) comes after the last read. The thread that
// releases the last pin of a draining segment collects it, so the segment is free at once.
//
// The steps are those of the log's rooms (segment_log.h), the mutex is LogParts::mutex. The table exchanges the words.
class SegmentTable {
 public:
  enum class State : uint64_t {
    kUnready,
    kFree,
    kOpen,
    kSealed,
    kDraining,
    kParked,
    kAwaiting,
    kTombstones,
    kQuarantined
  };

  struct alignas(kLineBytes) Segment {
    Atomic<uint64_t> control{0};   // state << 48 | writers << 32 | pins
    Atomic<uint64_t> tail{0};      // relative; grows by CAS while open
    Atomic<uint64_t> sequence{0};  // of this fill
    Atomic<uint64_t> dead{0};      // sum of NoteDead for this fill; relaxed: the thread that crosses the mark acts
    // A bit for each slot of Dictionaries that records of this fill use; each bit is a hold on the dictionary. A writer
    // sets it by KeptDictionaries::Keep before it publishes the first such record. All are cleared, under the mutex,
    // when the segment becomes free.
    Atomic<uint32_t> dictionaries{0};
    // The faults that SegmentFaults::Note told of in this life of the log, or kUnreadable. Relaxed: a thread that acts
    // on it looks again.
    Atomic<uint32_t> faults{0};
    Generation sparse_of = Generation::kYoung;  // GUARDED_BY(mutex): the generation of a segment in sparse_
    bool adopted = false;  // this fill was; written while it is kUnready, kAwaiting or kFree, read under a pin
    // The share of this fill; kNoShare while it is not added. Relaxed: stored under the mutex, and read as a hint
    // without.
    Atomic<ShareId> share{kNoShare};
    uint64_t share_tag = 0;  // GUARDED_BY(mutex): the tag of that share, also while it is not added
  };

  // In a control word: state << 48 | writers << 32 | pins.
  static constexpr uint64_t kPin = 1;
  static constexpr uint64_t kWriter = uint64_t{1} << 32;

  explicit SegmentTable(uint32_t segments) : segments_(std::make_unique<Segment[]>(segments)) {}

  Segment& operator[](SegmentId id) { return segments_[Raw(id)]; }
  const Segment& operator[](SegmentId id) const { return segments_[Raw(id)]; }

  State state(SegmentId id) const { return StateOf(Control(id)); }
  uint64_t pins(SegmentId id) const { return PinsOf(Control(id)); }
  uint64_t writers(SegmentId id) const { return WritersOf(Control(id)); }

  bool HoldsRecords(SegmentId id) const {
    const State now = state(id);
    return now == State::kOpen || now == State::kSealed || now == State::kDraining || now == State::kAwaiting;
  }
  bool HadFault(SegmentId id) const { return (*this)[id].faults.load(std::memory_order_relaxed) != 0; }
  // Whether the segment is to be taken out of use.
  bool IsCondemned(SegmentId id) const {
    return (*this)[id].faults.load(std::memory_order_relaxed) >= log_rules::kFaultsOfSegmentMax;
  }

  // Adds a pin. False: the segment was neither open nor sealed, and the pin is to be subtracted again.
  bool TryPin(SegmentId id) {
    const uint64_t before = (*this)[id].control.fetch_add(kPin, std::memory_order_acquire);
    assert(PinsOf(before) < UINT32_MAX);
    return StateOf(before) == State::kOpen || StateOf(before) == State::kSealed;
  }
  // Adds pins or writers. Returns the state that it saw.
  State Add(SegmentId id, uint64_t what, std::memory_order order) {
    return StateOf((*this)[id].control.fetch_add(what, order));
  }
  // Takes pins or writers back. True: the segment is kDraining, and nobody is in it any more.
  [[nodiscard]] bool Subtract(SegmentId id, uint64_t what) {
    const uint64_t before = (*this)[id].control.fetch_sub(what, std::memory_order_release);
    assert(PinsOf(before) >= PinsOf(what) && WritersOf(before) >= WritersOf(what));
    return before - what == Unused(State::kDraining);
  }
  // REQUIRES: the log's mutex is held, and the state is `from`.
  void Change(SegmentId id, State from, State to) {
    const uint64_t delta = Unused(to) - Unused(from);
    [[maybe_unused]] const uint64_t before = (*this)[id].control.fetch_add(delta, std::memory_order_acq_rel);
    assert(StateOf(before) == from);
  }
  // Makes a draining segment free. False: somebody is in it still.
  bool FreeIfDrained(SegmentId id) {
    uint64_t expected = Unused(State::kDraining);
    return (*this)[id].control.compare_exchange_strong(expected, Unused(State::kFree), std::memory_order_acq_rel,
                                                       std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kStateShift = 48;

  static State StateOf(uint64_t control) { return static_cast<State>(control >> kStateShift); }
  static uint64_t WritersOf(uint64_t control) { return control >> 32 & 0xffff; }
  static uint64_t PinsOf(uint64_t control) { return control & UINT32_MAX; }
  static constexpr uint64_t Unused(State state) { return static_cast<uint64_t>(state) << kStateShift; }
  uint64_t Control(SegmentId id) const { return (*this)[id].control.load(std::memory_order_acquire); }

  const std::unique_ptr<Segment[]> segments_;
};

}  // namespace mezz
