// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/lanes.h"
#include "cache/layout.h"
#include "cache/log_level.h"
#include "cache/log_members.h"
#include "cache/log_rules.h"
#include "cache/media/medium.h"
#include "cache/segment_table.h"
#include "cache/shares.h"
#include "cache/types.h"

namespace mezz {

// What the rooms of a log share: where its segments lie, in which state each is, and where those stand that can be
// taken. SegmentLog owns it, and each room changes its part.
//
// One mutex guards all of it, as each state has one author at a time. A room's function takes the mutex itself, unless
// its name ends in Locked. What is read without it, each part says.
struct LogParts {
  // As for SegmentLog. None is owned.
  LogParts(const Medium& of, uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t slow_begin, Counters* count)
      : medium(of),
        counters(count),
        segment_shift(static_cast<unsigned>(std::countr_zero(segment_bytes))),
        segments(static_cast<uint32_t>(capacity_bytes / segment_bytes)),
        fast_segments(static_cast<uint32_t>(std::min<uint64_t>(slow_begin / segment_bytes, segments))),
        table(segments),
        members(of, segment_bytes, segments),
        shares({fast_segments, segments - fast_segments}),
        levels{MakeLevel(Level::kFast, 0, fast_segments), MakeLevel(Level::kSlow, fast_segments, segments)},
        lanes(&table, &levels) {
    assert(std::has_single_bit(segment_bytes) && fast_segments != 0);
  }

  uint64_t segment_bytes() const { return uint64_t{1} << segment_shift; }
  SegmentId SegmentAt(uint64_t offset) const { return SegmentId{static_cast<uint32_t>(offset >> segment_shift)}; }
  // Where the segment begins, and where its header lies: one that its medium begins with has a superblock before it.
  uint64_t BeginOf(SegmentId id) const { return uint64_t{Raw(id)} << segment_shift; }
  uint64_t HeaderOf(SegmentId id) const { return BeginOf(id) + (members.Begins(id) ? layout::kSuperblockSpace : 0); }
  uint64_t FirstRecord(SegmentId id) const { return HeaderOf(id) + sizeof(layout::SegmentHeader); }

  bool has_slow() const { return fast_segments < segments; }
  Level LevelOf(SegmentId id) const { return Raw(id) < fast_segments ? Level::kFast : Level::kSlow; }
  LogLevel& level(Level level) { return levels[static_cast<size_t>(level)]; }
  const LogLevel& level(Level level) const { return levels[static_cast<size_t>(level)]; }
  LogLevel& LevelHolding(SegmentId id) { return level(LevelOf(id)); }
  Level LevelOfMember(size_t member) const { return LevelOf(SegmentId{members.begin(member)}); }
  uint64_t SequenceOf(SegmentId id) const { return table[id].sequence.load(std::memory_order_relaxed); }
  ShareId ShareOf(SegmentId id) const { return table[id].share.load(std::memory_order_relaxed); }

  // Gives a segment to a share. REQUIRES: no share counts it.
  void GiveToLocked(SegmentId id, ShareId share, uint64_t tag) {
    table[id].share.store(share, std::memory_order_relaxed);
    table[id].share_tag = tag;
    shares.NoteHeld(share, LevelOf(id), 1);
  }

  const Medium& medium;
  Counters* const counters;
  const unsigned segment_shift;
  const uint32_t segments;
  const uint32_t fast_segments;  // all, if the media are not ordered
  SegmentTable table;
  LogMembers members;
  Shares shares;
  std::array<LogLevel, kLevels> levels;
  Lanes lanes;
  mutable Mutex mutex;

 private:
  LogLevel MakeLevel(Level level, uint32_t begin, uint32_t end) {
    return {level, begin, end, log_rules::SparseBytes(segment_bytes()), &table, &members, &shares, counters};
  }
};

}  // namespace mezz
