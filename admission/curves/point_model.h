// SPDX-License-Identifier: Apache-2.0
// Simulates one point of a curve in miniature: all sizes are multiplied by the rate of the sample. (Miniature
// simulation: Waldspurger, Saemundsson, Ahmad and Park, ATC'17.)
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

// The caches of one tier, without the hybrid cache. Of DRAM alone: the two stock caches. Of SCM alone: naive_scm, the
// stock LRU cache in SCM. The size of their other tier is 0.
const std::vector<std::string_view>& DramAloneNames();
const std::vector<std::string_view>& ScmAloneNames();
// The hybrid cache over SCM that compresses by itself (workloads/sim/alternatives.h).
inline constexpr std::string_view kInlineMemory = "inline_memory";

struct MiniatureOptions {
  std::string policy = "adaptive";
  sim::DramCache dram_cache = sim::DramCache::kHcc;
  PackMode pack = PackMode::kOff;
  sim::PackRatios pack_ratios{1};
  uint64_t access_ns = 10'000;  // between requests of the whole trace
  uint64_t seed = 1;            // of the policy's hashes and of the drawn ratios
  double rate = 1;              // of the sample; with 1 the tiers are modelled as the live ones, not in miniature
  // Of an SCM tier of ordered media: the share of each of its sizes that is the fast level. 0: it has one level.
  double fast_share = 0;
  uint32_t writers = log_rules::kWriterLanesMax;  // CPUs of the machine that serves; SCM has at most as many lanes
  // Makes the policy; empty: MakePolicy.
  std::function<Status(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy)>
      policy_maker{};
};

// The sizes of a sample's blocks in each of the tiers. All points share them. Constant.
struct BlockSizes {
  BlockSizes(const BlockTrace& trace, const MiniatureOptions& options);

  std::vector<uint32_t> dram_charges;
  std::vector<uint32_t> records;
  std::vector<uint32_t> blocks;       // with packing, else empty
  std::vector<uint32_t> codec_bytes;  // the codec's output for them
  uint32_t record_max = 0;
  uint32_t block_mean = 0;
};

struct SampleCounts {
  uint64_t requests = 0;
  PointCounts point;
  std::array<RoleCounts, kBlockRoles> roles{};
  std::array<uint64_t, kBlockRoles> role_requests{};
};

// One point, with counts of the sample that are not scaled back. Single-threaded.
class PointModel {
 public:
  virtual ~PointModel() = default;
  // As sim::TwoTierRun::Run.
  virtual void Run(size_t from, size_t to) = 0;
  virtual void StartCounting() = 0;
  // Returns the counts, and ends the counting. kIoError: the model contradicts itself.
  virtual Status Counts(SampleCounts* counts) = 0;
};

// The point of two tiers that the caller has made.
std::unique_ptr<PointModel> PointOf(const BlockTrace& trace, std::unique_ptr<sim::TwoTierRun> tiers,
                                    std::shared_ptr<const void> keeps);

// An error if a tier would hold no block of the sample; it names the rate at which it would hold some. Sizes are those
// of the whole tiers; 0: no such tier.
Status CheckTiersHoldBlocks(const BlockSizes& sizes, const MiniatureOptions& options, uint64_t dram_bytes,
                            uint64_t scm_bytes);
// Makes the model of a point, or returns the error of CheckTiersHoldBlocks. One of the sizes may be 0. `trace` and
// `sizes` must outlive the model.
Status MakePointModel(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                      uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model);

// The options of a DRAM tier like that of the stock caches. In miniature it has one shard.
sim::DramModelOptions DramOf(const MiniatureOptions& options, uint64_t capacity);

// How much of an SCM tier of `scm_bytes` records can fill: the live tier keeps some segments free or half full, of
// ordered media on each level.
uint64_t UsableScmBytes(uint64_t scm_bytes, uint32_t writers, double fast_share = 0);

}  // namespace mezz::plan
