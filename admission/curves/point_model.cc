// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/point_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "admission/policy.h"
#include "cache/layout.h"
#include "cache/log_rules.h"
#include "cache/options.h"

namespace mezz::plan {
namespace {

constexpr uint64_t kMiniatureSegments = 256;
constexpr uint64_t kSegmentsOfSmallerLevel = 16;
constexpr double kHighPriorityPool = 0.5;  // LRUCache's default

bool IsScmAlone(std::string_view policy) { return std::ranges::find(ScmAloneNames(), policy) != ScmAloneNames().end(); }

uint64_t Scaled(uint64_t bytes, double rate) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * rate));
}

bool IsLruAlone(const MiniatureOptions& options) { return options.policy == "lru" || IsScmAlone(options.policy); }

// The segments that the live tier would have.
struct LiveSegments {
  LiveSegments(uint64_t scm_bytes, uint32_t writers, double fast_share) {
    ScmOptions live;
    live.capacity_bytes = scm_bytes;
    bytes = live.EffectiveSegmentBytes();
    count = std::max<uint64_t>(kSegmentsMin, scm_bytes / bytes);
    constexpr uint64_t kLeast = log_rules::kSegmentsOfLevelMin;
    if (fast_share != 0) {
      const double wanted = std::round(static_cast<double>(count) * fast_share);
      fast = std::clamp(static_cast<uint64_t>(wanted), kLeast, count - kLeast);
    }
    // One for the proven and one for each lane of writers, half full; as many kept free, and the one that is emptied.
    lanes = static_cast<uint32_t>(std::clamp<uint64_t>((fast == 0 ? count : fast) / log_rules::kSegmentsPerLane, 1,
                                                       std::clamp(writers, 1u, log_rules::kWriterLanesMax)));
    reserve = lanes + 2;
    slow_reserve = fast == 0 ? 0 : 3;  // one lane
    lives = scm_bytes / bytes >= kSegmentsMin;
  }
  uint64_t smaller_level() const { return std::min(fast, count - fast); }

  uint64_t bytes = 0;
  uint64_t count = 0;
  uint64_t fast = 0;  // of `count`, those of the fast level; 0: there is one level
  uint32_t lanes = 0;
  uint64_t reserve = 0;       // of the fast level, or of the only one
  uint64_t slow_reserve = 0;  // of the slow one
  bool lives = false;         // else the tier is too small to be opened
};

class TwoTierPoint final : public PointModel {
 public:
  TwoTierPoint(const BlockTrace& trace, std::unique_ptr<sim::TwoTierRun> tiers, std::shared_ptr<const void> keeps)
      : trace_(trace), keeps_(std::move(keeps)), tiers_(std::move(tiers)) {}

  void Run(size_t from, size_t to) override { tiers_->Run(from, to); }
  void StartCounting() override { tiers_->StartCounting(); }

  Status Counts(SampleCounts* counts) override {
    const sim::SimCounts sim = tiers_->Counts();
    *counts = {.requests = sim.accesses,
               .point = {.dram_hits = sim.dram_hits,
                         .scm_in_place = sim.scm_in_place,
                         .scm_unpacked = sim.scm_unpacked,
                         .promotions = sim.promotions,
                         .packed_promotions = sim.packed_promotions,
                         .scm_slow_hits = sim.slow.hits(),
                         .scm_writes = sim.scm_writes(),
                         .second_chances = sim.second_chances,
                         .packed_writes = sim.packed_writes,
                         .scm_written_bytes = sim.scm_written_units}};
    for (size_t role = 0; role < kBlockRoles; ++role) {
      const auto of = [&](Event event) { return sim.events.by_role[static_cast<size_t>(event)][role]; };
      counts->roles[role] = {.dram_hits = of(Event::kDramHit),
                             .scm_hits = of(Event::kServedInPlace) + of(Event::kServedCopied) + of(Event::kPromotion)};
      counts->role_requests[role] = counts->roles[role].dram_hits + counts->roles[role].scm_hits + of(Event::kMiss);
    }
    std::vector<std::string> violations;
    tiers_->Audit(&violations);
    if (sim.dram_hits + sim.scm_hits() + sim.misses != sim.accesses)
      violations.push_back("hits and misses are not the accesses");
    if (violations.empty()) return Status::Ok();
    return Status::IoError(
        fmt::format("the simulator contradicts itself on trace {}: {}", trace_.name(), violations.front()));
  }

 private:
  const BlockTrace& trace_;
  const std::shared_ptr<const void> keeps_;
  const std::unique_ptr<sim::TwoTierRun> tiers_;
};

// The parts of a model with two tiers and a live policy.
struct LivePolicyParts {
  sim::TwoTierOptions options;
  sim::SimClock clock;
  std::unique_ptr<Policy> policy;
};

// A stock cache by itself, in DRAM or in SCM.
template <typename Cache>
class OneTierPoint final : public PointModel {
 public:
  OneTierPoint(const BlockTrace& trace, const BlockSizes& sizes, const sim::DramModelOptions& options, bool in_scm)
      : trace_(trace),
        charges_(sizes.dram_charges),
        records_(sizes.records),
        in_scm_(in_scm),
        cache_(trace.unique(), charges_, options) {}

  void Run(size_t from, size_t to) override {
    const std::vector<BlockId>& accesses = trace_.accesses();
    for (size_t at = from; at < to; ++at) Access(accesses[at]);
    counts_.requests += to - from;
  }
  void StartCounting() override { counts_ = {}; }
  Status Counts(SampleCounts* counts) override {
    *counts = counts_;
    return Status::Ok();
  }

 private:
  void Access(BlockId block) {
    const BlockRole role = trace_.role(block);
    ++counts_.role_requests[static_cast<size_t>(role)];
    RoleCounts& of_role = counts_.roles[static_cast<size_t>(role)];
    if (cache_.Hit(block)) {
      ++(in_scm_ ? of_role.scm_hits : of_role.dram_hits);
      ++(in_scm_ ? counts_.point.scm_in_place : counts_.point.dram_hits);
      return;
    }
    cache_.Insert(block, sim::PriorityOf(role), [](BlockId, bool) {});
    if (!in_scm_) return;
    ++counts_.point.scm_writes;
    counts_.point.scm_written_bytes += records_[block];
  }

  const BlockTrace& trace_;
  const sim::Charges charges_;
  const std::vector<uint32_t>& records_;
  const bool in_scm_;
  Cache cache_;
  SampleCounts counts_;
};

// The stock cache of the DRAM tier, whether there is an SCM tier or not.
sim::DramCache StockCacheOf(const MiniatureOptions& options) {
  if (options.policy == "hcc") return sim::DramCache::kHcc;
  return IsLruAlone(options) ? sim::DramCache::kLru : options.dram_cache;
}

// The options of an SCM tier of `scm_bytes`, of which `scm` are modelled.
sim::ScmModelOptions ScmOf(const BlockSizes& sizes, const LiveSegments& live, uint64_t scm, bool as_live) {
  if (as_live)
    return {.capacity = scm,
            .fast_capacity = live.fast * live.bytes,
            .segment = live.bytes,
            .exact_capacity = false,
            .writer_lanes = live.lanes};
  const uint64_t segments = std::min(live.count, kMiniatureSegments);
  uint64_t segment = std::max<uint64_t>(scm / segments, sizes.record_max);
  if (live.fast == 0) return {.capacity = std::max(scm, segment), .segment = segment, .exact_capacity = true};
  const uint64_t usable = live.count - live.reserve - live.slow_reserve;
  const auto fast = static_cast<uint64_t>(static_cast<double>(scm) * static_cast<double>(live.fast - live.reserve) /
                                          static_cast<double>(usable));
  // The smaller level has some segments, too, if it lives with more of them.
  const uint64_t smaller = std::min(fast, scm - fast) / std::min(live.smaller_level(), kSegmentsOfSmallerLevel);
  segment = std::max<uint64_t>(std::min(segment, smaller), sizes.record_max);
  const uint64_t fast_capacity = std::max(fast, segment);
  return {.capacity = fast_capacity + std::max(scm - fast, segment),
          .fast_capacity = fast_capacity,
          .segment = segment,
          .exact_capacity = true};
}

Status CheckHoldsBlock(std::string_view tier, uint64_t bytes, uint64_t scaled, uint64_t block, double rate) {
  if (scaled >= block) return Status::Ok();
  const double wanted = static_cast<double>(block) / static_cast<double>(std::max<uint64_t>(1, bytes));
  if (rate >= 1 || wanted > 1) {
    return Status::InvalidArgument(fmt::format("--{}={} holds no block of {} bytes; raise it", tier, bytes, block));
  }
  return Status::InvalidArgument(fmt::format(
      "--{}={} holds no block of the sample at rate {:.2g}; raise it, or look at more: --blocks={} would do, "
      "or --exact",
      tier, bytes, rate, static_cast<uint64_t>(std::ceil(wanted / rate)) * 8192));
}

}  // namespace

const std::vector<std::string_view>& DramAloneNames() {
  static const auto& names = *new std::vector<std::string_view>{"lru", "hcc"};  // caches outlive statics
  return names;
}

const std::vector<std::string_view>& ScmAloneNames() {
  static const auto& names = *new std::vector<std::string_view>{"naive_scm"};
  return names;
}

uint64_t UsableScmBytes(uint64_t scm_bytes, uint32_t writers, double fast_share) {
  const LiveSegments live(scm_bytes, writers, fast_share);
  return scm_bytes - scm_bytes / live.count * (live.reserve + live.slow_reserve);
}

BlockSizes::BlockSizes(const BlockTrace& trace, const MiniatureOptions& options) {
  const bool lru = options.dram_cache == sim::DramCache::kLru || IsLruAlone(options);
  const bool packs = options.pack != PackMode::kOff;
  for (BlockId block = 0; block < trace.unique(); ++block) {
    const uint32_t bytes = trace.bytes(block);
    dram_charges.push_back(bytes + (lru && options.policy != "hcc" ? sim::kLruHandleBytes : 0));
    records.push_back(static_cast<uint32_t>(layout::RecordBytes(bytes)));
    if (options.policy == kInlineMemory) {
      const double ratio = options.pack_ratios.Of(trace.key(block), options.seed);
      const bool random_bits = trace.role(block) == BlockRole::kFilter;
      const auto line_bytes = static_cast<uint64_t>(std::ceil(bytes / (random_bits ? 1 : ratio)));
      records.back() = static_cast<uint32_t>(layout::RecordBytes(line_bytes));
    }
    record_max = std::max(record_max, records.back());
    if (!packs) continue;
    blocks.push_back(bytes);
    const double ratio = options.pack_ratios.Of(trace.key(block), options.seed);
    codec_bytes.push_back(static_cast<uint32_t>(std::ceil(bytes / ratio)));
  }
  block_mean = static_cast<uint32_t>(trace.footprint_bytes() / std::max(1u, trace.unique()));
}

Status CheckTiersHoldBlocks(const BlockSizes& sizes, const MiniatureOptions& options, uint64_t dram_bytes,
                            uint64_t scm_bytes) {
  const auto check = [&](std::string_view tier, uint64_t bytes, uint64_t usable) {
    if (bytes == 0) return Status::Ok();
    return CheckHoldsBlock(tier, bytes, Scaled(usable, options.rate), sizes.block_mean, options.rate);
  };
  MEZZ_RETURN_IF_ERROR(check("dram", dram_bytes, dram_bytes));
  return check("scm", scm_bytes, scm_bytes == 0 ? 0 : UsableScmBytes(scm_bytes, options.writers, options.fast_share));
}

Status MakePointModel(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                      uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model) {
  assert(dram_bytes != 0 || scm_bytes != 0);
  MEZZ_RETURN_IF_ERROR(CheckTiersHoldBlocks(sizes, options, dram_bytes, scm_bytes));
  const uint64_t dram = Scaled(dram_bytes, options.rate);
  // Without a sample nothing is scaled, and the tier has its segments as it lives: what it keeps free follows from what
  // writers do. A miniature's segments would be too few for that, so there it is taken off.
  const LiveSegments live(scm_bytes, options.writers, options.fast_share);
  const bool as_live = options.rate >= 1 && dram != 0 && scm_bytes != 0 && live.lives;
  const bool has_log = dram != 0 && scm_bytes != 0;  // a stock cache in SCM has none
  const uint64_t usable =
      has_log && !as_live ? UsableScmBytes(scm_bytes, options.writers, options.fast_share) : scm_bytes;
  const uint64_t scm = Scaled(usable, options.rate);
  const sim::DramModelOptions dram_options = DramOf(options, dram == 0 ? scm : dram);
  if (dram == 0 || scm == 0) {
    const bool lru = StockCacheOf(options) == sim::DramCache::kLru || dram == 0;
    if (lru) {
      *model = std::make_unique<OneTierPoint<sim::LruModel>>(trace, sizes, dram_options, dram == 0);
    } else {
      *model = std::make_unique<OneTierPoint<sim::HccModel>>(trace, sizes, dram_options, dram == 0);
    }
    return Status::Ok();
  }
  const auto parts = std::make_shared<LivePolicyParts>();
  sim::TwoTierOptions& two = parts->options;
  two.dram_cache = options.dram_cache;
  two.dram = dram_options;
  two.scm = ScmOf(sizes, live, scm, as_live);
  two.dram_charges = sizes.dram_charges;
  two.record_units = sizes.records;
  two.access_ns = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(options.access_ns) / options.rate));
  if (options.pack != PackMode::kOff) {
    two.pack = sim::PackOptions{.codec = *CodecOf(options.pack),
                                .block_bytes = sizes.blocks,
                                .codec_bytes = sizes.codec_bytes,
                                .dram_bytes = dram,
                                .scm_bytes = scm};
  }
  const PolicyOptions policy{.dram_bytes = dram,
                             .scm_bytes = scm,
                             .block_bytes = sizes.block_mean,
                             .now_ns = [clock = &parts->clock] { return clock->now_ns; },
                             .seed = options.seed,
                             .packs = options.pack != PackMode::kOff};
  const std::string_view name = options.policy == kInlineMemory ? kDefaultPolicyName : options.policy;
  MEZZ_RETURN_IF_ERROR(options.policy_maker ? options.policy_maker(name, policy, &parts->policy)
                                            : MakePolicy(name, policy, &parts->policy));
  *model = PointOf(trace, sim::StartTwoTier(trace, two, parts->policy.get(), &parts->clock), parts);
  return Status::Ok();
}

std::unique_ptr<PointModel> PointOf(const BlockTrace& trace, std::unique_ptr<sim::TwoTierRun> tiers,
                                    std::shared_ptr<const void> keeps) {
  return std::make_unique<TwoTierPoint>(trace, std::move(tiers), std::move(keeps));
}

sim::DramModelOptions DramOf(const MiniatureOptions& options, uint64_t capacity) {
  return {.capacity = capacity,
          .high_priority_pool = kHighPriorityPool,
          .shards = options.rate >= 1 ? sim::LiveShards(StockCacheOf(options), capacity) : 1,
          .slot_charge = sim::kHccSlotBytes,
          .seed = options.seed};
}

}  // namespace mezz::plan
