// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz {

// What is known of a record that reclaim has reached.
struct RecordFacts {
  BlockKey key;
  BlockRole role = BlockRole::kOther;
  uint32_t payload_bytes = 0;
  Generation generation = Generation::kYoung;
  uint8_t heat = 0;      // 0..3: hits since it was written (HeatOfNew), less one for each time it was spared
  bool in_dram = false;  // the DRAM tier holds the block too, as far as the tier was told
};

// Decides which records of a reclaimed segment are written anew. The tier keeps two safeguards of its own: what also
// lies in DRAM is never spared, and of what is spared no more than fifteen in sixteen of the bytes reclaimed, in the
// long run, so that reclaim gets somewhere even where everything is spared.
class SurvivorJudge {
 public:
  virtual ~SurvivorJudge() = default;
  // Called by one thread at a time, with reclaim's mutex held: must not block, allocate, throw or call the tier. A
  // record that is hit while it is judged may be asked about again. Not called while the capacity is lowered.
  virtual bool Spare(const RecordFacts& record) = 0;
};

}  // namespace mezz
