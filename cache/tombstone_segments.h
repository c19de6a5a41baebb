// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cache/log_parts.h"
#include "cache/log_sequences.h"
#include "cache/log_space.h"
#include "cache/segment_headers.h"
#include "cache/types.h"

namespace mezz {

// The segments of a log that hold tombstones in place of records. They stand in no list: Tombstones, which opened or
// adopted them, alone writes to them, and says when they may go.
//
// Thread-safe.
class TombstoneSegments {
 public:
  // None is owned.
  TombstoneSegments(LogParts* parts, LogSequences* sequences, SegmentHeaders* headers, LogSpace* space)
      : parts_(*parts), sequences_(*sequences), headers_(*headers), space_(*space) {}

  // Tells that what lies on the slow media does not outlive this process. REQUIRES: nothing was provided.
  void TellSlowForgets() { slow_forgets_ = true; }

  // Takes a free segment with as low a number as possible. Empty: the only free one is reclaim's last, or there is no
  // sequence for it.
  std::optional<SegmentId> Open();
  // Takes one that an earlier life filled. REQUIRES: the segment was not provided.
  void Adopt(SegmentId id, uint64_t sequence);
  void Close(SegmentId id);

  uint32_t count() const;
  uint32_t CountLocked() const { return count_; }

 private:
  LogParts& parts_;
  LogSequences& sequences_;
  SegmentHeaders& headers_;
  LogSpace& space_;
  bool slow_forgets_ = false;  // set before there are other threads
  uint32_t count_ = 0;         // GUARDED_BY(parts_.mutex)
};

}  // namespace mezz
