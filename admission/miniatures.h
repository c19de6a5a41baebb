// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "admission/frequency_sketch.h"
#include "cache/types.h"

namespace mezz {

// How much evidence a block needs to be demoted, and among which records it is then kept. Each value is a whole policy.
// From the first to the last, fewer bytes are written.
enum class Strictness : uint8_t {
  kOnce,       // as kLatest, but one hit spares no record: for blocks that are asked for just twice
  kLatest,     // no evidence; proven at once, so that each stays for a turn of the log, as in a list by age
  kOpen,       // no evidence; proven if its ghost is known
  kDramFirst,  // no evidence; young, and one hit spares a proven record too: as policy=dram_first
  kEvidence,   // it was hit in DRAM, or its ghost is known
  kFrequency,  // as kEvidence, and asked for clearly more often than what the SCM tier drops (kOverDropped)
  kCount
};
inline constexpr size_t kStrictnesses = static_cast<size_t>(Strictness::kCount);
inline bool AsksForEvidence(Strictness strictness) { return strictness >= Strictness::kEvidence; }
// The heat that spares a proven record. What came back starts with one, as all do that kOnce and kLatest write.
inline unsigned HeatOfSpared(Strictness strictness) {
  if (strictness == Strictness::kDramFirst) return 1;
  return strictness == Strictness::kOnce ? 3 : 2;
}

// Finds the strictness that suits the present workload, and which blocks are hot. It runs the SCM tier in miniature,
// once for each strictness, on the accesses to a small sample of the keys. (Miniature simulation: Waldspurger et al.,
// ATC'17. The sample is spatial, by hash, as in SHARDS, FAST'15.) No single rule is best for all workloads: admitting
// everything wins where reuse follows recency, asking for evidence where it follows frequency, and frequency where the
// working set is far larger than the cache. Running all of them and doing as the best one did loses only the time that
// it takes to find that one.
//
// A miniature is a tier whose records have no bytes. It has two queues, young and proven, a share of the capacity for
// the young, second chances as the policy gives them, and ghosts as long as both tiers. Its score is its hits less the
// cost of what was written, both decaying. The verdict is the strictness of the best miniature. Of those that are
// within kEquals of it the strictest wins: it writes least, and the miniatures do not see how writes in the tier cause
// more writes.
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
// The work is bounded: an event walks at most kWalkedPerEventMax records of each miniature, and spares at most half of
// them. A miniature that needs more room stays above its size until later events have walked on.
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

  // An event adds at most one record, so 32 suffice to keep up.
  static constexpr unsigned kWalkedPerEventMax = 32;
  static constexpr double kWriteCost = 0.05;  // of a raw block
  static constexpr double kEquals = 0.002;    // a share of the score: results/policy/summary.md
  // The frequency that is required, in multiples of the mean of what is dropped. The sketch is halved line by line, so
  // the estimate of a key that is asked for steadily varies by a factor of two. Among equals, as in a loop larger than
  // both tiers, the blocks in SCM should stay: with 1 half of them were written again and again. From 1.6 on traces
  // lose.
  static constexpr double kOverDropped = 1.4;
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

  enum class Place : uint32_t { kNowhere, kYoung, kProven };
  // A sampled key, as one miniature sees it. It is packed into three bytes, as a key has six of them.
  struct [[gnu::packed]] View {
    uint32_t number : 20 = 0;  // of its record, if it has one, else of its refusal or drop; 0: none
    Place place : 2 = Place::kNowhere;
    uint32_t heat : 2 = 0;
  };
  static_assert(sizeof(View) == 3);
  static constexpr uint32_t kNumberMask = (1u << 20) - 1;
  struct Key {
    uint32_t hash_low = 0, hash_high = 0;  // halves: the whole would be padded to its alignment
    uint32_t bytes : 31 = 0;
    uint32_t in_dram : 1 = 0;
    std::array<View, kStrictnesses> views;
    uint16_t used = 0;  // when its last event was (Now()); 0: the slot is free

    uint64_t hash() const { return uint64_t{hash_high} << 32 | hash_low; }
  };
  static_assert(sizeof(Key) == 32);
  static constexpr uint32_t kKeyBytesMax = (1u << 31) - 1;
  // A record of the key in `slot`. A stale one is found out before 2^20 others are written.
  struct Record {
    uint32_t slot : 12;
    uint32_t number : 20;

    bool IsOf(const View& view) const { return number == view.number; }
  };
  static_assert(sizeof(Record) == 4 && kSampledBlocksMax * kKeysPerTwoBlocks / 2 <= 1u << 12);
  // First in, first out, in a fixed space. When it is full, the oldest is overwritten.
  class Queue {
   public:
    explicit Queue(size_t capacity) : records_(capacity) {}
    bool empty() const { return begin_ == end_; }
    bool full() const { return end_ - begin_ == records_.size(); }
    void Push(Record record) {
      assert(!full());
      records_[end_++ % records_.size()] = record;
    }
    void Clear() { begin_ = end_ = 0; }
    Record Pop() {
      assert(!empty());
      return records_[begin_++ % records_.size()];
    }
    size_t dram_bytes() const { return records_.size() * sizeof(Record); }

   private:
    std::vector<Record> records_;
    size_t begin_ = 0, end_ = 0;
  };
  struct Tier {
    Tier(size_t young_records, size_t proven_records) : young(young_records), proven(proven_records) {}
    Queue young, proven;
    uint64_t used_bytes = 0, young_bytes = 0;
    uint32_t writes = 0;              // numbers records
    uint32_t ghosts = 0;              // numbers refusals and drops
    uint32_t hits_in_turn = 0;        // since the last judgement
    double dropped_frequency = 0;     // of keys that left the proven queue, a decaying mean
    double hits = 0, write_cost = 0;  // decaying; in flash reads
    bool filled = false;
  };

  Key* Find(uint64_t hash, bool make);
  void Recycle(Key* key);
  bool Admits(const Tier& tier, Strictness strictness, const Key& key, const View& view, bool was_hit) const;
  bool HasGhost(const Tier& tier, const View& view) const {
    return view.number != 0 && ((tier.ghosts - view.number) & kNumberMask) < ghosts_max_;
  }
  void Demote(size_t of, Key* key, bool was_hit);
  void Put(size_t of, uint32_t slot, bool proven);
  void MakeRoom(size_t of, uint64_t bytes);
  void Forget(size_t of, Key* key);
  bool Judge();
  bool HasMoved();
  void StartAnew();
  Tier& TierOf(Strictness strictness) { return tiers_[static_cast<size_t>(strictness)]; }
  void SweepHistogram();
  unsigned FrequencyOf(const Key& key) const { return sketch_.Estimate(key.hash()); }

  // `ratio_min`: one key in this many is sampled, or fewer.
  void Size(uint64_t dram_bytes, uint64_t scm_bytes, uint64_t ratio_min);

  const FrequencySketch& sketch_;
  const uint32_t block_bytes_;
  const unsigned young_percent_;
  // Stored under mutex_, read anywhere. Relaxed: at worst an event of a key of the former sample is counted or left
  // out.
  std::atomic<uint64_t> sample_mask_{0};

  std::mutex mutex_;
  // All below: GUARDED_BY(mutex_).
  uint64_t scm_bytes_ = 0, dram_bytes_ = 0;  // in miniature
  uint64_t young_bytes_ = 0;                 // of scm_bytes_
  uint64_t ratio_at_first_ = 1;
  uint32_t ghosts_max_ = 0;
  std::vector<Key> keys_;  // kWays-way set-associative by hash
  std::vector<Tier> tiers_;
  double write_cost_ = kWriteCost;  // as OnDramEviction said last
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
