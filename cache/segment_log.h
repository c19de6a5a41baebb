// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cache/counters.h"
#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/types.h"

namespace mezz {

// The medium as a log of segments: who may append, who may read, what is free.
//
// Each segment has one control word, state and pins together, so that every step is one atomic operation and all steps
// of a segment have one order:
//
//   kFree --Open: add, under mutex_--> kOpen --Seal: add, under mutex_--> kSealed
//     ^ ^                                                                   | StartDraining: add, under mutex_
//     | +---- Unpark, Park: add, under mutex_ ----> kParked                 v
//     +------------- FreeIfUnpinned: CAS from (kDraining, 0 pins) ------ kDraining
//
// Pin: fetch_add(1, acquire), good only if the state it saw was kOpen or kSealed, else taken back. So a pin taken
// before StartDraining is seen by it and keeps the segment from kFree; one taken after it fails. A failed pin may show
// for a moment in any state: FreeIfUnpinned then tries again later, the other steps add to the state and leave pins
// alone. Unpin: fetch_sub(1, release), so that FreeIfUnpinned (acquire) comes after the last read.
//
// Appending: a writer pins an open segment, checks that it is still kOpen, and takes space by CAS on `tail`. A segment
// is drained only after it was seen sealed with no pins: from then on no writer can be in it, because a writer that
// pins a sealed segment backs off. Space once taken always gets a record header, if only a void one, before the pin
// goes: whoever walks a sealed, once unpinned segment finds header after header up to the tail.
class SegmentLog {
 public:
  enum class State : uint64_t { kFree, kOpen, kSealed, kDraining, kParked };

  // Space taken in an open segment, which stays pinned until Unpin.
  struct Reservation {
    SegmentId segment{};
    uint64_t offset = 0;  // from the start of the medium
    uint32_t sequence = 0;
  };

  SegmentLog(const Medium& medium, uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t format_id,
             Counters* counters);

  uint32_t segments() const { return segments_count_; }
  uint64_t segment_bytes() const { return uint64_t{1} << segment_shift_; }
  SegmentId SegmentAt(uint64_t offset) const { return SegmentId{static_cast<uint32_t>(offset >> segment_shift_)}; }
  uint64_t FirstRecord(SegmentId id) const;
  uint64_t Tail(SegmentId id) const;  // end of the space taken; absolute
  uint64_t Sequence(SegmentId id) const { return segment(id).sequence.load(std::memory_order_relaxed); }
  State state(SegmentId id) const { return StateOf(segment(id).control.load(std::memory_order_acquire)); }
  uint64_t pins(SegmentId id) const { return PinsOf(segment(id).control.load(std::memory_order_acquire)); }

  // For reading: false if the segment is neither open nor sealed.
  bool Pin(SegmentId id);
  void Unpin(SegmentId id) { segment(id).control.fetch_sub(1, std::memory_order_release); }

  // Takes `bytes` (a multiple of 64) from the open segment of `lane`. Empty: the lane has no segment with that much
  // room; the caller opens one with Advance.
  std::optional<Reservation> Reserve(unsigned lane, uint64_t bytes);
  unsigned lanes() const { return lanes_; }  // the last one is for the proven: survivors of reclaim among them
  unsigned proven_lane() const { return lanes_ - 1; }
  unsigned LaneOfThisThread() const;

  // Seals the lane's segment, if it still is the one that lacked room, and opens a free one. Writers leave the last
  // free segment to reclaim. False: no segment to open.
  enum class For { kWriter, kReclaim };
  bool Advance(unsigned lane, uint64_t bytes, For whom);
  // Seals what every lane has open, for a shrinking tier.
  void SealAll();

  // The next segment to reclaim; it leaves its queue. Empty: none without pins.
  //
  // Sealed segments stand in two queues, oldest first: young ones, filled by writers, and proven ones, filled by
  // reclaim with survivors and by writers with blocks that came back. While the young hold more than their share, the
  // oldest of them is next, else the oldest proven one: S3-FIFO (Yang et al., SOSP'23) with segments for objects, so
  // that blocks nobody asks for again leave after a fraction of a turn of the log and survivors get a whole one.
  struct Victim {
    std::optional<SegmentId> segment;
    Generation generation = Generation::kYoung;
    uint32_t skipped_pinned = 0;
    uint32_t sealed = 0;
  };
  Victim TakeVictim();
  // Nothing in the index points here any more: free now or when the last pin goes.
  void StartDraining(SegmentId id);
  // Frees what was drained and is unpinned by now.
  void CollectDrained();

  // Walks the segment table.
  uint32_t PinnedSegments() const;

  // Share of the segments in use that the young may hold before they are reclaimed first.
  void SetYoungPercent(unsigned percent) { young_percent_.store(percent, std::memory_order_relaxed); }

  // Keeps all but `count` segments from use. Returns how many still have to be given up (reclaimed) for that.
  uint32_t LimitTo(uint32_t count);
  uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint32_t free_segments() const { return free_count_.load(std::memory_order_relaxed); }
  uint32_t draining_segments() const { return draining_count_.load(std::memory_order_relaxed); }
  uint32_t parked_segments() const { return parked_count_.load(std::memory_order_relaxed); }

  uint64_t dram_bytes() const;

  // REQUIRES: no other call runs. Appends what does not add up.
  void Audit(std::vector<std::string>* violations) const;

 private:
  struct alignas(kLineBytes) Segment {
    std::atomic<uint64_t> control{0};   // state << 32 | pins
    std::atomic<uint64_t> tail{0};      // relative; grows by CAS while open
    std::atomic<uint64_t> sequence{0};  // of this fill
  };
  static constexpr unsigned kStateShift = 32;
  static constexpr uint64_t kNoSegment = UINT64_MAX;

  static State StateOf(uint64_t control) { return static_cast<State>(control >> kStateShift); }
  static uint64_t PinsOf(uint64_t control) { return control & UINT32_MAX; }

  Segment& segment(SegmentId id) { return segments_[Raw(id)]; }
  const Segment& segment(SegmentId id) const { return segments_[Raw(id)]; }
  uint64_t SegmentStart(SegmentId id) const;
  void Change(SegmentId id, State from, State to);
  void OpenLocked(SegmentId id);
  void SealLocked(unsigned lane);
  void ParkSurplusLocked();
  void TakeUnpinnedLocked(Generation generation, Victim* victim);

  const Medium& medium_;
  const unsigned segment_shift_;
  const uint32_t segments_count_;
  const uint64_t format_id_;
  Counters* const counters_;
  unsigned lanes_;
  std::unique_ptr<Segment[]> segments_;

  struct alignas(kLineBytes) Lane {
    std::atomic<uint64_t> open{kNoSegment};  // number of the segment appended to; stored under mutex_
  };
  std::unique_ptr<Lane[]> lane_;

  mutable std::mutex mutex_;
  // The lists have their full capacity from the start: no allocation later.
  std::vector<SegmentId> free_;      // GUARDED_BY(mutex_), a stack
  std::vector<SegmentId> young_;     // GUARDED_BY(mutex_), oldest first
  std::vector<SegmentId> proven_;    // GUARDED_BY(mutex_), oldest first
  std::vector<SegmentId> draining_;  // GUARDED_BY(mutex_)
  std::vector<SegmentId> parked_;    // GUARDED_BY(mutex_)
  uint64_t next_sequence_ = 1;       // GUARDED_BY(mutex_)
  std::atomic<uint32_t> limit_;      // stored under mutex_, as are the counts below; read anywhere, relaxed: hints
  std::atomic<uint32_t> young_percent_{kYoungPercentDefault};  // relaxed: the next victim may be chosen by the old one
  std::atomic<uint32_t> free_count_{0}, draining_count_{0}, parked_count_{0};
};

}  // namespace mezz
