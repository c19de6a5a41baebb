// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz {

// What is known of a record that reclaim has reached.
struct RecordFacts {
  BlockKey key;
  BlockRole role = BlockRole::kOther;
  uint32_t payload_bytes = 0;  // as stored
  Generation generation = Generation::kYoung;
  uint8_t heat = 0;      // 0..3: hits since it was written (HeatOfNew), less one for each time it was spared
  bool in_dram = false;  // the DRAM tier holds the block too, as far as the tier was told
  bool packed = false;
  bool packable = false;  // raw, and not known to be of no use to pack
};

// What becomes of a record that reclaim has reached.
enum class Fate : uint8_t {
  kDrop,
  kSpare,  // written anew among the proven, for one heat; packed, if it is packable
  kPack,   // written anew among its own generation, packed, with the heat it has. REQUIRES: packable
};

// As the tier decides without a judge.
constexpr Fate FateByHeat(unsigned heat, bool packable) {
  return heat > 0 ? Fate::kSpare : packable ? Fate::kPack : Fate::kDrop;
}

// Decides which records of a reclaimed segment are written anew. The tier keeps two safeguards of its own: a raw record
// of what also lies in DRAM is never spared (and always, without a question, once the DRAM tier goes), and of what is
// written anew no more than fifteen in sixteen of the bytes reclaimed, in the long run, so that reclaim gets somewhere
// even where everything is spared.
class SurvivorJudge {
 public:
  virtual ~SurvivorJudge() = default;
  // Called by one thread at a time, with reclaim's mutex held: must not block, allocate, throw or call the tier. A
  // record that is hit while it is judged may be asked about again, and so is one that does not pack, with `packable`
  // false. Not called while the capacity is lowered.
  virtual Fate Judge(const RecordFacts& record) = 0;
  // Share of the segments for the young, in percent. Asked whenever the next victim is picked, under the same rules. A
  // smaller share gives blocks that come once less room, and blocks that come again less time to do so.
  virtual unsigned young_percent() const { return kYoungPercentDefault; }
};

}  // namespace mezz
