// SPDX-License-Identifier: Apache-2.0
#include "admission/adaptive_policy.h"

#include <algorithm>
#include <cassert>

namespace mezz {
namespace {

// The windows of the governor and of renewal, in sizes of the SCM tier. That of renewal must hold several flushes.
constexpr uint64_t kGovernorWindow = 4, kRenewalWindow = 16;
// The weight of one dropped block in the mean frequency of dropped blocks: 1 / 128.
constexpr unsigned kDroppedShift = 7;
constexpr unsigned kFrequencyShift = 10;
// One in this many blocks without evidence is let in if the blocks in the SCM tier are useless.
constexpr uint64_t kProbes = 16;
// The frequency from which on a packed block is promoted: when it is asked for again. Each of its hits is unpacked, and
// its duplicate is cheap.
constexpr unsigned kHotPacked = 2;
// The most that a record takes beside its payload.
constexpr uint32_t kRecordOverheadBytes = 96;

size_t Blocks(uint64_t bytes, const PolicyOptions& options) {
  return static_cast<size_t>(std::max<uint64_t>(1, bytes / std::max(1u, options.block_bytes)));
}

// How often sketch and ghosts may grow: by packing, four times as many blocks may fit.
unsigned DoublingsMax(const PolicyOptions& options) { return options.packs ? 2 : 0; }

}  // namespace

AdaptivePolicy::AdaptivePolicy(const PolicyOptions& options)
    : options_(options),
      sketch_(Blocks(options.dram_bytes + options.scm_bytes, options), options.seed, DoublingsMax(options)),
      ghost_(Blocks(options.dram_bytes + options.scm_bytes, options), options.seed, DoublingsMax(options)),
      miniatures_({options.dram_bytes, options.scm_bytes, options.block_bytes, kYoungPercent}, sketch_),
      promotion_threshold_(Blocks(options.dram_bytes, options)),
      window_(Blocks(options.dram_bytes, options)),
      governor_(options.scm_bytes * kGovernorWindow),
      renewal_(options.scm_bytes * kRenewalWindow),
      budget_(options.write_budget_bytes_per_second, options.now_ns),
      aging_(Blocks(options.dram_bytes + options.scm_bytes, options), &sketch_),
      meter_(options.block_bytes),
      sketched_bytes_(options.dram_bytes + options.scm_bytes),
      ghost_bytes_(options.dram_bytes + options.scm_bytes),
      scm_bytes_(options.scm_bytes) {}

size_t AdaptivePolicy::dram_bytes() const {
  return sizeof(*this) + sketch_.dram_bytes() + ghost_.dram_bytes() + miniatures_.dram_bytes();
}

void AdaptivePolicy::OnDramHits(uint64_t count) { Advance(count, count * meter_.mean_bytes()); }

void AdaptivePolicy::OnCapacity(uint64_t dram_bytes, uint64_t scm_bytes) {
  Grow(dram_bytes + scm_bytes);
  miniatures_.SetCapacity(dram_bytes, scm_bytes);
  governor_.SetWindow(scm_bytes * kGovernorWindow);
  renewal_.SetWindow(scm_bytes * kRenewalWindow);
  if (dram_bytes != 0) {
    promotion_threshold_.SetCapacity(Blocks(dram_bytes, options_));
    window_.SetCapacity(Blocks(dram_bytes, options_));
  }
  if (scm_bytes_.exchange(scm_bytes, std::memory_order_relaxed) < scm_bytes)
    filled_.store(false, std::memory_order_relaxed);
}

// Grows sketch and ghosts. The sketch then has between two thirds and four thirds of the memory that a policy made for
// `bytes` would have. Ghosts never have more than that one's, as keys that they remember too long are let in too
// easily.
void AdaptivePolicy::Grow(uint64_t bytes) {
  const std::lock_guard lock(growing_);
  while (2 * bytes >= 3 * sketched_bytes_ && sketch_.Double()) sketched_bytes_ *= 2;
  while (bytes >= 2 * ghost_bytes_ && ghost_.Double()) ghost_bytes_ *= 2;
}

void AdaptivePolicy::CountLookup(const BlockFacts& block) {
  const uint64_t bytes = meter_.Count(block);
  bytes != 0 ? Advance(LookUpMeter::kBatch, bytes) : aging_.GoOn();
}

void AdaptivePolicy::Advance(uint64_t lookups, uint64_t bytes) {
  governor_.AddLookups(bytes);
  renewal_.AddLookups(bytes);
  promotion_threshold_.OnLookups(lookups);
  aging_.OnLookups(lookups);
}

// Tells the miniatures of a look-up. If the load has moved, old counts would favour the old blocks, so they are
// forgotten, line by line.
void AdaptivePolicy::TellMiniatures(uint64_t hash, bool in_scm, bool enters_dram) {
  if (!miniatures_.Samples(hash) || !miniatures_.OnDramMiss(hash, in_scm, enters_dram)) return;
  aging_.Forget();
  dropped_frequency_.store(0, std::memory_order_relaxed);
}

Decision AdaptivePolicy::OnMiss(const BlockFacts& block) {
  if (block.by_compaction && (block.role == BlockRole::kData || block.bypass_dram))
    return {Action::kBypass, Reason::kCompaction};
  const uint64_t hash = HashOfBlock(block.key);
  const bool has_ghost = ghost_.Contains(hash);
  // The first time that nobody knows of is left to its ghost, as TinyLFU leaves it to a doorkeeper: most that come once
  // never come again, and counted they would blur the counters that they share. While the SCM tier fills there are no
  // ghosts.
  if (!filled_.load(std::memory_order_relaxed) || has_ghost) sketch_.Increment(hash);
  if (!block.bypass_dram) promotion_threshold_.OnMiss(hash);
  const bool enters =
      !block.bypass_dram && (block.role != BlockRole::kData || !filled_.load(std::memory_order_relaxed) ||
                             IsRenewed() || window_.Admits(hash));
  // What passes DRAM by enters it for them, and leaves it at once.
  TellMiniatures(hash, /*in_scm=*/false, /*enters_dram=*/true);
  CountLookup(block);
  if (enters) return Entry(block, hash, has_ghost);
  if (!block.bypass_dram) promotion_threshold_.OnEviction(hash);
  if (miniatures_.Samples(hash)) miniatures_.OnDramEviction(hash, block.bytes, /*was_hit=*/false, WriteCost(block));
  const Decision decision = Demotion(block, hash, has_ghost);
  if (decision.action == Action::kToScm) return decision;
  return {Action::kBypass, block.bypass_dram ? decision.reason : Reason::kWindowClosed};
}

Decision AdaptivePolicy::OnScmHit(const BlockFacts& block) {
  if (block.by_compaction) return {Action::kInPlace, Reason::kCompaction};
  const uint64_t hash = HashOfBlock(block.key);
  const unsigned frequency = sketch_.Increment(hash);
  Decision decision = {Action::kInPlace, Reason::kTooCold};
  if (block.bypass_dram) {
    decision = {Action::kInPlace, Reason::kRole};
  } else if (IsMetadata(block.role)) {
    decision = {block.bytes <= kSmallMetadataBytes ? Action::kPromote : Action::kInPlace, Reason::kRole};
  } else if (Promotes(block, hash, frequency)) {
    decision = {Action::kPromote, Reason::kFrequency};
  }
  TellMiniatures(hash, /*in_scm=*/true, decision.action == Action::kPromote);
  CountLookup(block);
  return decision;
}

bool AdaptivePolicy::Promotes(const BlockFacts& block, uint64_t hash, unsigned frequency) const {
  if (IsRenewed()) return false;
  if (!promotion_.Promotes(frequency, block.packed ? kHotPacked : miniatures_.hot_frequency(), hash)) return false;
  // While nothing is dropped, a newcomer's place costs no flash read.
  if (!block.packed || !filled_.load(std::memory_order_relaxed)) return true;
  // What lies in DRAM then stays, and nearly all of it is what SCM does not hold.
  if (window_.closed()) return false;
  const double gain = CostsOf(block.codec.value_or(Codec::kLz4)).packed_hit;
  return PromotionFeedback::IsProbe(hash) ||
         frequency >= promotion_threshold_.Frequency(aging_.lookups_per_halving(), gain);
}

Decision AdaptivePolicy::OnWarm(const BlockFacts& block, const Lineage& lineage) {
  renewal_.AddWrites(block.bytes);
  const Decision decision = Policy::OnWarm(block, lineage);
  if (decision.action != Action::kToScm) return decision;
  if (const auto limit = LimitReached(block.write_bytes())) return {Action::kBypass, *limit};
  sketch_.Raise(HashOfBlock(block.key), lineage.frequency);
  return decision;
}

uint8_t AdaptivePolicy::Frequency(const BlockKey& key) const {
  return static_cast<uint8_t>(sketch_.Estimate(HashOfBlock(key)));
}

Decision AdaptivePolicy::OnDramEviction(const BlockFacts& block) {
  const uint64_t hash = HashOfBlock(block.key);
  promotion_threshold_.OnEviction(hash);
  if (block.was_hit_in_dram) sketch_.Increment(hash);
  if (miniatures_.Samples(hash)) miniatures_.OnDramEviction(hash, block.bytes, block.was_hit_in_dram, WriteCost(block));
  // Not promoted: its image was stored when it came from flash, and Entry left its ghost to say so.
  const bool by_image = block.in_scm && block.codec && ghost_.Take(hash);
  if (by_image) {
    window_.OnEviction(hash, block.was_hit_in_dram);
    return {Action::kKeep, Reason::kClean};
  }
  if (block.in_scm) {
    promotion_.OnDuplicateEviction(block.was_hit_in_dram, PromotionTarget(block));
    return {Action::kKeep, Reason::kClean};
  }
  window_.OnEviction(hash, block.was_hit_in_dram);
  return Demotion(block, hash, ghost_.Contains(hash));
}

// kToDram or kToBoth for a new block. A block that came back will be demoted when it leaves DRAM. Storing its image now
// costs as much, and saves the packing.
Decision AdaptivePolicy::Entry(const BlockFacts& block, uint64_t hash, bool has_ghost) {
  constexpr Decision kToDram{Action::kToDram, Reason::kPolicyDefault};
  if (block.image_bytes == 0 || !has_ghost) return kToDram;
  const Decision evidence = Evidence(block, hash, /*has_ghost=*/true);
  if (evidence.action != Action::kToScm || LimitReached(block.write_bytes())) return kToDram;
  return {Action::kToBoth, Reason::kGhost, /*proven=*/true};
}

// kToScm or kDrop for a block that leaves DRAM, so that it is in neither tier unless it is written.
Decision AdaptivePolicy::Demotion(const BlockFacts& block, uint64_t hash, bool has_ghost) {
  Decision decision = Evidence(block, hash, has_ghost);
  if (decision.action == Action::kToScm) {
    if (const auto limit = LimitReached(block.write_bytes())) decision = {Action::kDrop, *limit};
  }
  if (decision.action == Action::kDrop) {
    if (!block.bypass_dram) promotion_threshold_.OnDrop(hash);
    ghost_.Insert(hash);
  } else if (has_ghost) {
    ghost_.Take(hash);
  }
  return decision;
}

uint32_t AdaptivePolicy::PromotionTarget(const BlockFacts& block) const {
  if (!block.codec || block.packed_bytes == 0) return PromotionFeedback::kTargetRaw;
  return *block.codec == Codec::kLz4 ? PromotionFeedback::kTargetLz4 : PromotionFeedback::kTargetZstd;
}

// The cost of writing a mean block in the form of this one, in flash reads. A packed one has fewer bytes, and takes
// time to pack.
double AdaptivePolicy::WriteCost(const BlockFacts& block) {
  if (!block.codec || block.packed_bytes == 0 || block.bytes == 0) return Miniatures::kWriteCost;
  const double share = static_cast<double>(block.packed_bytes) / block.bytes;
  packed_percent_.store(static_cast<uint32_t>(100 * share), std::memory_order_relaxed);
  return Miniatures::kWriteCost * share + CostsOf(*block.codec).pack;
}

// kToScm if the evidence suffices for a write, limits apart; else kDrop.
Decision AdaptivePolicy::Evidence(const BlockFacts& block, uint64_t hash, bool has_ghost) {
  const bool filled = filled_.load(std::memory_order_relaxed);
  if (!filled || block.scm_sparse) return {Action::kToScm, Reason::kFilling, has_ghost};
  if (IsMetadata(block.role)) return {Action::kToScm, Reason::kRole, /*proven=*/true};
  if (IsRenewed()) return {Action::kToScm, Reason::kRenewed};
  Strictness strictness = miniatures_.verdict();
  const bool churns = governor_.WrittenPercent() > kChurnStrictPercent;
  if (AsksForEvidence(strictness) && churns) strictness = Strictness::kFrequency;
  if (strictness == Strictness::kOnce && churns) return {Action::kDrop, Reason::kChurn};
  if (strictness <= Strictness::kLatest) return {Action::kToScm, Reason::kPolicyDefault, /*proven=*/true};
  if (strictness == Strictness::kDramFirst) return {Action::kToScm, Reason::kPolicyDefault};
  if (has_ghost || block.was_hit_in_dram) {
    const double dropped = dropped_frequency_.load(std::memory_order_relaxed);
    if (strictness == Strictness::kFrequency &&
        (sketch_.Estimate(hash) << kFrequencyShift) < MiniatureTier::kOverDropped * dropped)
      return {Action::kDrop, Reason::kTooCold};
    return {Action::kToScm, has_ghost ? Reason::kGhost : Reason::kHit, has_ghost};
  }
  if (strictness == Strictness::kOpen) return {Action::kToScm, Reason::kPolicyDefault};
  if (miniatures_.stale() && Probe(hash)) return {Action::kToScm, Reason::kProbe};
  return {Action::kDrop, Reason::kNoEvidence};
}

// Whether the block is let in as a probe. The keys that are change whenever the sketch has aged by a line.
bool AdaptivePolicy::Probe(uint64_t hash) { return ((hash >> 32) + aging_.unaged_lookups()) % kProbes == 0; }

// The reason not to write, if there is one. Otherwise the write is charged to both limits.
std::optional<Reason> AdaptivePolicy::LimitReached(uint32_t bytes) {
  const uint64_t record_bytes = uint64_t{bytes} + kRecordOverheadBytes;
  const bool churns = filled_.load(std::memory_order_relaxed) && governor_.WrittenPercent() > kChurnStopPercent;
  if (churns && !IsRenewed()) return Reason::kChurn;
  if (!budget_.Take(record_bytes)) return Reason::kWriteBudget;
  governor_.AddWrites(record_bytes);
  return std::nullopt;
}

Decision AdaptivePolicy::OnReclaim(const BlockFacts& block) {
  const uint64_t hash = HashOfBlock(block.key);
  const Decision decision = Survival(block, hash);
  if (decision.action == Action::kDrop && block.demotable && !block.in_dram) return decision;
  // The slow ones of ordered media may still have room. A tier that packs makes room by that first: evidence is asked
  // for once something had to go.
  const bool fills = !block.demotable && (!block.codec || (decision.action == Action::kDrop && !block.in_dram));
  if (fills && !filled_.load(std::memory_order_relaxed)) filled_.store(true, std::memory_order_relaxed);
  // Of what DRAM holds as well: when it leaves DRAM, it has proved itself already.
  if (decision.action == Action::kDrop) ghost_.Insert(hash);
  return decision;
}

Decision AdaptivePolicy::OnDemotion(const BlockFacts& block) {
  const auto limit = LimitReached(block.bytes);
  if (!limit) return {Action::kDemote, Reason::kPolicyDefault};
  if (!filled_.load(std::memory_order_relaxed)) filled_.store(true, std::memory_order_relaxed);
  ghost_.Insert(HashOfBlock(block.key));
  return {Action::kDrop, *limit};
}

// Whether the record does not pack, in a tier where most others do.
bool AdaptivePolicy::IsLargeAmongPacked(const BlockFacts& block) const {
  if (!block.codec || block.packed || block.packable || !RolePacks(block.role)) return false;
  const uint64_t packed_percent = packed_percent_.load(std::memory_order_relaxed);
  return uint64_t{block.bytes} * 100 * 100 > kLargePercent * packed_percent * meter_.mean_bytes();
}

Decision AdaptivePolicy::Survival(const BlockFacts& block, uint64_t hash) {
  const unsigned of_its_generation = block.proven && !IsRenewed() ? HeatOfSpared(miniatures_.verdict()) : 1;
  const bool spares = block.scm_heat >= of_its_generation + (IsLargeAmongPacked(block) ? 1 : 0);
  if (block.in_dram && !(spares && block.packed)) return {Action::kDrop, Reason::kInDram};
  if (spares || block.packable) {
    if (const auto limit = LimitReached(block.write_bytes())) return {Action::kDrop, *limit};
    return spares ? Decision{Action::kSpare, Reason::kHit} : Decision{Action::kPack, Reason::kFull};
  }
  if (block.proven) {
    const uint32_t mean = dropped_frequency_.load(std::memory_order_relaxed);
    const uint32_t frequency = sketch_.Estimate(hash) << kFrequencyShift;
    assert(mean <= FrequencySketch::kMax << kFrequencyShift);
    dropped_frequency_.store(Decayed(mean, frequency, kDroppedShift), std::memory_order_relaxed);
  }
  return {Action::kDrop, Reason::kNoHit};
}

}  // namespace mezz
