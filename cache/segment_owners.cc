// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_owners.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace mezz {

Status SegmentOwners::AddShare(std::string_view name, const ShareLimits& limits, ShareId* id) {
  const std::lock_guard lock(parts_.mutex);
  MEZZ_RETURN_IF_ERROR(parts_.shares.Add(name, limits, id));
  TagAwaitingLocked();
  for (uint32_t i = 0; i < parts_.segments; ++i) {
    const SegmentId segment{i};
    const SegmentTable::State state = parts_.table.state(segment);
    if (parts_.table[segment].share_tag != parts_.shares.tag(*id)) continue;
    if (state == SegmentTable::State::kAwaiting) parts_.table[segment].share.store(*id, std::memory_order_relaxed);
    if (state != SegmentTable::State::kOpen && state != SegmentTable::State::kSealed) continue;
    parts_.shares.NoteHeld(parts_.ShareOf(segment), parts_.LevelOf(segment), -1);
    parts_.GiveToLocked(segment, *id, parts_.table[segment].share_tag);
  }
  return Status::Ok();
}

Status SegmentOwners::ChangeShare(ShareId id, const ShareLimits& limits) {
  const std::lock_guard lock(parts_.mutex);
  return parts_.shares.Change(id, limits);
}

// Nobody writes to its segments any more, so they must be where reclaim looks.
void SegmentOwners::RemoveShare(ShareId id) {
  const std::lock_guard lock(parts_.mutex);
  parts_.shares.Remove(id);
  parts_.lanes.SealIf([&](unsigned lane, SegmentId) { return parts_.lanes.ShareOf(lane) == id; });
}

// Finds out whose the awaiting segments are. Only tiers with shares pay for it, once.
void SegmentOwners::TagAwaitingLocked() {
  if (std::exchange(awaiting_tagged_, true)) return;
  for (uint32_t i = 0; i < parts_.segments; ++i) {
    if (parts_.table.state(SegmentId{i}) != SegmentTable::State::kAwaiting) continue;
    parts_.table[SegmentId{i}].share_tag = headers_.ReadOwner(SegmentId{i}).tag;
    parts_.table[SegmentId{i}].share.store(kNoShare, std::memory_order_relaxed);
  }
}

SegmentOwners::Use SegmentOwners::UseOf(ShareId id) const {
  const std::lock_guard lock(parts_.mutex);
  Use use;
  for (const Level level : {Level::kFast, Level::kSlow}) {
    use.held += parts_.shares.held(id, level);
    // What a removed share left is the rest's.
    for (unsigned i = 1; id == kNoShare && i <= parts_.shares.count(); ++i) {
      const auto other = static_cast<ShareId>(i);
      use.held += parts_.shares.IsAdded(other) ? 0 : parts_.shares.held(other, level);
    }
    use.reserved += parts_.shares.reserved(id, level);
    use.max += std::min(parts_.shares.max(id, level), parts_.level(level).usable());
  }
  return use;
}

}  // namespace mezz
