// SPDX-License-Identifier: Apache-2.0
// Everything mezz_sim can be told, and the only judge of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/pack_model.h"
#include "admission/curves/two_tier.h"
#include "cache/options.h"
#include "cache/status.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/sim/alternatives.h"

namespace mezz::sim {

// A capacity of both tiers together, as it was asked for.
struct Total {
  std::string text;
  double share = 0;    // of the trace's footprint; 0: bytes
  uint64_t bytes = 0;  // else
};

enum class Sizes : uint8_t {
  kUnit,   // each block is one unit, capacities hold exactly so many
  kBytes,  // as the live tiers account: records, segments, free ones in reserve
};

struct SimOptions {
  std::vector<std::string> traces;
  std::string format;                 // of all traces; empty: by content and name
  bool skip_bad = false;              // damaged records are left out and counted
  std::vector<std::string> policies;  // of PolicyNames(), AlternativeNames() and ReferenceNames()
  std::vector<Total> totals;
  double dram_share = 0.2;
  double fast_share = 0;  // of the SCM tier: its fast level. 0: it has one level
  DramCache dram_cache = DramCache::kHcc;
  double high_priority_pool = 0.5;   // lru: share of the pool for what was hit; 0 is strict LRU
  uint32_t dram_shards = 0;          // 0: one for unit sizes, else as the live cache has them
  int64_t dram_overhead_bytes = -1;  // sizes=bytes: charged to DRAM for each block; -1: as the stock cache does
  uint32_t unit_bytes = 4096;
  Sizes sizes = Sizes::kUnit;
  uint64_t segment_blocks = 0;  // sizes=unit: of a segment; 0: a 256th of the SCM tier
  PackMode pack = PackMode::kOff;
  std::string pack_ratio;         // as it was asked for; empty: what the codec makes of source text
  PackRatios pack_ratios;         // what that means
  PackRatios alternative_ratios;  // and in the alternatives that compress, which without it have LZ4's, not --pack's
  bool heirs = true;              // of traces with events: TwoTierOptions::heirs
  double warmup = 0;              // share of the accesses that are not counted
  unsigned threads = 0;           // 0: one per CPU
  double sample = 1;
  uint64_t memory_bytes = uint64_t{8} << 30;
  double flash_us = 80;
  uint64_t seed = 1;
  std::string json_path;
  std::string csv_path;
  std::string command_line;

  // Judges all that can be judged without reading a trace.
  Status Validate() const;
};

// Single-tier policies at the same total: lru, clock, s3_fifo, w_tinylfu, opt.
const std::vector<std::string_view>& ReferenceNames();
bool IsReference(std::string_view policy);

// "a,b,c". Refuses empty items, naming the flag.
Status ParseList(std::string_view flag, const std::string& text, std::vector<std::string>* items);
// "0.01,5%,64M": a share if it has a dot or %, else bytes with K, M, G or T.
Status ParseTotals(const std::string& text, std::vector<Total>* totals);
Status ParseDramCache(const std::string& text, DramCache* dram_cache);
Status ParseSizes(const std::string& text, Sizes* sizes);
// "off", "lz4", "zstd"; and a ratio, which is also that of the alternatives that compress, or a file of them
// (PackRatios::Parse). Reads options->policies.
Status ParsePacking(const std::string& pack, const std::string& ratio, SimOptions* options);

// One total on one trace, in units: blocks or bytes.
struct Capacity {
  uint64_t total = 0;
  uint64_t dram = 0;
  uint64_t scm = 0;
  uint64_t fast = 0;  // of the SCM tier: its fast level. 0: it has one level
  uint64_t segment = 0;
  // The SCM tier holds all that its bytes hold, without reserves or headers. By blocks it always does.
  bool exact = false;
};
// Refuses what holds no block in a tier, no segment that was asked for, or too few segments in a level.
Status PlanCapacity(const LoadedTrace& trace, const SimOptions& options, const Total& total, Capacity* capacity);
// The settings of a run at `capacity`.
TwoTierOptions MakeTwoTierOptions(const LoadedTrace& trace, const SimOptions& options, const Capacity& capacity);
// Of inline_memory. *scm_block_bytes: those of the blocks that its SCM is expected to hold.
TwoTierOptions MakeInlineMemoryOptions(const LoadedTrace& trace, const SimOptions& options, const Capacity& capacity,
                                       uint64_t* scm_block_bytes);
// Of any other alternative.
AlternativeOptions MakeAlternativeOptions(const LoadedTrace& trace, const SimOptions& options, const Capacity& capacity,
                                          Alternative alternative);

}  // namespace mezz::sim
