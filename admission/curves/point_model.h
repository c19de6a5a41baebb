// SPDX-License-Identifier: Apache-2.0
// One point of a curve, simulated in miniature: all sizes times the rate of the sample (miniature simulation,
// Waldspurger, Saemundsson, Ahmad and Park, ATC'17).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/block_trace.h"
#include "admission/curves/curve.h"
#include "admission/curves/pack_model.h"
#include "admission/curves/two_tier.h"
#include "admission/policy.h"
#include "cache/log_rules.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz::plan {

// What a buyer has without the hybrid cache. Of DRAM alone: the two stock caches. Of SCM alone: naive_scm, the stock
// LRU cache in SCM. Their other size is 0.
const std::vector<std::string_view>& DramAloneNames();
const std::vector<std::string_view>& ScmAloneNames();
// The hybrid cache over SCM that compresses by itself, as workloads/sim/alternatives.h says.
inline constexpr std::string_view kInlineMemory = "inline_memory";

struct MiniatureOptions {
  std::string policy = "adaptive";
  sim::DramCache dram_cache = sim::DramCache::kHcc;
  PackMode pack = PackMode::kOff;
  sim::PackRatios pack_ratios{1};
  uint64_t access_ns = 10'000;  // between requests of the whole trace
  uint64_t seed = 1;            // of the policy's hashes and of the drawn ratios
  double rate = 1;              // of the sample; with 1 the tiers are modelled as they live, not in miniature
  uint32_t writers = log_rules::kWriterLanesMax;  // CPUs of the machine that serves: SCM has as many lanes at most
  // Makes the policy; empty: MakePolicy.
  std::function<Status(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy)>
      policy_maker{};
};

// What the blocks of a sample take, in each of the tiers; shared by all points. Constant.
struct BlockSizes {
  BlockSizes(const BlockTrace& trace, const MiniatureOptions& options);

  std::vector<uint32_t> dram_charges;
  std::vector<uint32_t> records;
  std::vector<uint32_t> blocks;       // with packing, else empty
  std::vector<uint32_t> codec_bytes;  // what the codec makes of them
  uint32_t record_max = 0;
  uint32_t block_mean = 0;
};

struct SampleCounts {
  uint64_t requests = 0;
  PointCounts point;
  std::array<RoleCounts, kBlockRoles> roles{};
  std::array<uint64_t, kBlockRoles> role_requests{};
};

// Of the sample, not scaled back. Single-threaded.
class PointModel {
 public:
  virtual ~PointModel() = default;
  // As sim::TwoTierRun's.
  virtual void Run(size_t from, size_t to) = 0;
  virtual void StartCounting() = 0;
  // Ends the counting. kIoError: the model contradicts itself.
  virtual Status Counts(SampleCounts* counts) = 0;
};

// Two tiers that somebody else has made, and what they live on.
std::unique_ptr<PointModel> PointOf(const BlockTrace& trace, std::unique_ptr<sim::TwoTierRun> tiers,
                                    std::shared_ptr<const void> keeps);

// Refuses a tier that would hold no block of the sample, naming the rate at which it would hold some. Sizes are those
// of the whole; 0: no such tier.
Status CheckTiersHoldBlocks(const BlockSizes& sizes, const MiniatureOptions& options, uint64_t dram_bytes,
                            uint64_t scm_bytes);
// As that; not both sizes are 0. `trace` and `sizes` outlive the model.
Status MakePointModel(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                      uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model);

// A DRAM tier as stock caches have it: in miniature one shard.
sim::DramModelOptions DramOf(const MiniatureOptions& options, uint64_t capacity);

// Of an SCM tier of `scm_bytes`, what records fill: without the segments that the live tier keeps free or half full.
uint64_t UsableScmBytes(uint64_t scm_bytes, uint32_t writers);

}  // namespace mezz::plan
