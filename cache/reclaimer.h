// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cache/base/atomic.h"
#include "cache/segment_cleaner.h"
#include "cache/types.h"

namespace mezz {

// Reclaims segments by its cleaners (segment_cleaner.h), one for each level, under one mutex: decides when, how much,
// and for whom.
//
// The work is cut small: each Put pays for a little more than it wrote (Step). Only a put that finds no free segment
// finishes a whole victim (MakeRoom). Where that frees no segment, because survivors waste as much space as before,
// MakeRoom drops a victim whole.
//
// While a recovery goes on, segments that it has not reached yet go first, the oldest whole and unread: their records
// have no heat, and would go next (AwaitingSegments::GiveUpOldest).
//
// Segments whose memory failed go before all others, at the next put. Their records are not read again.
//
// Thread-safe. One thread at a time reclaims. Step returns if another thread reclaims; MakeRoom, ShrinkTo and
// EmptyWithdrawn wait for one victim at most, and for what its demotion takes on the slow level.
class Reclaimer {
 public:
  // All that the parts name must outlive this.
  explicit Reclaimer(const CleanerParts& parts);

  // Call it when `bytes` were appended for that share. Reclaims in proportion to them while free segments are few, or
  // the share is full, and quarantines condemned segments.
  void Step(uint64_t bytes, ShareId share = kNoShare);
  // Forgets the records of condemned segments, unread, and lets the segments drain. Does nothing while another thread
  // reclaims.
  void Quarantine();
  // Call it after a record was published. Splits a group or two of an index that is to grow, unless another thread
  // reclaims: it needs the mutex, because reclaim must find the words that Split moves.
  void GrowIndex();
  // Sets how many percent of a proven victim's records must be hot for it to be queued again. 0, until it is set:
  // never. Relaxed: the next victim may be judged by the old value.
  void SetRequeuePercent(unsigned percent) {
    for (SegmentCleaner* const cleaner : {&fast_, &slow_}) cleaner->SetRequeuePercent(percent);
  }

  // Tells that the DRAM tier is about to go. From now on records whose blocks it holds are spared instead of dropped.
  // Relaxed: a record that is judged meanwhile may still be dropped.
  void SpareDram() {
    for (SegmentCleaner* const cleaner : {&fast_, &slow_}) cleaner->SpareDram();
  }

  // Runs `change` while no record is being moved. Waits for the step of another thread, or for its victim. Allocates
  // nothing, whatever `change` holds.
  template <typename Change>
  void WhileNothingMoves(Change&& change) {
    RunWhileNothingMoves(std::ref(change));
  }

  // Reclaims until a writer of that share can open a segment. False: all that may be taken is pinned, or nothing is
  // left.
  bool MakeRoom(ShareId share = kNoShare);
  // Reclaims without sparing any record, until at most `segments` are in use or drain. The records of pinned segments
  // are forgotten now; their space is free when the last pin goes. Other threads may reclaim between two victims.
  void ShrinkTo(uint32_t segments);

  // Empties the segments that LogSpace::LimitMember withdrew: what they hold moves elsewhere, as
  // SegmentCleaner::Mode::kMove says. Waits as ShrinkTo does. When it returns none of them has a record that the index
  // names. Pinned ones drain until they are released.
  void EmptyWithdrawn();

  // Whether pins kept the last search for a victim from more than a quarter of the segments of its level. Under
  // pressure every 1024th call counts the pins again: without writes nothing is reclaimed, and the pressure would
  // outlive the pins.
  bool PinPressure();

  // The most records that were settled in one stay under the mutex since the last call: a measure of how long others
  // may have waited.
  uint64_t TakeLongestStay() { return longest_stay_.exchange(0, std::memory_order_relaxed); }

 private:
  using Mode = SegmentCleaner::Mode;
  class Stay;

  void RunWhileNothingMoves(const std::function<void()>& change);
  SegmentCleaner& CleanerOf(Level level) { return level == Level::kFast ? fast_ : slow_; }
  bool HasWithdrawn(Level level);
  bool MakeRoomToMove(Level level);
  void LetOthersIn(bool worked);
  void QuarantineLocked();
  void QuarantineLocked(std::span<const SegmentId> segments);

  const CleanerParts parts_;
  Mutex mutex_;
  SegmentCleaner slow_, fast_;  // GUARDED_BY(mutex_), but for what they say of it
  // All of these are relaxed: they are hints and a figure, and publish nothing.
  Atomic<uint32_t> waiting_{0};  // threads that want mutex_ to make room
  Atomic<uint32_t> asked_under_pressure_{0};
  Atomic<uint64_t> longest_stay_{0};
};

}  // namespace mezz
