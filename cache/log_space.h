// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/base/fork_guard.h"
#include "cache/faults.h"
#include "cache/kept_dictionaries.h"
#include "cache/log_parts.h"
#include "cache/log_rules.h"
#include "cache/segment_table.h"
#include "cache/types.h"

namespace mezz {

// How much of a log may be used: what is ready, what a limit or a withdrawal keeps from use, what is out of use for
// good, and what becomes free when its last reader has gone.
//
// Thread-safe. The counts are hints: each is stored under the log's mutex, and read without it.
class LogSpace {
 public:
  using State = SegmentTable::State;

  // Neither of them is owned. `guard` tells whether this is the process that opened the medium.
  LogSpace(LogParts* parts, KeptDictionaries* dictionaries, const ForkGuard& guard);

  // Makes the first `segments` segments of a medium free, but for those that hold something. False: that many were
  // ready before. ParkSurplusLocked is to follow.
  bool ProvideLocked(uint32_t segments, size_t member);
  // Whether the segment is ready to be written to.
  bool IsProvided(SegmentId id) const;

  // Keeps all but `count` segments from use, of each level in proportion. Returns how many segments must still be
  // reclaimed for that, without those that drain already. While some are left, writers keep a few free segments, so
  // that no put waits for all of it.
  uint32_t LimitTo(uint32_t count);
  // Whether segments of the level must be reclaimed for LimitTo.
  bool MustShrink(Level level) const;
  // Keeps all but the first `count` segments of one of several media from use: they are withdrawn. Those that hold
  // records are to be emptied (SegmentLog::TakeWithdrawn), and are then parked.
  void LimitMember(size_t member, uint32_t count);
  bool IsWithdrawn(SegmentId id) const { return parts_.members.IsWithdrawn(id); }
  // Whether withdrawn segments of the level are still to be emptied.
  bool HasWithdrawn(Level level) const;
  // How many of the first `count` segments of the medium can be used.
  uint32_t PresentOf(size_t member, uint32_t count) const;
  // Parks what is free beyond the limits, and frees what was parked for a lower one.
  void ParkSurplusLocked();

  // Takes a segment out of use for good. REQUIRES: it is kUnready, and nothing was provided.
  void Quarantine(SegmentId id);
  // The same of one that is kFree, and in no list.
  void QuarantineLocked(SegmentId id);
  // From now on `faults` is closed when quarantine leaves fewer than kSegmentsMin segments. It is not owned.
  void CloseIfTooFew(Faults* faults) { faults_ = faults; }

  // Lets a segment drain: it is free when its last pin has gone. REQUIRES: nothing in the index points to it any more;
  // CollectLocked follows.
  void DrainLocked(SegmentId id, State from) {
    parts_.table.Change(id, from, State::kDraining);
    draining_.push_back(id);
  }
  // Frees what drains and is not pinned any more. What is condemned is quarantined instead.
  void CollectLocked();
  // The same, by whoever releases the last pin of a draining segment. A forked child has copies of its parent's pins,
  // and perhaps of its locks, and leaves them alone.
  void CollectDrained();
  const std::vector<SegmentId>& DrainingLocked() const { return draining_; }
  // Of these, how many of the level are not withdrawn.
  uint32_t CountDrainingLocked(Level level) const;

  // How many segments may be in use at once.
  uint32_t usable_segments() const { return usable_segments(Level::kFast) + usable_segments(Level::kSlow); }
  uint32_t usable_segments(Level level) const { return parts_.level(level).usable(); }
  // Whether the level has segments enough to be written to.
  bool IsInUse(Level level) const { return usable_segments(level) >= log_rules::kSegmentsOfLevelMin; }
  uint32_t limit() const { return parts_.levels[0].limit() + parts_.levels[1].limit(); }
  uint32_t free_segments(Level level = Level::kFast) const { return parts_.level(level).free_count(); }
  uint32_t quarantined_segments() const { return parts_.levels[0].quarantined() + parts_.levels[1].quarantined(); }
  uint32_t unused_segments() const {  // hold no records
    return parts_.levels[0].unused_count() + parts_.levels[1].unused_count() + quarantined_segments();
  }
  uint32_t draining_segments() const;

 private:
  void SplitLimitLocked();
  void SetUsableLocked();
  uint32_t ToReclaimLocked(Level level) const;

  LogParts& parts_;
  KeptDictionaries& dictionaries_;
  const ForkGuard& guard_;
  Faults* faults_ = nullptr;         // set before there are other threads
  uint32_t limit_;                   // GUARDED_BY(parts_.mutex): as LimitTo was told
  std::vector<SegmentId> draining_;  // GUARDED_BY(parts_.mutex); has its capacity from the start
};

}  // namespace mezz
