// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz {

// What a segment was filled with since it was opened. As an earlier life left it, the records may be anything that
// their checksums allow.
struct SegmentFill {
  SegmentId segment{};
  uint64_t sequence = 0;
  uint64_t tail = 0;  // end of the last record, from the start of the medium
  Generation generation = Generation::kYoung;
  uint64_t dead = 0;         // as SegmentLog::NoteDead was told
  uint8_t dictionaries = 0;  // a bit for each slot of Dictionaries that its records use
};

}  // namespace mezz
