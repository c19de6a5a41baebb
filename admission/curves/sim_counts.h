// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "admission/decision_counters.h"
#include "cache/counters.h"

namespace mezz::sim {

// What of a run's counts the slow level of ordered media has. All are 0 if there is one level.
struct SlowCounts {
  uint64_t in_place = 0;  // hits, as in SimCounts
  uint64_t unpacked = 0;
  uint64_t promotions = 0;
  uint64_t packed_promotions = 0;
  uint64_t second_chances = 0;  // writes, as in SimCounts
  uint64_t packed_second_chances = 0;
  uint64_t packed_at_reclaim = 0;

  uint64_t hits() const { return in_place + unpacked + promotions; }
};

// What a run counted after its warm-up.
struct SimCounts {
  uint64_t accesses = 0;
  uint64_t dram_hits = 0;
  uint64_t scm_in_place = 0;       // hits served in place
  uint64_t scm_unpacked = 0;       // hits on packed records, served from a copy that is not kept
  uint64_t promotions = 0;         // hits copied to DRAM, moves included
  uint64_t packed_promotions = 0;  // of the promotions: from packed records
  uint64_t moves = 0;              // of the promotions: with the record forgotten
  uint64_t misses = 0;
  uint64_t demotions = 0;       // blocks written to SCM on a DRAM eviction
  uint64_t inserts_to_scm = 0;  // blocks written to SCM on a miss, or when a flush or compaction wrote them
  uint64_t second_chances = 0;
  uint64_t packed_second_chances = 0;  // of the second chances: written packed
  uint64_t packed_at_reclaim = 0;      // records without a hit that were written anew, packed
  uint64_t requeued_segments = 0;
  uint64_t level_demotions = 0;  // records that reclaim of the fast level wrote to the slow one
  uint64_t level_demoted_units = 0;
  uint64_t packed_level_demotions = 0;  // of the level_demotions: of packed records
  uint64_t scm_written_units = 0;
  uint64_t packed_writes = 0;  // of all writes: packed ones; the next one has their bytes
  uint64_t packed_bytes = 0;
  uint64_t pack_tries = 0;     // blocks that the codec was run on
  uint64_t pack_rejected = 0;  // of the tries: in vain
  uint64_t scm_refused = 0;    // writes that the policy wanted, and for which the tier had no room
  uint64_t spare_refused = 0;  // second chances that the policy wanted, and for which the tier had no room
  uint64_t ghost_hits = 0;     // decisions with Reason::kGhost
  SlowCounts slow{};
  DecisionSnapshot decisions{};
  // The events of the flow between the tiers (admission/tier_flow.h), and where users' look-ups found a block.
  CounterSnapshot events{};

  uint64_t scm_hits() const { return scm_in_place + scm_unpacked + promotions; }
  uint64_t fast_hits() const { return scm_hits() - slow.hits(); }  // of the SCM hits: on the fast level
  uint64_t scm_writes() const {
    return demotions + inserts_to_scm + second_chances + packed_at_reclaim + level_demotions;
  }
};

}  // namespace mezz::sim
