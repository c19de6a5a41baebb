// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/log_parts.h"
#include "cache/segment_headers.h"
#include "cache/shares.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

// Whose the segments of a log are. Shares are added, changed and removed here, as what lies on the medium follows: a
// share that is added gets the segments that an earlier life, or the share before its removal, left of its name.
//
// Thread-safe.
class SegmentOwners {
 public:
  // Neither is owned.
  SegmentOwners(LogParts* parts, const SegmentHeaders* headers) : parts_(*parts), headers_(*headers) {}

  // Shares.Add, Change and Remove.
  Status AddShare(std::string_view name, const ShareLimits& limits, ShareId* id);
  Status ChangeShare(ShareId id, const ShareLimits& limits);
  void RemoveShare(ShareId id);

  // In segments, of all levels. `held` are those with records; `max` is what may be in use at once if there is no
  // limit.
  struct Use {
    uint32_t held = 0, reserved = 0, max = 0;
  };
  Use UseOf(ShareId id) const;
  // The segments that it holds of the level. A hint, as all that follows.
  uint32_t HeldBy(ShareId id, Level level) const { return parts_.shares.held(id, level); }
  // Whether the share must give up a segment of the level before it gets another.
  bool IsFull(ShareId id, Level level = Level::kFast) const { return parts_.shares.IsFull(id, level); }
  // Whether the segment's records are within the reserve of its share, so that nobody else's may take their place.
  bool IsReserved(SegmentId id) const {
    const ShareId share = parts_.ShareOf(id);
    return share != kNoShare && !parts_.shares.MayLose(share, parts_.LevelOf(id));
  }

 private:
  void TagAwaitingLocked();

  LogParts& parts_;
  const SegmentHeaders& headers_;
  bool awaiting_tagged_ = false;  // GUARDED_BY(parts_.mutex): whose awaiting segments are is known
};

}  // namespace mezz
