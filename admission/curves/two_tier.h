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
#include "admission/curves/sim_counts.h"
#include "admission/policy.h"

namespace mezz::sim {

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
