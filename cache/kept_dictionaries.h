// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/log_parts.h"
#include "cache/pack/dictionaries.h"
#include "cache/types.h"

namespace mezz {

// What a log's segments have to do with dictionaries. A segment keeps those that its records were packed with, each by
// one hold, until it is free. And the dictionary's own record lies in a segment: where that is lost, the dictionary
// loses its place, so that the trainer writes it anew.
//
// Thread-safe. The log's mutex guards what a segment lets go, and left_behind_.
class KeptDictionaries {
 public:
  // Neither is owned. `dictionaries` may be null where no record uses one.
  KeptDictionaries(LogParts* parts, Dictionaries* dictionaries) : parts_(*parts), dictionaries_(dictionaries) {}

  // Tells that a record packed with this dictionary is about to be published in the segment. The segment keeps the
  // dictionary until it is free. REQUIRES: the caller has space reserved in the segment, and holds the dictionary
  // itself.
  void Keep(SegmentId id, uint16_t number);
  // Whether the segment keeps the dictionary, so that it may be used while the segment is pinned. REQUIRES: the segment
  // is pinned.
  bool Keeps(SegmentId id, uint16_t number) const;
  // Lets go of all that the segment keeps. REQUIRES: it became free.
  void ReleaseLocked(SegmentId id);

  // Takes its place from the dictionary whose record lies in the segment, which is given up unread.
  void LosePlaceInLocked(SegmentId id);
  // Follows a change of the superblock after which no restart finds what lies in segments with a lower sequence
  // (SegmentLog::SealBelow comes before it): dictionaries whose records lie there are written anew.
  void LeaveBehind(uint64_t sequence);
  // Call it after a dictionary was written, as LeaveBehind may not have seen that.
  void CheckPlaces() { LeaveBehind(0); }

  const Dictionaries* dictionaries() const { return dictionaries_; }

 private:
  template <typename IsLost>
  void LosePlacesIf(IsLost&& is_lost) const;

  LogParts& parts_;
  Dictionaries* const dictionaries_;
  uint64_t left_behind_ = 0;  // the highest sequence that LeaveBehind was given
};

}  // namespace mezz
