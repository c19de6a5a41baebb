// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/known_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "admission/policy.h"
#include "workloads/sim/alternatives.h"
#include "workloads/sim/options.h"
#include "workloads/sim/page_cache.h"

namespace mezz::plan {
namespace {

constexpr std::string_view kMemoryMode = "memory_mode", kCompressed = "compressed", kPageCache = "page_cache";

uint64_t Scaled(uint64_t bytes, double rate) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * rate));
}

// Software sees the SCM alone, all of it.
std::unique_ptr<PointModel> MemoryModePoint(const BlockTrace& trace, const BlockSizes& sizes,
                                            const MiniatureOptions& options, uint64_t dram, uint64_t scm) {
  const auto places = [&](uint64_t bytes) {
    return static_cast<uint32_t>(std::max<uint64_t>(1, Scaled(bytes, options.rate) / sizes.block_mean));
  };
  auto made = std::make_shared<const sim::AlternativeOptions>(
      sim::AlternativeOptions{.dram_cache = options.dram_cache,
                              .dram = DramOf(options, Scaled(scm, options.rate)),
                              .dram_charges = sizes.dram_charges,
                              .near_places = places(dram),
                              .far_places = places(scm),
                              .seed = options.seed});
  return PointOf(trace, sim::StartAlternative(sim::Alternative::kMemoryMode, trace, *made), made);
}

// What a block takes in a second tier that compresses.
sim::KeptBlock KeptIn(sim::Alternative alternative, const BlockTrace& trace, const MiniatureOptions& options,
                      BlockId block) {
  const uint32_t bytes = trace.bytes(block);
  const bool random_bits = trace.role(block) == BlockRole::kFilter;
  const double ratio = random_bits ? 1 : options.pack_ratios.Of(trace.key(block), options.seed);
  const auto codec_bytes = static_cast<uint32_t>(std::ceil(bytes / ratio));
  return sim::KeptBy(alternative, std::max(1u, codec_bytes), bytes, /*live_charges=*/true);
}

std::unique_ptr<PointModel> DramTwicePoint(const BlockTrace& trace, const BlockSizes& sizes,
                                           const MiniatureOptions& options, uint64_t first, uint64_t second) {
  const sim::Alternative alternative = *sim::AlternativeOf(options.policy);
  auto made = std::make_shared<sim::AlternativeOptions>();
  made->dram_cache = options.dram_cache;
  made->dram = DramOf(options, Scaled(first, options.rate));
  made->dram_charges = sizes.dram_charges;
  made->second_bytes = Scaled(second, options.rate);
  if (options.rate >= 1) made->second_shards = sim::LiveShards(sim::DramCache::kLru, made->second_bytes);
  for (BlockId block = 0; block < trace.unique(); ++block) {
    const sim::KeptBlock kept = KeptIn(alternative, trace, options, block);
    made->second_charges.push_back(kept.charge);
    made->second_packed.push_back(kept.packed);
  }
  made->placeholder_bytes = sim::kLruHandleBytes;
  made->inactive_ratio = sim::InactiveRatio(static_cast<double>(second));
  made->seed = options.seed;
  return PointOf(trace, sim::StartAlternative(alternative, trace, *made), made);
}

}  // namespace

bool IsOfDramTwice(std::string_view policy) { return policy == kCompressed || policy == kPageCache; }

bool IsIn(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const std::vector<std::string_view>& OtherTwoTierNames() {
  static const std::vector<std::string_view> names = {kMemoryMode, kInlineMemory, kCompressed, kPageCache};
  return names;
}

std::string KnownPolicies() {
  return fmt::format("two tiers: {}, {}; DRAM alone: {}; SCM alone: {}", fmt::join(PolicyNames(), ", "),
                     fmt::join(OtherTwoTierNames(), ", "), fmt::join(DramAloneNames(), ", "),
                     fmt::join(ScmAloneNames(), ", "));
}

bool IsKnownPolicy(std::string_view name) {
  return IsIn(DramAloneNames(), name) || IsIn(ScmAloneNames(), name) || IsIn(PolicyNames(), name) ||
         IsIn(OtherTwoTierNames(), name);
}

Status MakeKnownPoint(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                      uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model) {
  const bool twice = IsOfDramTwice(options.policy);
  if ((options.policy != kMemoryMode && !twice) || dram_bytes == 0 || scm_bytes == 0)
    return MakePointModel(trace, sizes, options, dram_bytes, scm_bytes, model);
  MEZZ_RETURN_IF_ERROR(CheckTiersHoldBlocks(sizes, options, dram_bytes, scm_bytes));
  *model = twice ? DramTwicePoint(trace, sizes, options, dram_bytes, scm_bytes)
                 : MemoryModePoint(trace, sizes, options, dram_bytes, scm_bytes);
  return Status::Ok();
}

}  // namespace mezz::plan
