// SPDX-License-Identifier: Apache-2.0
#include "cache/reserved_fills.h"

#include "cache/shares.h"

namespace mezz {

ReservedFills::ReservedFills(const SegmentLog& log, std::span<const SegmentLog::Fill> fills) : log_(log) {
  for (const SegmentLog::Fill& fill : fills) {
    const SegmentHeaders::Owner owner = log.headers().ReadOwner(fill.segment);
    if (owner.tag == 0) continue;
    const Level level = log.LevelOf(fill.segment);
    Share& share = shares_[{owner.tag, level}];
    ++share.segments;
    if (fill.sequence < share.sequence) continue;
    share.sequence = fill.sequence;
    share.reserved = PercentOf(log.space().usable_segments(level), owner.reserved_percent);
  }
}

bool ReservedFills::GiveUp(SegmentId id) {
  const auto found = shares_.find({log_.headers().ReadOwner(id).tag, log_.LevelOf(id)});
  if (found == shares_.end()) return true;
  Share& share = found->second;
  if (share.segments <= share.reserved) return false;
  --share.segments;
  return true;
}

}  // namespace mezz
