// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "admission/frequency_sketch.h"
#include "admission/miniature_tier.h"
#include "cache/types.h"

namespace mezz {

// Finds the strictness that suits the present workload, and which blocks are hot. It runs the SCM tier in miniature,
// once for each strictness, on the accesses to a small sample of the keys. (Miniature simulation: Waldspurger et al.,
// ATC'17. The sample is spatial, by hash, as in SHARDS, FAST'15.) No single rule is best for all workloads: admitting
// everything wins where reuse follows recency, asking for evidence where it follows frequency, and frequency where the
// working set is far larger than the cache. Running all of them and doing as the best one did loses only the time that
// it takes to find that one.
//
// The score of a miniature (MiniatureTier) is its hits less the cost of what was written, both decaying. The verdict is
// the strictness of the best miniature. Of those that are within kEquals of it the strictest wins: it writes least, and
// the miniatures do not see how writes in the tier cause more writes.
//
// All miniatures share the one real DRAM tier: what enters it, what leaves it, and what is hit in it. A block that the
// SCM tier serves in place does not pass through DRAM. A miniature without the block would have read it from flash, and
// DRAM would soon have evicted it. So that miniature judges it at once, as a block that was not hit. Otherwise a
// miniature could not get back what it had dropped while the SCM tier kept it.
//
// Scores from before the load moved say nothing about the future, and strict miniatures are slow to drop what was hot.
// So the load is taken to have moved if kLatest found half as much again as the SCM tier itself in kMovedJudgements
// judgements in a row. All miniatures then start anew. kLatest is the verdict until its miniature is full; by then the
// SCM tier has about turned over. A scan is no such move, as kLatest finds nothing either. Nor are working sets that
// alternate, as two moves are at least kMovesApart tiers' worth of look-ups apart.
//
// The hot threshold is the frequency from which on the sampled keys just fill kHotShare of the DRAM tier. No key is hot
// while that is less than kHotOverMean times the mean, unless all keys fit.
//
// Thread-safe. There is one mutex, which events only try to lock: an event that finds it taken is left out of the
// sample. The verdict and the threshold are relaxed atomic words, as they are hints and publish nothing else.
class Miniatures {
 public:
  struct Options {
    uint64_t dram_bytes = 0;
    uint64_t scm_bytes = 0;
    uint32_t block_bytes = 4096;
    unsigned young_percent = kYoungPercentDefault;
  };
  // `sketch` must outlive this.
  Miniatures(const Options& options, const FrequencySketch& sketch);

  // Sets new sizes of the tiers: starts anew, with a sample thin enough for the memory that there is. Verdict,
  // threshold and staleness stay until the next judgement. Waits for the mutex. If both sizes are 0 it changes nothing.
  void SetCapacity(uint64_t dram_bytes, uint64_t scm_bytes);

  // Whether the key is in the sample, so that its events count. `hash` must be well mixed.
  bool Samples(uint64_t hash) const { return (hash & sample_mask_.load(std::memory_order_relaxed)) == 0; }

  // Call it when a look-up missed the DRAM tier. `in_scm`: it found the block in SCM. `enters_dram`: the block is in
  // DRAM afterwards, read from flash or promoted. True: this look-up has shown that the load has moved.
  bool OnDramMiss(uint64_t hash, bool in_scm, bool enters_dram);
  // Call it when the block leaves the DRAM tier. `write_cost`: of a mean block that is written now, in flash reads.
  void OnDramEviction(uint64_t hash, uint32_t bytes, bool was_hit, double write_cost = kWriteCost);

  Strictness verdict() const { return verdict_.load(std::memory_order_relaxed); }
  // The hot threshold: blocks that are asked for this often, or more, fill the DRAM tier.
  unsigned hot_frequency() const { return hot_frequency_.load(std::memory_order_relaxed); }
  // Whether the miniature of the verdict's strictness finds next to nothing, so that the blocks in SCM are useless.
  bool stale() const { return stale_.load(std::memory_order_relaxed); }

  size_t dram_bytes() const;
  // How many records were walked to make room since this was made. An estimate while other calls run.
  uint64_t walked_records() const { return walked_records_.load(std::memory_order_relaxed); }

  static constexpr double kWriteCost = 0.05;  // of a raw block
  static constexpr double kEquals = 0.002;    // a share of the score: results/policy/summary.md
  // How much higher than kLatest's the score of kOnce must be, as it drops what the others found worth keeping.
  static constexpr double kOnceOverLatest = 1.02;
  // For a moved load, as said above: judgements in a row; the share of look-ups below which kLatest's hits say nothing;
  // tiers' worth of look-ups between two moves.
  static constexpr uint32_t kMovedJudgements = 5;
  static constexpr double kMovedShare = 0.12;
  static constexpr uint64_t kMovesApart = 16;
  static constexpr double kHotShare = 0.6;
  static constexpr double kHotOverMean = 1.5;  // the hot threshold, over the mean frequency of the keys that are known
  static constexpr unsigned kNothingIsHot = FrequencySketch::kMax + 1;

 private:
  // The number of blocks in the sample, of both tiers. They take 160 KB at most, or 1.2 bytes a block with 2^17 blocks.
  static constexpr uint32_t kSampledBlocksMax = 1024;
  static constexpr uint32_t kKeysPerTwoBlocks = 7;
  static constexpr size_t kWays = 8;

  static_assert(kSampledBlocksMax * kKeysPerTwoBlocks / 2 <= MiniatureTier::kKeysMax);

  SampledKey* Find(uint64_t hash);
  void Demote(MiniatureTier* tier, SampledKey* key, bool was_hit);
  bool Judge();
  bool HasMoved();
  void StartAnew();
  MiniatureTier& TierOf(Strictness strictness) { return tiers_[static_cast<size_t>(strictness)]; }
  void SweepHistogram();

  // `ratio_min`: one key in this many is sampled, or fewer.
  void Size(uint64_t dram_bytes, uint64_t scm_bytes, uint64_t ratio_min);

  const unsigned young_percent_;
  // Stored under mutex_, read anywhere. Relaxed: at worst an event of a key of the former sample is counted or left
  // out.
  std::atomic<uint64_t> sample_mask_{0};

  std::mutex mutex_;
  // All below: GUARDED_BY(mutex_).
  uint64_t dram_bytes_ = 0;  // in miniature
  uint64_t ratio_at_first_ = 1;
  MiniatureSample sample_;            // its keys are kWays-way set-associative by hash
  std::vector<MiniatureTier> tiers_;  // by strictness
  uint32_t events_ = 0;
  // The time, in units of sixteen events. It wraps after a million events: many times the number of keys.
  uint16_t Now() const { return static_cast<uint16_t>(std::max(1u, events_ >> 4 & 0xffff)); }
  uint32_t lookups_ = 0;
  double decayed_lookups_ = 0;
  uint32_t judge_every_ = 0;
  uint32_t found_ = 0;                     // hits of the SCM tier since the last judgement
  uint32_t behind_ = 0;                    // judgements in a row in which kLatest found half as much again
  uint64_t since_moved_ = UINT64_MAX / 2;  // look-ups
  bool turning_ = false;                   // the load has moved, and kLatest is not full yet
  size_t swept_ = 0;
  std::array<uint64_t, FrequencySketch::kMax + 1> histogram_{};  // bytes by frequency

  std::atomic<Strictness> verdict_{Strictness::kEvidence};
  std::atomic<unsigned> hot_frequency_{2};
  std::atomic<bool> stale_{false};
  std::atomic<uint64_t> walked_records_{0};  // relaxed, stored under mutex_
};

}  // namespace mezz
