// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "admission/codec_costs.h"
#include "admission/dram_window.h"
#include "admission/frequency_sketch.h"
#include "admission/ghost.h"
#include "admission/look_up_meter.h"
#include "admission/miniatures.h"
#include "admission/policy.h"
#include "admission/promotion_feedback.h"
#include "admission/promotion_threshold.h"
#include "admission/sketch_aging.h"
#include "admission/write_limits.h"

namespace mezz {

// The default policy. It writes to SCM the blocks that are likely to be asked for again, and copies to DRAM those that
// are asked for most. docs/explanation/policies.md has the picture, the reasons and the measurements. It tunes itself;
// PolicyOptions::write_budget_bytes_per_second is the only knob.
//
//   on a miss           The block goes to DRAM. Data that a compaction reads goes nowhere. Data goes past DRAM, as if
//                       DRAM had evicted it at once, while new blocks are not hit there (DramWindow), and always if it
//                       must not go there (bypass_dram). A block goes to both tiers if its ghost is known and its image
//                       is at hand.
//   on what RocksDB     A block of a flush goes to DRAM. A block of a compaction goes to SCM if a parent was in the
//   has written         cache, as proven if one was hit there, and inherits their frequency; else it goes nowhere.
//                       Metadata goes to DRAM.
//   on a DRAM eviction  The block is kept if SCM has a record of it. Else it is demoted if there is evidence: it was
//                       hit in DRAM, its ghost is known, or it is metadata. The miniatures say how much evidence is
//                       needed (Strictness). A block whose ghost is known is demoted as proven. While the SCM tier
//                       fills, every block is demoted.
//   on an SCM hit       The block is promoted if its frequency reaches the hot threshold and promotions pay. Raw blocks
//                       are judged by the promotions before (PromotionFeedback); packed ones also by whether they earn
//                       more in DRAM than new blocks do (PromotionThreshold). Small metadata is always promoted, a
//                       block with bypass_dram never. All others are served in place.
//   on reclaim          A young record is spared if it was hit since it was written; a proven one if it was hit as
//                       often in its turn as the miniatures say (HeatOfSpared). A record that does not pack, among
//                       others that do, needs one hit more. A raw record is never spared if DRAM holds the block. A
//                       dropped record leaves a ghost.
//
// While flushes and compactions replace files (IsRenewed) there is no such evidence: it is kept by block, and each new
// file has new blocks, of which nothing is known though their keys were asked for. Then the policy does as dram_first
// does: it demotes everything that leaves DRAM and promotes nothing, one hit spares a record of either generation, and
// the young have more room. The governor lets through what mostly takes the place of dead blocks; the write budget
// still holds.
//
// Every write passes the governor and the budget first.
//
// Costs: an SCM hit reads one line of the sketch, an eviction that line and one of the ghost. One key in many also
// takes a step of the miniatures. Memory: about five bytes for a block of capacity (docs/explanation/policies.md).
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
  Decision OnDemotion(const BlockFacts& block) override;
  void OnDramHits(uint64_t count) override;
  void OnCapacity(uint64_t dram_bytes, uint64_t scm_bytes) override;
  unsigned young_percent() const override { return IsRenewed() ? kYoungPercentDefault : kYoungPercent; }
  unsigned requeue_percent() const override { return kRequeuePercent; }
  size_t dram_bytes() const override;

  // How many lines of the sketch were aged since the policy was made.
  uint64_t aged_lines() const { return sketch_.aged_lines(); }

  // Larger index and filter blocks are served in place: a look-up reads a few lines of them, and each would take the
  // room of many data blocks in DRAM.
  static constexpr uint32_t kSmallMetadataBytes = 32 << 10;
  // Less than the tenth of S3-FIFO, as the DRAM tier before the young is such a window too.
  static constexpr unsigned kYoungPercent = 6;
  // The least share of hot records in a segment that is kept whole. It limits the dead and cold records to the rest.
  static constexpr unsigned kRequeuePercent = 85;
  // A raw record above this share of the mean packed one takes the room of several.
  static constexpr uint64_t kLargePercent = 125;
  // Files are taken to be replaced faster than evidence gathers once RocksDB's flushes and compactions offer this many
  // bytes for a thousand looked up: docs/explanation/heirs.md.
  static constexpr uint64_t kRenewedPermille = 4;
  // Two limits of written bytes, in percent of those looked up. Above the first only the strictest evidence counts,
  // unless the miniatures found that writing everything pays. Above the second nothing is written.
  static constexpr uint64_t kChurnStrictPercent = 50;
  static constexpr uint64_t kChurnStopPercent = 100;

 private:
  uint64_t HashOfBlock(const BlockKey& key) const { return MixedHashOf(key, options_.seed); }
  void CountLookup(const BlockFacts& block);
  void Advance(uint64_t lookups, uint64_t bytes);
  void TellMiniatures(uint64_t hash, bool in_scm, bool enters_dram);
  void Grow(uint64_t bytes);
  Decision Demotion(const BlockFacts& block, uint64_t hash, bool has_ghost);
  Decision Entry(const BlockFacts& block, uint64_t hash, bool has_ghost);
  Decision Evidence(const BlockFacts& block, uint64_t hash, bool has_ghost);
  Decision Survival(const BlockFacts& block, uint64_t hash);
  bool IsLargeAmongPacked(const BlockFacts& block) const;
  std::optional<Reason> LimitReached(uint32_t bytes);
  uint32_t PromotionTarget(const BlockFacts& block) const;
  double WriteCost(const BlockFacts& block);
  bool Probe(uint64_t hash);
  // Whether files are replaced so fast that all that is known of blocks is of files that are gone.
  bool IsRenewed() const { return renewal_.HasWritten(kRenewedPermille); }
  bool Promotes(const BlockFacts& block, uint64_t hash, unsigned frequency) const;

  const PolicyOptions options_;
  FrequencySketch sketch_;
  Ghost ghost_;
  Miniatures miniatures_;
  PromotionFeedback promotion_;
  PromotionThreshold promotion_threshold_;
  DramWindow window_;
  WriteGovernor governor_;
  WriteGovernor renewal_;  // compares the bytes that RocksDB has written with those looked up
  WriteBudget budget_;
  SketchAging aging_;
  LookUpMeter meter_;  // of look-ups that missed DRAM
  std::mutex growing_;
  // Guarded by growing_: the bytes of the tiers that sketch and ghost are sized for.
  uint64_t sketched_bytes_, ghost_bytes_;

  // All words below are relaxed: they are estimates, and publish nothing.
  std::atomic<uint32_t> dropped_frequency_{0};  // mean frequency of the proven that reclaim drops, in 1/1024
  // false -> true at the first reclaim; true -> false when the SCM tier grows: there is room again.
  std::atomic<bool> filled_{false};
  std::atomic<uint64_t> scm_bytes_;  // as OnCapacity said last
  // The size of packed records of late, in percent of their blocks; 100 while records are raw.
  std::atomic<uint32_t> packed_percent_{100};
};

}  // namespace mezz
