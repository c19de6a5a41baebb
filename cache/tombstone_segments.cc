// SPDX-License-Identifier: Apache-2.0
#include "cache/tombstone_segments.h"

#include <cassert>
#include <mutex>
#include <utility>

namespace mezz {

// Prefers the slow level as long as it has room, memory that has not failed yet, and then low numbers, so that a medium
// that is made smaller keeps the segment. Tombstones that a medium forgets cost the next life all that it remembers.
std::optional<SegmentId> TombstoneSegments::Open() {
  const std::lock_guard lock(parts_.mutex);
  LogLevel &fast_level = parts_.levels[0], &slow_level = parts_.levels[1];
  const bool fast = fast_level.free() > 1 && (slow_forgets_ || slow_level.free() <= slow_level.size() / 4);
  LogLevel& level = fast || slow_level.free() <= 1 ? fast_level : slow_level;
  if (level.free() <= 1) return std::nullopt;
  const auto sequence = sequences_.TakeLocked();
  if (!sequence) return std::nullopt;
  const auto rule = [this](SegmentId free) { return std::pair(parts_.table.HadFault(free), Raw(free)); };
  const SegmentId id = level.TakeFreeBy(rule);
  headers_.OpenLocked(id, *sequence, Generation::kYoung, kNoShare, SegmentTable::State::kTombstones);
  ++count_;
  return id;
}

void TombstoneSegments::Adopt(SegmentId id, uint64_t sequence) {
  const std::lock_guard lock(parts_.mutex);
  assert(!parts_.members.IsReady(id));
  parts_.table[id].sequence.store(sequence, std::memory_order_relaxed);
  parts_.table.Change(id, SegmentTable::State::kUnready, SegmentTable::State::kTombstones);
  parts_.LevelHolding(id).NoteReady();
  ++count_;
}

void TombstoneSegments::Close(SegmentId id) {
  const std::lock_guard lock(parts_.mutex);
  assert(count_ > 0);
  --count_;
  space_.DrainLocked(id, SegmentTable::State::kTombstones);
  space_.CollectLocked();
}

uint32_t TombstoneSegments::count() const {
  const std::lock_guard lock(parts_.mutex);
  return count_;
}

}  // namespace mezz
