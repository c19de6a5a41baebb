// SPDX-License-Identifier: Apache-2.0
// What the planner knows of a workload: how its requests look, and where they would have been found.
#pragma once

#include <string>

namespace mezz::plan {

// Shares of the block look-ups of a cache of one size.
struct TierShares {
  double dram = 0;
  double scm = 0;
  double miss_band = 0;         // the miss ratio is this much larger or smaller, 19 times of 20
  double scm_writes = 0;        // records written to SCM for each look-up, second chances included
  double scm_promoted = 0;      // of the look-ups: raw SCM hits that were copied to DRAM
  double scm_unpacked = 0;      // of the look-ups: SCM hits that had to be unpacked
  double scm_packs = 0;         // records packed for each look-up
  double scm_record_bytes = 0;  // mean bytes of a record written; 0: a block
  // Of ordered media. The fast one then serves scm - slow_scm and is written scm_writes.
  double slow_scm = 0;         // of `scm`: found on the slow medium
  double slow_scm_writes = 0;  // records written to the slow medium for each look-up

  double miss() const { return 1 - dram - scm; }
};

class HitSurface {
 public:
  virtual ~HitSurface() = default;
  // Sizes are the tiers' own, without index and tables. Monotone enough to be searched, not exactly so.
  virtual TierShares At(double dram_bytes, double scm_bytes) const = 0;
};

struct Traffic {
  std::string name;
  std::string policy = "adaptive";
  std::string pack = "off";
  double block_bytes = 4096;
  double flash_bytes = 4096;         // of one block read
  double lookups_per_operation = 1;  // 1: an operation is one block look-up, as in a block trace
  double reads_per_miss = 1;         // less: scans read several blocks at once, ahead of asking for them
  double footprint_bytes = 0;        // of all blocks; 0: not known
  std::string curve;                 // how the surface was made, for the report
};

}  // namespace mezz::plan
