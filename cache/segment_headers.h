// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/log_parts.h"
#include "cache/media/medium.h"
#include "cache/segment_table.h"
#include "cache/types.h"

namespace mezz {

// The headers of a log's segments on the medium. A header says which fill its segment has and whose that is. What has
// none, no later life finds.
//
// A header is written under the log's mutex, before the segment's state lets others see the fill.
class SegmentHeaders {
 public:
  // `parts` is not owned.
  SegmentHeaders(LogParts* parts, uint64_t format_id) : parts_(*parts), format_id_(format_id) {}

  // Begins a fill of a segment that is kFree, and in no list: writes its header, and makes it `to`, kOpen or
  // kTombstones, in one step. If a segment of tombstones were kOpen first, a late writer that takes it for its lane's
  // segment would reserve space there.
  void OpenLocked(SegmentId id, uint64_t sequence, Generation generation, ShareId share, SegmentTable::State to);

  // What the header of a segment with records says of its share, whether that was added or not. REQUIRES: this life
  // opened it, or the recovery has confirmed it.
  struct Owner {
    uint64_t tag = 0;  // 0: no share's
    uint8_t reserved_percent = 0;
  };
  Owner ReadOwner(SegmentId id) const;

  // Does what Tombstones::EraseBelow does, where the superblock cannot be written: it erases the header of each segment
  // with a lower sequence, so that a later life does not find it. Segments without records are included, as that life
  // would find their last fill. Reads and writes one line of each segment from `from` on, and makes it durable. False:
  // not all of it was stored.
  [[nodiscard]] bool EraseBelow(uint64_t sequence, uint32_t from = 0);
  // Erases the header at that offset. False: there may still be one.
  [[nodiscard]] static bool Erase(const Medium& medium, uint64_t at);

 private:
  bool EraseOneBelow(SegmentId id, uint64_t sequence) const;

  LogParts& parts_;
  const uint64_t format_id_;
};

}  // namespace mezz
