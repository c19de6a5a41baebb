// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/kept_dictionaries.h"
#include "cache/log_parts.h"
#include "cache/log_space.h"
#include "cache/segment_fill.h"
#include "cache/segment_headers.h"
#include "cache/types.h"

namespace mezz {

// The segments that an earlier life filled, and whose records are not in the index yet. The recovery adopts them, the
// youngest first, while writers, readers and reclaim run. Until then they go before all others when room is needed, the
// oldest first and unread.
//
// Thread-safe. The log's mutex guards the list.
class AwaitingSegments {
 public:
  // None is owned.
  AwaitingSegments(LogParts* parts, const SegmentHeaders* headers, KeptDictionaries* dictionaries, LogSpace* space)
      : parts_(*parts), headers_(*headers), dictionaries_(*dictionaries), space_(*space) {}

  // Tells what an earlier life filled, oldest first. With `keep` these segments do not go before LetGo, and each is
  // pinned as by Pin. REQUIRES: nothing was provided. Call it once.
  void Await(std::span<const SegmentFill> fills, bool keep);
  void LetGo();
  // Sorts the segments by age, if Await was given them in another order. REQUIRES: before LetGo.
  void Order();

  // Pins a segment so that its bytes can be read. False: it is not awaiting any more. Follow it by SegmentLog::Unpin,
  // or Adopt.
  bool Pin(SegmentId id);
  // Whether the segment is still awaiting: nobody gave it up before this call.
  bool Has(SegmentId id) const;
  bool HasAny() const;
  // Adopts a segment, which is sealed from now on. True: the pin is now that of a writer, which must Leave. False: the
  // segment was given up, or has no records, or its share is full. REQUIRES: it is pinned by Pin, and the segments
  // adopted before are younger.
  bool Adopt(const SegmentFill& fill);

  // Gives up the oldest segment of the level that may go. It is free now, or when its last pin goes. Unless
  // `pinned_too`, it must not be pinned, its medium must be ready, and its share must have more than its reserve,
  // awaiting segments included. False: there is none.
  bool GiveUpOldest(bool pinned_too, Level level = Level::kFast);
  void GiveUpAll();
  // Gives up those for which judge(id) is true. LogSpace::CollectLocked follows.
  template <typename Judge>
  void GiveUpIfLocked(Judge&& judge) {
    std::erase_if(awaiting_, [&](SegmentId id) {
      if (!judge(id)) return false;
      GiveUpLocked(id);
      return true;
    });
  }

  bool HasAnyLocked(Level level) const;
  const std::vector<SegmentId>& ListLocked() const { return awaiting_; }
  // Only Await allocates.
  uint64_t dram_bytes() const { return awaiting_.capacity() * sizeof(SegmentId); }

 private:
  using State = SegmentTable::State;

  void GiveUpLocked(SegmentId id);
  bool IsReservedLocked(SegmentId id) const;

  LogParts& parts_;
  const SegmentHeaders& headers_;
  KeptDictionaries& dictionaries_;
  LogSpace& space_;
  std::vector<SegmentId> awaiting_;  // oldest first
  bool keeps_ = false;
};

}  // namespace mezz
