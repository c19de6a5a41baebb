// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "admission/block_hash.h"
#include "admission/tier_flow.h"
#include "cache/types.h"
#include "integration/cache_curve.h"
#include "integration/dram_tier.h"
#include "integration/live_tiers.h"
#include "integration/miss_latency.h"
#include "integration/options.h"

namespace mezz {

// Who learns from look-ups: the live curve, the bits of what was hit in DRAM, and the timer of misses. The cache tells
// all of them here. `size_of()` returns a block's bytes, and is rarely called.
//
// Thread-safe, except for the functions that must be called before the first look-up.
class LookUpObservers {
 public:
  // All must outlive this. `flow` is told how long misses took.
  LookUpObservers(const HybridCacheOptions& options, DramTier& dram, TierFlow<LiveTiers>& flow)
      : options_(options), dram_(dram), flow_(flow), measures_misses_(options.scm.pack == PackMode::kAuto) {}
  LookUpObservers(const LookUpObservers&) = delete;
  LookUpObservers& operator=(const LookUpObservers&) = delete;

  // From now on look-ups are noted in a curve. Before the first look-up.
  void OpenCurve(CacheCurve::Cache cache);
  // From now on NoteDramHit remembers which blocks were hit. For a DRAM tier that does not tell reliably whether an
  // evicted block was hit. Before the first look-up.
  void KeepHitBits(uint64_t dram_bytes) {
    dram_.KeepHitBits(dram_bytes);
    notes_dram_hits_ = true;
  }

  // The DRAM tier has answered a look-up of a block that may be demoted.
  template <typename SizeOf>
  void NoteDramHit(const BlockKey& key, BlockRole role, SizeOf&& size_of) {
    if (!notes_dram_hits_) return;
    if (dram_.hit_bits() == nullptr) return curve_->NoteLookUp(BlockHash(key), role, size_of);
    const uint64_t hash = BlockHash(key);
    if (!dram_.hit_bits()->IsSettled(hash)) [[unlikely]]
      NoteUnsettledHit(hash, role, size_of);
  }
  // The same for a compaction's look-up. It is counted in the live curve, which counts all look-ups, but is no evidence
  // that a user wants the block.
  template <typename SizeOf>
  void NoteDramRead(const BlockKey& key, BlockRole role, SizeOf&& size_of) {
    if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), role, size_of);
  }
  void NoteScmHit(const BlockKey& key, BlockRole role, size_t bytes) {
    if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), role, [bytes] { return bytes; });
  }

  // NoteMiss says that the same look-up found no block that could be served, so the caller reads flash. NoteInsert says
  // that the caller inserts what it has read. The time between the two is the cost of a miss, by which pack=auto
  // chooses. It is not measured for compactions, which read ahead, nor under a stock cache, which inserts without us.
  void NoteMiss(const BlockKey& key, BlockRole role) {
    if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), role, [] { return size_t{0}; });
    if (measures_misses_ && RolePacks(role)) StartMissTimer(key);
  }
  void NoteInsert(const BlockKey& key) {
    if (measures_misses_) StopMissTimer(key);
  }
  // Tells the live curve the size of a block that was read after a miss and may be demoted.
  template <typename SizeOf>
  void NoteInsertedSize(const BlockKey& key, SizeOf&& size_of) {
    if (curve_ != nullptr) curve_->NoteSize(BlockHash(key), size_of);
  }

  const CacheCurve* curve() const { return curve_.get(); }  // null without OpenCurve
  // CacheCurve::Make and CacheCurve::Dump. kNotSupported without a curve.
  Status MakeCurve(plan::Curve* curve) const;
  Status DumpCurve(const std::string& path) const;
  // Writes the curve to options.curve_file, if that is set. Tells of trouble on stderr.
  void WriteLastCurve() const;

  // The times of misses so far. None if they are not measured.
  std::optional<MissLatency::Snapshot> misses() const {
    if (!measures_misses_) return std::nullopt;
    return miss_latency_.Read();
  }

 private:
  // Out of line, so that a hit has no more code than it needs.
  template <typename SizeOf>
  [[gnu::noinline]] void NoteUnsettledHit(uint64_t hash, BlockRole role, SizeOf& size_of) {
    dram_.hit_bits()->Set(hash);
    if (dram_.hit_bits()->IsWatched(hash)) curve_->NoteLookUp(hash, role, size_of);
  }
  void StartMissTimer(const BlockKey& key);
  void StopMissTimer(const BlockKey& key);

  const HybridCacheOptions& options_;
  DramTier& dram_;
  TierFlow<LiveTiers>& flow_;
  const bool measures_misses_;
  bool notes_dram_hits_ = false;       // in the hit bits, or for the curve
  std::unique_ptr<CacheCurve> curve_;  // does not change once opened
  MissLatency miss_latency_;           // used with measures_misses_
};

}  // namespace mezz
