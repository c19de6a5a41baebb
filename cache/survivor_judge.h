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
  uint8_t heat = 0;      // 0..3: HeatOfNew and its hits since it was written, less one for each time it was spared
  bool in_dram = false;  // the DRAM tier holds the block too, as far as the tier was told
  bool packed = false;
  bool packable = false;   // raw, and packing was not yet found useless
  bool demotable = false;  // it lies on the fast media, and the slow ones are in use
};

// What becomes of a record that reclaim has reached.
enum class Fate : uint8_t {
  kDrop,
  kSpare,   // written anew among the proven, which costs one heat; packed if it is packable
  kPack,    // written anew, packed, in its own generation; keeps its heat. REQUIRES: packable
  kDemote,  // written anew among the young of the slow media, as it is. REQUIRES: demotable
};

// What the tier decides if it has no judge: a record that was hit gets another turn, as in CLOCK.
constexpr Fate SecondChance(unsigned heat, bool packable, bool demotable) {
  return heat > 0 ? Fate::kSpare : packable ? Fate::kPack : demotable ? Fate::kDemote : Fate::kDrop;
}

// Decides which records of a reclaimed segment are written anew. The tier has two rules of its own:
// - A raw record whose block also lies in DRAM is never spared. Once the DRAM tier goes, it is always spared, and the
//   judge is not asked.
// - In the long run at most fifteen sixteenths of the reclaimed bytes are written anew. So reclaim gains space even
//   where the judge spares everything.
class SurvivorJudge {
 public:
  virtual ~SurvivorJudge() = default;
  // Called by one thread at a time, with reclaim's mutex held. It must not block, allocate, throw or call the tier. It
  // may be asked again about a record that was hit meanwhile, and is asked again, with `packable` false, about one that
  // did not pack. It is not called while the capacity is lowered.
  virtual Fate Judge(const RecordFacts& record) = 0;
  // The share of the segments for young records, in percent. Called whenever the next victim is picked, under the same
  // rules as Judge. A smaller share gives less room to blocks that come once, and less time to those that come again.
  virtual unsigned young_percent() const { return kYoungPercentDefault; }
};

}  // namespace mezz
