// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/awaiting_segments.h"
#include "cache/base/atomic.h"
#include "cache/faults.h"
#include "cache/log_parts.h"
#include "cache/log_space.h"
#include "cache/types.h"

namespace mezz {

// Where the memory of a log failed. A segment whose memory fails too often is condemned, and so are all of a medium
// that is left out: reclaim forgets their records unread, and what held none is quarantined at once.
//
// Thread-safe. What tells of a fault takes no lock, so it may be called wherever one is found.
class SegmentFaults {
 public:
  // None is owned.
  SegmentFaults(LogParts* parts, LogSpace* space, AwaitingSegments* awaiting)
      : parts_(*parts), space_(*space), awaiting_(*awaiting) {}

  // From now on `faults` is told of each fault, and closed when quarantine leaves fewer than kSegmentsMin segments. If
  // it has no limit, no segment is condemned. It is not owned. `member_faults_max`: after so many faults one of several
  // media is left out; 0: never. REQUIRES: nothing was provided.
  void TellTo(Faults* faults, uint32_t member_faults_max = 0) {
    faults_ = faults;
    member_faults_max_ = member_faults_max;
    space_.CloseIfTooFew(faults);
  }

  // Tells that something in the segment was whole in this life and is not any more. The kFaultsOfSegmentMax-th such
  // call condemns the segment. Takes no lock. REQUIRES: the caller has the segment pinned, or it is the victim, or the
  // caller's tombstones lie there.
  void Note(SegmentId id);
  // Tells that the memory there failed with a bus error (bus_errors.h): the segment is condemned at once. Takes no
  // lock, touches no memory of the medium and needs no pin, so it may be called at any point.
  void NoteBusError(uint64_t offset);
  uint64_t bus_errors() const { return bus_errors_.load(std::memory_order_relaxed); }
  // Whether any was told of in this life.
  bool HadOne(SegmentId id) const { return parts_.table.HadFault(id); }
  bool IsCondemned(SegmentId id) const { return parts_.table.IsCondemned(id); }

  // Leaves media out, of several (a bit each): all their segments are condemned. Takes no lock.
  void LeaveOut(uint32_t members);
  // The same of those that are out from the start. REQUIRES: nothing was provided.
  void BeginWithout(uint32_t members);

  // A hint that TakeCondemned may find one.
  bool HasCondemned() const { return condemned_.load(std::memory_order_relaxed); }
  // The condemned segments, as SegmentLog::TakeVictim(pinned_too) would give them; they are to be drained. Not among
  // them are those that have writers, which leave soon, and the victim.
  std::vector<SegmentId> TakeCondemned();
  // Takes out of use what holds no known records, of media that were left out.
  void QuarantineUnusedLocked();

 private:
  using State = SegmentTable::State;
  // A value of a segment's faults that Note never counts to: its memory, or its medium, is not used any more.
  static constexpr uint32_t kUnreadable = 1u << 31;

  void Count(SegmentId id);
  void NoteLost(uint32_t members);

  LogParts& parts_;
  LogSpace& space_;
  AwaitingSegments& awaiting_;
  Faults* faults_ = nullptr;  // both are set before there are other threads
  uint32_t member_faults_max_ = 0;
  Atomic<uint64_t> bus_errors_{0};  // relaxed: a count
  // false --Note: a segment was condemned--> true --TakeCondemned, before it looks--> false. A thread that finds a
  // condemned segment and must leave it sets it again.
  Atomic<bool> condemned_{false};
};

}  // namespace mezz
