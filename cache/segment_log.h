// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/base/fork_guard.h"
#include "cache/counters.h"
#include "cache/faults.h"
#include "cache/layout.h"
#include "cache/log_rules.h"
#include "cache/media/medium.h"
#include "cache/pack/dictionaries.h"
#include "cache/record.h"
#include "cache/segment_queue.h"
#include "cache/types.h"

namespace mezz {

// Where all lanes of a log stood at one moment. What was reserved before that moment lies before it; what is reserved
// after it does not.
struct LogPosition {
  uint64_t next_sequence = 0;  // of the segment opened next
  std::array<layout::OpenSegment, layout::kLanesMax> open;
};

// The medium as a log of segments: who may append, who may read, what is free.
//
// Each segment has one control word, state, writers and pins together, so that every step is one atomic operation and
// all steps of a segment have one order:
//
//   kUnready --Provide: add, under mutex_--> kFree
//   kFree --Advance: add, under mutex_--> kOpen --Seal: add, under mutex_--> kSealed
//     ^ ^                                                                      | StartDraining: add, under mutex_
//     | +---- LimitTo: add, under mutex_ ----> kParked                         v
//     +------------- CollectDrained: CAS from (kDraining, nobody) ---------- kDraining
//
//   kUnready --Await: add, under mutex_--> kAwaiting --AdoptAwaiting: add, under mutex_--> kSealed, with a writer
//                                            +--------GiveUp...: add, under mutex_-------> kDraining
//   What an earlier life filled, while nobody knows its records. Who recovers them pins the segment (PinAwaiting: as
//   Pin, but the state must be kAwaiting), so that it keeps its bytes if it is given up meanwhile; and is its writer
//   until the last one is published, so that reclaim does not walk it before. Where the medium is not ready by then,
//   such a segment is reclaimed only for a shrinking tier, and CollectDrained makes it kUnready again. What the earlier
//   life wrote of its index awaits too, pinned until it is read, and is then given up.
//
//   kFree --OpenTombstones: add, under mutex_--> kTombstones
//   kUnready --AdoptTombstones: add, under mutex_--> kTombstones --CloseTombstones: add, under mutex_--> kDraining
//
//   A segment without records, in no list: who opened or adopted it knows it, and alone writes to it (Tombstones).
//
//   kUnready --Quarantine: add, under mutex_--> kQuarantined
//   kDraining --CollectDrained: CAS, as if to kFree, of one that is condemned--> kQuarantined
//   For good: never written, read, reclaimed or adopted again as long as the log is there. NoteFault condemns a
//   segment; TakeCondemned seals it and gives it to reclaim, which forgets its records unread. So, as ever, words leave
//   the index before their segment goes, a pin keeps its bytes until it is released, and a hit asks no more than it
//   did.
//
// Pin: fetch_add(1, acquire), good only if the state it saw was kOpen or kSealed, else taken back. So a pin taken
// before StartDraining is seen by it and keeps the segment from kFree; one taken after it fails. A failed pin may show
// for a moment in any state: CollectDrained then waits for it, the other steps add to the state and leave pins alone.
// Unpin: fetch_sub(1, release), so that CollectDrained (acquire) comes after the last read. Whoever takes the last pin
// of a draining segment collects it: it is free as soon as it is released.
//
// Appending: a writer adds itself as writer and pin, checks that the segment is still kOpen, and takes space by CAS on
// `tail`. A segment is drained only after it was seen sealed without writers: from then on none can be in it, because a
// writer that enters a sealed segment backs off. Space once taken always gets a record header, if only a void one,
// before the writer leaves: whoever walks a sealed segment without writers finds header after header up to the tail.
class SegmentLog {
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

  // Space taken in an open segment, which keeps a writer and a pin until Leave.
  struct Reservation {
    SegmentId segment{};
    record::Place place;
  };

  // Every segment is kUnready until Provide. `guard` tells whether this is the process that opened the medium.
  // `dictionaries` may be null where no record has one; not owned.
  SegmentLog(const Medium& medium, uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t format_id,
             Counters* counters, const ForkGuard& guard, Dictionaries* dictionaries = nullptr);

  // Segments are opened with numbers that `reserve` hands out, `at_once` from the returned one on; called now and then,
  // under the log's mutex. Where it has none, no segment is opened. REQUIRES: no segment was opened. Without it: from 1
  // on. False: it has none to begin with.
  [[nodiscard]] bool TakeSequencesFrom(std::function<std::optional<uint64_t>()> reserve, uint64_t at_once);

  // A segment as an earlier life filled it. Its records are not in the index yet, and they may be anything that their
  // checksums allow.
  struct Fill {
    SegmentId segment{};
    uint64_t sequence = 0;
    uint64_t tail = 0;  // absolute
    Generation generation = Generation::kYoung;
    uint64_t dead = 0;         // as NoteDead was told
    uint8_t dictionaries = 0;  // a bit for each slot of Dictionaries of which it has records
  };
  // What an earlier life filled, oldest first, to be adopted beside writers, readers and reclaim, the youngest first.
  // Until then it goes before all others when room is wanted, the oldest first and unread; if `keep`, not before
  // LetGoOfAwaiting, and each is pinned as by PinAwaiting. REQUIRES: nothing was provided; called once.
  void Await(std::span<const Fill> fills, bool keep);
  void LetGoOfAwaiting();
  // They were named in another order. REQUIRES: not LetGoOfAwaiting yet.
  void OrderAwaiting();
  // For reading its bytes: false if it is not awaiting any more. Unpin, or AdoptAwaiting.
  bool PinAwaiting(SegmentId id);
  // It was not given up by those who did so before this call.
  bool IsAwaiting(SegmentId id) const;
  bool HasAwaiting() const;
  // It is sealed from now on. REQUIRES: pinned by PinAwaiting, and those adopted before are younger. True: the pin is
  // the one of a writer now, who is to Leave. False: it was given up, or has no records.
  bool AdoptAwaiting(const Fill& fill);
  // The oldest that awaits and may go, is pinned by nobody or `pinned_too`, and whose medium is ready or `pinned_too`:
  // free now, or when its last pin goes. False: there is none.
  bool GiveUpOldest(bool pinned_too);
  void GiveUpAwaiting();  // all

  // The segment was adopted, and not filled anew since. REQUIRES: it is pinned, or in no queue.
  bool IsAdopted(SegmentId id) const { return segment(id).adopted; }
  // Segments for tombstones. A free one, of a number as low as can be; nothing: there is none but reclaim's last one,
  // or no sequence for it.
  // REQUIRES, of AdoptTombstones: it was not provided.
  std::optional<SegmentId> OpenTombstones();
  void AdoptTombstones(SegmentId id, uint64_t sequence);
  void CloseTombstones(SegmentId id);
  uint32_t tombstone_segments() const;

  // Of every sealed segment, those that reclaim would take first before the others of their queue. REQUIRES: no other
  // call runs, and nobody reclaims.
  std::vector<Fill> Fills() const;
  // Segments below are ready: something may be written to them.
  uint32_t provided() const;

  uint32_t segments() const { return segments_count_; }
  uint64_t segment_bytes() const { return uint64_t{1} << segment_shift_; }
  SegmentId SegmentAt(uint64_t offset) const { return SegmentId{static_cast<uint32_t>(offset >> segment_shift_)}; }
  uint64_t FirstRecord(SegmentId id) const;
  // End of the space taken; absolute.
  uint64_t Tail(SegmentId id) const {
    return (uint64_t{Raw(id)} << segment_shift_) + segment(id).tail.load(std::memory_order_acquire);
  }
  uint64_t Sequence(SegmentId id) const { return segment(id).sequence.load(std::memory_order_relaxed); }
  State state(SegmentId id) const { return StateOf(segment(id).control.load(std::memory_order_acquire)); }
  uint64_t pins(SegmentId id) const { return PinsOf(segment(id).control.load(std::memory_order_acquire)); }

  // The medium is ready for use up to `segments` segments from its start; at most segments(). Less than before:
  // nothing.
  void Provide(uint32_t segments);

  // For reading: false if the segment is neither open nor sealed.
  bool Pin(SegmentId id) {
    const uint64_t before = segment(id).control.fetch_add(kPin, std::memory_order_acquire);
    assert(PinsOf(before) < UINT32_MAX);
    const State seen = StateOf(before);
    if (seen == State::kOpen || seen == State::kSealed) [[likely]]
      return true;
    Unpin(id);
    return false;
  }
  void Unpin(SegmentId id) { Subtract(id, kPin); }

  // Takes `bytes` (a multiple of 64) from the open segment of `lane`. Empty: the lane has no segment with that much
  // room; the caller opens one with Advance.
  std::optional<Reservation> Reserve(unsigned lane, uint64_t bytes);
  // The record is written, and published if it was to be.
  void Leave(const Reservation& where) { Subtract(where.segment, kWriter | kPin); }
  unsigned lanes() const { return lanes_; }  // the last one is for the proven: survivors of reclaim among them
  unsigned proven_lane() const { return lanes_ - 1; }
  unsigned LaneOfThisThread() const;

  // A record that was packed with this dictionary is about to be published in a segment: it keeps the dictionary until
  // it is free. REQUIRES: the caller has space reserved in the segment, and holds the dictionary itself.
  void KeepDictionary(SegmentId id, uint16_t number);
  // Whether the segment keeps it, so that it may be used while the segment is pinned. REQUIRES: it is.
  bool KeepsDictionary(SegmentId id, uint16_t number) const;

  // Seals the lane's segment, if it still is the one that lacked room, and opens a free one. Writers leave the last
  // free segment to reclaim. False: no segment to open, or no sequence for it.
  enum class For { kWriter, kReclaim };
  bool Advance(unsigned lane, uint64_t bytes, For whom);
  // Of now.
  LogPosition Position() const;
  // Seals what every lane has open, for a shrinking tier. Returns a number below that of every segment opened later.
  uint64_t SealAll();
  // No restart finds what lies in a segment with a lower sequence any more: none of these is written to any more, and
  // dictionaries whose records lie there are written anew. Two calls, with the superblock's change between them.
  void SealBelow(uint64_t sequence);
  void LeaveBehind(uint64_t sequence);
  // After a dictionary was written: LeaveBehind may not have seen it.
  void CheckDictionaryPlaces() { LeaveBehind(0); }
  // As Tombstones::EraseBelow, for where the superblock cannot say it: takes from each such segment the header, by
  // which a later life would know it. Also from those without records, whose last fill that life would find. Reads and
  // writes one line of each, from segment `from` on, and makes it durable. False: not all of it was stored.
  [[nodiscard]] bool EraseHeadersBelow(uint64_t sequence, uint32_t from = 0);

  // The next segment to reclaim; it leaves its queue. Empty: none that may be taken.
  //
  // Sealed segments stand in two queues, oldest first: young ones, filled by writers, and proven ones, filled by
  // reclaim with survivors and by writers with blocks that came back. While the young hold more than their share, the
  // oldest of them is next, else the oldest proven one: S3-FIFO (Yang et al., SOSP'23) with segments for objects, so
  // that blocks nobody asks for again leave after a fraction of a turn of the log and survivors get a whole one.
  //
  // Hollow segments stand in a queue of their own and go first: they cost least and yield most.
  //
  // A pinned segment is never taken while another will do, and then only if `pinned_too`: its records are to be
  // dropped, and it drains until its readers have gone. One with writers never is.
  struct Victim {
    std::optional<SegmentId> segment;
    Generation generation = Generation::kYoung;
    bool hollow = false;
    uint32_t skipped_pinned = 0;
    uint32_t sealed = 0;
  };
  Victim TakeVictim(bool pinned_too = false);
  // What becomes of a victim; until then it is sealed, readable, and in no queue. Nothing in the index points to it any
  // more: it is free now or when its last pin goes.
  void StartDraining(SegmentId id);
  // Or its records stay where they are, as the youngest of the proven. REQUIRES: it was one of them.
  void Requeue(SegmentId id);
  // `bytes` of the segment's records will not be asked for again and have left the index. Once that is most of it, it
  // is the next victim, whatever its generation: hollow. REQUIRES: pinned by the caller, so that it is this fill's.
  void NoteDead(SegmentId id, uint64_t bytes);
  // Frees what was drained and is unpinned by now.
  void CollectDrained();

  // NoteFault tells them too; so that they know it as well when quarantine leaves less than kSegmentsMin segments.
  // Where they have no limit, no segment is condemned. REQUIRES: nothing was provided.
  void TellFaultsTo(Faults* faults) { faults_ = faults; }
  // The segment is never used. REQUIRES: it is kUnready, and nothing was provided.
  void Quarantine(SegmentId id);
  // Something in the segment was whole in this life and is not any more. With the kFaultsOfSegmentMax-th it is
  // condemned. Takes no lock. REQUIRES: it is pinned by the caller, or the victim, or the caller's tombstones lie
  // there.
  void NoteFault(SegmentId id);
  // The memory there did not answer (bus_errors.h): the segment is condemned at once. Takes no lock, touches no memory
  // of the medium, and asks for no pin: it may be called in the middle of anything.
  void NoteBusError(uint64_t offset);
  uint64_t bus_errors() const { return bus_errors_.load(std::memory_order_relaxed); }
  bool HadFault(SegmentId id) const { return segment(id).faults.load(std::memory_order_relaxed) != 0; }
  bool HasCondemned() const { return condemned_.load(std::memory_order_relaxed); }  // to be looked at
  bool IsCondemned(SegmentId id) const {
    return segment(id).faults.load(std::memory_order_relaxed) >= log_rules::kFaultsOfSegmentMax;
  }
  // The next segment that was condemned, as TakeVictim(pinned_too) gives it: it is to be drained. Empty: there is none,
  // or it has writers, who leave soon, or it is the victim.
  std::optional<SegmentId> TakeCondemned();
  uint32_t quarantined_segments() const { return quarantined_count_.load(std::memory_order_relaxed); }
  // That may be in use at once.
  uint32_t usable_segments() const { return std::min(limit(), segments_count_ - quarantined_segments()); }
  // Segments wait to be reclaimed. One that TakeVictim(pinned_too) did not give has a writer, who leaves soon.
  bool HasSealed() const;

  // Walks the segment table.
  uint32_t PinnedSegments() const;

  // Share of the segments in use that the young may hold before they are reclaimed first.
  void SetYoungPercent(unsigned percent) { young_percent_.store(percent, std::memory_order_relaxed); }

  // Keeps all but `count` segments from use. Returns how many still have to be reclaimed for that; those that drain are
  // on their way. While some are left, writers keep a few free segments, so that no put waits for the whole of it.
  uint32_t LimitTo(uint32_t count);
  uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint32_t free_segments() const { return free_count_.load(std::memory_order_relaxed); }
  uint32_t hollow_segments() const { return hollow_count_.load(std::memory_order_relaxed); }
  uint32_t draining_segments() const { return draining_count_.load(std::memory_order_relaxed); }
  uint32_t unused_segments() const { return unused_count_.load(std::memory_order_relaxed); }  // hold no records

  // Await alone makes the list of those that it names, so its capacity does not change under us.
  uint64_t dram_bytes() const { return DramBytesFor(segments_count_) + awaiting_.capacity() * sizeof(SegmentId); }
  static uint64_t DramBytesFor(uint32_t segments);

  // REQUIRES: no other call runs. Appends what does not add up.
  void Audit(std::vector<std::string>* violations) const;

 private:
  struct alignas(kLineBytes) Segment {
    Atomic<uint64_t> control{0};   // state << 48 | writers << 32 | pins
    Atomic<uint64_t> tail{0};      // relative; grows by CAS while open
    Atomic<uint64_t> sequence{0};  // of this fill
    Atomic<uint64_t> dead{0};      // bytes of this fill that NoteDead told of; relaxed: whoever crosses the mark acts
    // A bit for each slot of Dictionaries of which this fill has records, and a hold on it. Set by KeepDictionary, by a
    // writer, before the first such record is published; all cleared, under mutex_, when the segment becomes free.
    Atomic<uint32_t> dictionaries{0};
    // That NoteFault told of, in this life of the log; or kUnreadable. Relaxed: who acts looks again.
    Atomic<uint32_t> faults{0};
    Generation hollow_of = Generation::kYoung;  // GUARDED_BY(mutex_): of one in hollow_
    bool adopted = false;  // of this fill; written while it is kUnready, kAwaiting or kFree, read under a pin
  };
  static constexpr unsigned kStateShift = 48;
  static constexpr uint64_t kPin = 1;
  static constexpr uint64_t kWriter = uint64_t{1} << 32;
  static constexpr uint64_t kNoSegment = UINT64_MAX;
  // Of `faults`: as many as NoteFault never counts.
  static constexpr uint32_t kUnreadable = 1u << 31;

  static State StateOf(uint64_t control) { return static_cast<State>(control >> kStateShift); }
  static uint64_t WritersOf(uint64_t control) { return control >> 32 & 0xffff; }
  static uint64_t PinsOf(uint64_t control) { return control & UINT32_MAX; }
  static constexpr uint64_t Unused(State state) { return static_cast<uint64_t>(state) << kStateShift; }

  Segment& segment(SegmentId id) { return segments_[Raw(id)]; }
  const Segment& segment(SegmentId id) const { return segments_[Raw(id)]; }
  uint64_t SegmentStart(SegmentId id) const;
  void Subtract(SegmentId id, uint64_t what) {
    const uint64_t before = segment(id).control.fetch_sub(what, std::memory_order_release);
    assert(PinsOf(before) >= PinsOf(what) && WritersOf(before) >= WritersOf(what));
    // A child may hold pins of its parent's, and perhaps its locks: it lets them be.
    if (before - what == Unused(State::kDraining) && guard_.InParent()) [[unlikely]]
      CollectDrained();
  }
  void Change(SegmentId id, State from, State to);
  void OpenLocked(SegmentId id, uint64_t sequence, Generation generation, State to);
  void GiveUpLocked(SegmentId id);
  std::optional<uint64_t> NextSequenceLocked();
  bool EraseHeaderBelow(SegmentId id, uint64_t sequence) const;
  template <typename IsLost>
  void LosePlacesIf(IsLost&& is_lost) const;
  void SealLocked(unsigned lane);
  void QuarantineLocked(SegmentId id);
  bool TakeFromQueueLocked(SegmentId id);
  void CollectLocked();
  uint32_t SurplusLocked() const;
  void ParkSurplusLocked();
  void UnparkLocked();
  uint64_t HollowBytes() const { return segment_bytes() * log_rules::kHollowPercent / 100; }
  enum class At : uint8_t { kEnd, kBegin };
  void QueueLocked(SegmentId id, Generation generation, At at = At::kEnd);
  bool MayTake(SegmentId id, bool pinned_too) const;
  void TakeHollowLocked(bool pinned_too, Victim* victim);
  void ReleaseDictionariesLocked(SegmentId id);
  void TakeLocked(Generation generation, bool pinned_too, Victim* victim);
  void CountLocked();

  const Medium& medium_;
  const ForkGuard& guard_;
  const unsigned segment_shift_;
  const uint32_t segments_count_;
  const uint64_t format_id_;
  Counters* const counters_;
  Dictionaries* const dictionaries_;
  uint64_t left_behind_ = 0;  // guarded by mutex_: the highest of LeaveBehind
  Faults* faults_ = nullptr;
  unsigned lanes_;
  std::unique_ptr<Segment[]> segments_;

  struct alignas(kLineBytes) Lane {
    Atomic<uint64_t> open{kNoSegment};  // number of the segment appended to; stored under mutex_
  };
  std::unique_ptr<Lane[]> lane_;

  mutable Mutex mutex_;
  // The lists have their full capacity from the start: no allocation later.
  std::vector<SegmentId> free_;                       // GUARDED_BY(mutex_), a stack
  SegmentQueue young_, proven_, hollow_;              // GUARDED_BY(mutex_), oldest first
  std::vector<SegmentId> draining_;                   // GUARDED_BY(mutex_)
  std::vector<SegmentId> parked_;                     // GUARDED_BY(mutex_)
  std::vector<SegmentId> awaiting_;                   // GUARDED_BY(mutex_), oldest first
  bool keeps_awaiting_ = false;                       // GUARDED_BY(mutex_)
  uint64_t next_sequence_ = 1;                        // GUARDED_BY(mutex_)
  uint64_t sequences_end_ = UINT64_MAX;               // GUARDED_BY(mutex_): the next one asks reserve_
  std::function<std::optional<uint64_t>()> reserve_;  // may be empty
  uint64_t sequences_at_once_ = 0;
  uint32_t provided_ = 0;            // GUARDED_BY(mutex_): segments below are ready, grows
  uint32_t unready_;                 // GUARDED_BY(mutex_): segments that are kUnready
  uint32_t tombstone_segments_ = 0;  // GUARDED_BY(mutex_)
  Atomic<uint64_t> bus_errors_{0};   // relaxed: a count
  Atomic<uint32_t> limit_;           // stored under mutex_, as are the counts below; read anywhere, relaxed: hints
  Atomic<uint32_t> young_percent_{kYoungPercentDefault};  // relaxed: the next victim may be chosen by the old one
  Atomic<uint32_t> free_count_{0}, hollow_count_{0}, draining_count_{0}, unused_count_{0}, quarantined_count_{0};
  // false --NoteFault: a segment was condemned--> true --TakeCondemned, before it looks--> false. Who finds one that it
  // must leave sets it again.
  Atomic<bool> condemned_{false};
};

}  // namespace mezz
