// SPDX-License-Identifier: Apache-2.0
#include "integration/dram_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>

#include "admission/curves/live_curve.h"
#include "cache/base/text.h"
#include "cache/scm_tier.h"
#include "integration/dram_hit_bits.h"
#include "integration/heirs.h"
#include "integration/hybrid_core.h"
#include "integration/metrics_endpoint.h"
#include "integration/option_table.h"
#include "rocksdb/version.h"

namespace mezz {
namespace {

// Less is no tier: RocksDB's caches would hold next to nothing beside what is in use.
constexpr uint64_t kTierBytesMin = 64 << 10;

bool KeepsHitBits(const HybridCacheOptions& options) {
  return ROCKSDB_MAJOR < 8 || options.dram_cache == DramCacheKind::kHyperClock;
}

}  // namespace

uint32_t CurveBlocks(const HybridCacheOptions& options) {
  const uint64_t bytes = std::max(options.dram_bytes, options.dram_total_bytes) + options.scm.capacity_bytes;
  return plan::LiveCurve::BlocksMaxFor(options.curve_rate, bytes / std::max(1u, options.scm.expected_block_bytes));
}

std::optional<uint64_t> WatchedHashMax(const HybridCacheOptions& options) {
  if (!options.curve) return std::nullopt;
  return plan::LiveCurve::HashMax(options.curve_rate);
}

std::string DramUse::ToString() const {
  return fmt::format(
      "dram.beside_tier_bytes: {}\n"
      "dram.index_bytes: {}\n"
      "dram.segments_bytes: {}\n"
      "dram.policies_bytes: {}\n"
      "dram.hit_bits_bytes: {}\n"
      "dram.packing_bytes: {}\n"
      "dram.curve_bytes: {}\n"
      "dram.rest_bytes: {}\n",
      total(), index, segments, policies, hit_bits, packing, curve, rest);
}

PolicyOptions PolicyOptionsOf(const HybridCacheOptions& options) {
  return {.dram_bytes = options.dram_bytes,
          .scm_bytes = options.scm.capacity_bytes,
          .block_bytes = options.scm.expected_block_bytes,
          .write_budget_bytes_per_second = options.write_budget_bytes_per_second,
          .now_ns = options.now_ns,
          .seed = 0,
          .packs = options.scm.pack != PackMode::kOff};
}

Status DramNeeded(const HybridCacheOptions& options, DramUse* needed) {
  HybridCacheOptions bound = options;
  if (options.dram_total_bytes != 0) bound.dram_bytes = options.dram_total_bytes;
  try {
    std::unique_ptr<Policy> policy;
    MEZZ_RETURN_IF_ERROR(bound.MakePolicy(bound.policy, PolicyOptionsOf(bound), &policy));
    needed->policies = policy->dram_bytes();
  } catch (const std::bad_alloc&) {
    return Status::NoSpace(fmt::format("no memory for policy={}", bound.policy));
  }
  bound.scm.pack_stage_bytes = bound.PackStageBytes();
  const ScmDram scm = ScmTier::DramNeeded(bound.scm);
  needed->index = scm.index;
  needed->segments = scm.segments;
  needed->packing = scm.packing;
  needed->rest = scm.rest + HybridCore::OwnBytes() + (bound.heirs ? Heirs::dram_bytes() : 0) +
                 (bound.metrics.empty() ? 0 : MetricsEndpoint::kDramBytes);
  needed->curve = bound.curve ? plan::LiveCurve::DramBytesMax(CurveBlocks(bound)) : 0;
  if (KeepsHitBits(bound)) {
    const uint64_t blocks = bound.dram_bytes / bound.scm.expected_block_bytes;
    needed->hit_bits = DramHitBits::BytesFor(blocks, WatchedHashMax(bound));
  }
  return Status::Ok();
}

namespace {

// The least total, not below dram_total_bytes, that holds what a cache of that total needs: with the total grows what
// keeps account of DRAM.
Status LeastTotal(const HybridCacheOptions& options, uint64_t* total) {
  HybridCacheOptions larger = options;
  for (;;) {
    DramUse needed;
    MEZZ_RETURN_IF_ERROR(DramNeeded(larger, &needed));
    *total = larger.dram_total_bytes;
    const uint64_t least = RoundUp(needed.total(), DramBudget::kStepBytes) + kTierBytesMin;
    if (least <= *total) return Status::Ok();
    larger.dram_total_bytes = least;
  }
}

}  // namespace

Status DivideDram(HybridCacheOptions* options) {
  const uint64_t total = options->dram_total_bytes;
  if (total == 0) return Status::Ok();
  MEZZ_RETURN_IF_ERROR(options->scm.Validate());  // what they are sized by
  DramUse needed;
  MEZZ_RETURN_IF_ERROR(DramNeeded(*options, &needed));
  const uint64_t charged = RoundUp(needed.total(), DramBudget::kStepBytes);
  if (total < charged + kTierBytesMin) {
    uint64_t enough = 0;
    MEZZ_RETURN_IF_ERROR(LeastTotal(*options, &enough));
    return Status::InvalidArgument(fmt::format(
        "dram_total={} is too small: for scm={}, block={}, policy={} and pack={} our structures need {} (index {}, "
        "policy {}, packing {}, curve {}), and the DRAM tier {}: give at least {}, lower scm, or raise block",
        SizeText(total), SizeText(options->scm.capacity_bytes), SizeText(options->scm.expected_block_bytes),
        options->policy, ToString(options->scm.pack), HumanBytes(charged), HumanBytes(needed.index),
        HumanBytes(needed.policies), HumanBytes(needed.packing), HumanBytes(needed.curve), HumanBytes(kTierBytesMin),
        SizeText(enough)));
  }
  options->dram_bytes = total - charged;
  return Status::Ok();
}

Status TotalContradictsDram(const HybridCacheOptions& options) {
  return Status::InvalidArgument(
      fmt::format("dram and dram_total contradict each other: give the DRAM tier's size ({}) or the size of all our "
                  "DRAM ({}), not both",
                  SizeText(options.dram_bytes), SizeText(options.dram_total_bytes)));
}

void DramBudget::Open(uint64_t total, uint64_t tier_bytes) {
  assert(total == 0 || tier_bytes < total);
  if (total == 0) return;
  total_.store(total, std::memory_order_relaxed);
  charged_.store(total - tier_bytes, std::memory_order_relaxed);
}

bool DramBudget::HasRoomFor(uint64_t structures) const {
  return !limited() || is_off() || total() >= RoundUp(structures, kStepBytes) + kTierBytesMin;
}

uint64_t DramBudget::TierBytes() const {
  if (is_off()) return 0;
  const uint64_t charged = charged_.load(std::memory_order_relaxed);
  return total() > charged + kTierBytesMin ? total() - charged : kTierBytesMin;
}

}  // namespace mezz
