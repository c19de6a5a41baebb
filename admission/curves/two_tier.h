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

// What a run counted after its warm-up.
struct SimCounts {
  uint64_t accesses = 0;
  uint64_t dram_hits = 0;
  uint64_t scm_in_place = 0;       // hits served where they lay
  uint64_t scm_unpacked = 0;       // hits on packed records, served from a copy that goes at once
  uint64_t promotions = 0;         // hits copied to DRAM, moves included
  uint64_t packed_promotions = 0;  // of those, from packed records
  uint64_t moves = 0;              // and records forgotten
  uint64_t misses = 0;
  uint64_t demotions = 0;       // blocks written to SCM: on a DRAM eviction
  uint64_t inserts_to_scm = 0;  // and on a miss, or as a flush or compaction wrote them
  uint64_t second_chances = 0;
  uint64_t packed_second_chances = 0;  // of those, written packed
  uint64_t packed_at_reclaim = 0;      // written anew, packed, without having been hit
  uint64_t requeued_segments = 0;
  uint64_t scm_written_units = 0;
  uint64_t packed_writes = 0;  // of all writes, what was written packed, and its bytes
  uint64_t packed_bytes = 0;
  uint64_t pack_tries = 0;     // blocks that the codec was run on
  uint64_t pack_rejected = 0;  // of those, in vain
  uint64_t scm_refused = 0;    // writes the policy wanted and the tier had no room for
  uint64_t spare_refused = 0;  // second chances likewise
  uint64_t ghost_hits = 0;     // decisions with Reason::kGhost
  DecisionSnapshot decisions{};
  // Those of the flow between the tiers (admission/tier_flow.h), and where users' look-ups found a block.
  CounterSnapshot events{};

  uint64_t scm_hits() const { return scm_in_place + scm_unpacked + promotions; }
  uint64_t scm_writes() const { return demotions + inserts_to_scm + second_chances + packed_at_reclaim; }
};

// Of a tier that packs. Its units are bytes.
struct PackOptions {
  Codec codec = Codec::kLz4;
  std::vector<uint32_t> block_bytes;  // by block
  std::vector<uint32_t> codec_bytes;  // by block: what the codec makes of it, however much
  uint64_t dram_bytes = 0;            // of the tiers, as the policy is told
  uint64_t scm_bytes = 0;
};

struct TwoTierOptions {
  DramCache dram_cache = DramCache::kHcc;
  DramModelOptions dram;
  ScmModelOptions scm;
  // Empty: every block is one unit in both tiers. Else by block: what it charges to DRAM, and its record in SCM.
  std::vector<uint32_t> dram_charges;
  std::vector<uint32_t> record_units;
  std::optional<PackOptions> pack;
  uint64_t access_ns = 10'000;   // simulated time between accesses where the trace has no clock
  uint64_t warmup_accesses = 0;  // not counted
  // Does what the trace's events say. False: what is written is a new block to the cache, and the dead stay.
  bool heirs = true;
};

// Simulated time, shared with the policy's PolicyOptions::now_ns: nanoseconds, never falls.
struct SimClock {
  uint64_t now_ns = 0;
};

// The two tiers at work on a trace that may come in parts. Single-threaded.
class TwoTierRun {
 public:
  virtual ~TwoTierRun() = default;
  // The accesses that the trace holds now, from position `from` up to `to`.
  virtual void Run(size_t from, size_t to) = 0;
  // Counts from here on.
  virtual void StartCounting() = 0;
  // What was counted; ends the counting.
  virtual SimCounts Counts() = 0;
  virtual void Audit(std::vector<std::string>* violations) const = 0;
};
// What it is made of outlives it. options.warmup_accesses is left to the caller.
std::unique_ptr<TwoTierRun> StartTwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy,
                                         SimClock* clock);

// Runs `policy` over `trace` as the hybrid cache would: look-up in DRAM, then SCM, then flash; what happens then is the
// live cache's own code (admission/tier_flow.h). Of a trace with events compactions look up as they do there, and the
// policy decides what becomes of each block that was written, by where its parents lie in these tiers. Appends to
// *violations what does not add up at the end. Single-threaded; several may run over one trace at once.
SimCounts RunTwoTier(const BlockTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock,
                     std::vector<std::string>* violations);

}  // namespace mezz::sim
