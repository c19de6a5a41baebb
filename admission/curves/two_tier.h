// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/curves/block_trace.h"
#include "admission/curves/dram_models.h"
#include "admission/curves/scm_model.h"
#include "admission/decision_counters.h"
#include "admission/policy.h"
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

// The options of a tier that packs. Its units are bytes.
struct PackOptions {
  Codec codec = Codec::kLz4;
  std::vector<uint32_t> block_bytes;  // by block
  std::vector<uint32_t> codec_bytes;  // by block: the size of the codec's output, even if larger
  uint64_t dram_bytes = 0;            // of the tiers, as the policy is told
  uint64_t scm_bytes = 0;
};

struct TwoTierOptions {
  DramCache dram_cache = DramCache::kHcc;
  DramModelOptions dram;
  ScmModelOptions scm;
  // By block: its charge to DRAM, and the size of its record in SCM. Empty: every block is one unit in both tiers.
  std::vector<uint32_t> dram_charges;
  std::vector<uint32_t> record_units;
  std::optional<PackOptions> pack;
  uint64_t access_ns = 10'000;   // simulated time between accesses where the trace has no clock
  uint64_t warmup_accesses = 0;  // not counted
  // Whether to follow the trace's events. With false a written block is new to the cache, and blocks of deleted files
  // stay.
  bool heirs = true;
};

// Simulated time in nanoseconds, shared with the policy's PolicyOptions::now_ns. It never falls.
struct SimClock {
  uint64_t now_ns = 0;
};

// The two tiers at work on a trace that may come in parts. Single-threaded.
class TwoTierRun {
 public:
  virtual ~TwoTierRun() = default;
  // Runs the accesses that the trace holds now, from position `from` up to `to`.
  virtual void Run(size_t from, size_t to) = 0;
  // Counts from here on.
  virtual void StartCounting() = 0;
  // Returns what was counted, and ends the counting.
  virtual SimCounts Counts() = 0;
  virtual void Audit(std::vector<std::string>* violations) const = 0;
};
// Starts a run. All arguments must outlive it. The caller handles options.warmup_accesses.
std::unique_ptr<TwoTierRun> StartTwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy,
                                         SimClock* clock);

// Runs `policy` over `trace` as the hybrid cache would: a look-up in DRAM, then in SCM, then in flash. What happens
// then is the live cache's own code (admission/tier_flow.h). If the trace has events, compactions look blocks up as
// they do there, and the policy decides about each written block by where its parents lie in these tiers. At the end it
// appends a sentence to *violations for each contradiction. Single-threaded; several runs over one trace may go on at
// once.
SimCounts RunTwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock,
                     std::vector<std::string>* violations);

}  // namespace mezz::sim
