// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "admission/break_even.h"
#include "admission/dram_window.h"
#include "admission/frequency_sketch.h"
#include "admission/ghost.h"
#include "admission/miniatures.h"
#include "admission/policy.h"
#include "admission/promotion_feedback.h"
#include "admission/write_limits.h"

namespace mezz {

// Writes to SCM what is likely to be asked for again, and copies to DRAM what is asked for most.
// docs/explanation/policies.md has the picture, the reasons and the measurements. It tunes itself;
// PolicyOptions::write_budget_bytes_per_second is the only knob.
//
//   on a miss           to DRAM; but data that a compaction reads goes nowhere, and data goes past DRAM, as if that
//                       had evicted it at once, while newcomers find nothing there (DramWindow), and always if DRAM
//                       is not for it. To both, if its ghost is known and its image is at hand
//   on what RocksDB     of a flush to DRAM; of a compaction to SCM if a parent was in the cache, as proven if one was
//   has written         hit there, and it is known to have been asked for as often as they; else nowhere. Metadata to
//                       DRAM
//   on a DRAM eviction  kept if recorded. Else demoted with evidence: it was hit in DRAM, its ghost is known, or it is
//                       metadata; how much evidence is needed the miniatures say (Strictness). Blocks whose ghost is
//                       known are demoted as proven. While the SCM tier fills, all are.
//   on an SCM hit       promoted if its frequency reaches the hot threshold and promotions pay: raw, by what became of
//                       those before (PromotionFeedback); packed, if its place in DRAM earns more so than with
//                       newcomers, too (BreakEven). Small metadata always; else in place, as what DRAM is not for
//                       (past_dram) always is
//   on reclaim          spared if hit since it was written; a proven one, if hit as often in its turn as the miniatures
//                       say (HeatOfSpared); one that does not pack among others that do, if hit once more. Never if
//                       DRAM holds it, unless it is packed. What is dropped leaves a ghost.
//
// Where flushes and compactions replace files (IsRenewed), this evidence is not to be had: it is kept by block, and
// each new file has new blocks, of which nothing is known though their keys were asked for before. There it does as
// dram_first does: everything that leaves DRAM is demoted, nothing is promoted, one hit spares a record of either
// generation, and the young have more room. The governor does not stop what mostly takes the place of dead blocks; the
// write budget holds.
//
// Every write passes the governor and the budget first.
//
// Costs: an SCM hit is one line of the sketch, an eviction that line and one of the ghost; of one key in many also a
// step of the miniatures. About five bytes a block of capacity (docs/explanation/policies.md).
class AdaptivePolicy final : public Policy {
 public:
  static constexpr std::string_view kName = "adaptive";

  explicit AdaptivePolicy(const PolicyOptions& options);

  std::string_view name() const override { return kName; }
  bool may_divert_misses() const override { return true; }
  Decision OnMiss(const BlockFacts& block) override;
  Decision OnWarm(const BlockFacts& block, const Lineage& lineage) override;
  uint8_t Frequency(const BlockKey& key) const override;
  Decision OnDramEviction(const BlockFacts& block) override;
  Decision OnScmHit(const BlockFacts& block) override;
  Decision OnReclaim(const BlockFacts& block) override;
  void OnDramHits(uint64_t count) override;
  void OnCapacity(uint64_t dram_bytes, uint64_t scm_bytes) override;
  unsigned young_percent() const override { return IsRenewed() ? kYoungPercentDefault : kYoungPercent; }
  unsigned requeue_percent() const override { return kRequeuePercent; }
  size_t dram_bytes() const override;

  // Lines of the sketch that were aged since the policy was made.
  uint64_t aged_lines() const { return sketch_.aged_lines(); }

  // No call ages more lines than this: a look-up is not to wait for the bookkeeping of the DRAM hits before it. What
  // is owed then is paid by the look-ups that follow, four lines each; at that pace the sketch is halved once while
  // 1/128 of its keys come by, so being in debt does not let old counts stand.
  static constexpr unsigned kAgedLinesPerCallMax = 4;
  // Index and filter blocks above this are served where they lie: a probe reads a few lines of them, and each would
  // take the room of many data blocks in DRAM.
  static constexpr uint32_t kSmallMetadataBytes = 32 << 10;
  // Less than S3-FIFO's tenth: the DRAM tier before the young is such a window too.
  static constexpr unsigned kYoungPercent = 6;
  // Bounds the dead and the cold in a segment that is kept whole to the rest of it.
  static constexpr unsigned kRequeuePercent = 85;
  // Packing 4 KiB inline, in flash reads of 80 us: LZ4 7 us, zstd 17.
  static constexpr double kPackCostLz4 = 0.0875, kPackCostZstd = 0.2125;
  // What a hit in DRAM spares against a packed one, from find to release, in flash reads: LZ4 3 us, zstd 9.
  static constexpr double kPackedHitCostLz4 = 0.0375, kPackedHitCostZstd = 0.1125;
  // Of the mean packed block: a raw one above that takes the room of several.
  static constexpr uint64_t kLargePercent = 125;
  // Bytes that RocksDB's flushes and compactions have offered, in thousandths of those looked up, from which on files
  // are taken to be replaced faster than evidence gathers: docs/explanation/heirs.md.
  static constexpr uint64_t kRenewedPermille = 4;
  // Written bytes in percent of those looked up, above which only the strictest evidence counts, unless the miniatures
  // found that writing everything pays; and above which nothing is written.
  static constexpr uint64_t kChurnStrictPercent = 50;
  static constexpr uint64_t kChurnStopPercent = 100;

 private:
  uint64_t HashOfBlock(const BlockKey& key) const;
  void CountLookup(const BlockFacts& block);
  void Advance(uint64_t lookups, uint64_t bytes);
  void AgeOwedLines();
  void TellMiniatures(uint64_t hash, bool in_scm, bool enters_dram);
  void Grow(uint64_t bytes);
  uint64_t unaged_lookups_max() const;
  Decision Demotion(const BlockFacts& block, uint64_t hash, bool has_ghost);
  Decision Entry(const BlockFacts& block, uint64_t hash, bool has_ghost);
  Decision Evidence(const BlockFacts& block, uint64_t hash, bool has_ghost);
  Decision Survival(const BlockFacts& block, uint64_t hash);
  bool IsLargeAmongPacked(const BlockFacts& block) const;
  std::optional<Reason> LimitReached(uint32_t bytes);
  uint32_t PromotionTarget(const BlockFacts& block) const;
  double WriteCost(const BlockFacts& block);
  bool Probe(uint64_t hash);
  // Files are replaced so fast that what is known of blocks by their keys is of files that are gone.
  bool IsRenewed() const { return renewal_.HasWritten(kRenewedPermille); }
  bool Promotes(const BlockFacts& block, uint64_t hash, unsigned frequency) const;

  const PolicyOptions options_;
  FrequencySketch sketch_;
  Ghost ghost_;
  Miniatures miniatures_;
  PromotionFeedback promotion_;
  BreakEven break_even_;
  DramWindow window_;
  WriteGovernor governor_;
  WriteGovernor renewal_;  // of bytes that RocksDB has written, beside those looked up
  WriteBudget budget_;
  const uint64_t lookups_per_aged_line_;
  std::mutex growing_;
  // Guarded by growing_: the tiers' blocks that each is sized for.
  uint64_t sketched_bytes_, ghost_bytes_;

  // Look-ups that missed DRAM, counted apart by each thread's stripe and passed on in batches.
  struct alignas(64) Stripe {
    std::atomic<uint32_t> lookups{0};
    std::atomic<uint64_t> bytes{0};  // looked up since the last batch
  };
  static constexpr size_t kStripes = 8;
  static constexpr uint32_t kBatch = 64;
  std::array<Stripe, kStripes> stripes_;

  // Relaxed, all of them: they are estimates, and publish nothing.
  // Look-ups that no line of the sketch was aged for yet: raised by CAS up to unaged_lookups_max(), or stored as that,
  // lowered by CAS by whoever then ages a line.
  alignas(64) std::atomic<uint64_t> unaged_lookups_{0};
  std::atomic<uint32_t> dropped_frequency_{0};  // mean of what reclaim drops of the proven, in 1/1024
  // false -> true at the first reclaim; true -> false when the SCM tier grows: there is room again.
  std::atomic<bool> filled_{false};
  std::atomic<uint64_t> scm_bytes_;  // as told last
  // What a packed record takes of its block of late, in percent; 100 while records are raw.
  std::atomic<uint32_t> packed_percent_{100};
  // A block looked up, as the last few thousand that missed DRAM had them; until there are some, what was expected.
  std::atomic<uint64_t> mean_bytes_;
};

}  // namespace mezz
