// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "cache/segment_log.h"

namespace mezz {

// Which segments may be given up while nobody has named the shares of a log: before they are added, or after they were
// removed. A share keeps what it had reserved when it opened the youngest of its segments.
class ReservedFills {
 public:
  // `fills` are all segments of the log that have records. May throw std::bad_alloc.
  ReservedFills(const SegmentLog& log, std::span<const SegmentLog::Fill> fills);
  // Gives one of them up, and counts that. False: its share has no more than its reserve.
  bool GiveUp(SegmentId id);

 private:
  struct Share {
    uint64_t segments = 0, reserved = 0;
    uint64_t sequence = 0;  // of the youngest segment
  };
  const SegmentLog& log_;
  std::map<std::pair<uint64_t, Level>, Share> shares_;  // by tag; a reserve is of each level
};

}  // namespace mezz
