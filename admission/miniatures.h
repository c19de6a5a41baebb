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

// How much evidence a block needs to be demoted, and where it is kept then: each is a whole policy. From the first to
// the last, fewer bytes are written.
enum class Strictness : uint8_t {
  kOnce,       // as kLatest, but a single hit spares nothing: for what is asked for twice and never again
  kLatest,     // none; proven at once, so that each stays for a turn of the log, as in a list by age
  kOpen,       // none; proven if its ghost is known
  kDramFirst,  // none; young, and one hit spares a proven record too: what policy=dram_first does
  kEvidence,   // it was hit in DRAM, or its ghost is known
  kFrequency,  // that, and it is asked for clearly more often than what the SCM tier drops (kOverDropped)
  kCount
};
inline constexpr size_t kStrictnesses = static_cast<size_t>(Strictness::kCount);
inline bool AsksForEvidence(Strictness strictness) { return strictness >= Strictness::kEvidence; }
// The heat that spares a proven record. What came back starts with one, as all do that kOnce and kLatest write.
inline unsigned HeatOfSpared(Strictness strictness) {
  if (strictness == Strictness::kDramFirst) return 1;
  return strictness == Strictness::kOnce ? 3 : 2;
}

// Which strictness suits the workload of the moment, and which blocks are hot: found out by running the SCM tier in
// miniature, once for each strictness, on the accesses to a small sample of the keys (miniature simulation,
// Waldspurger et al., ATC'17; the sample is spatial, by hash, as in SHARDS, FAST'15). No rule for all workloads is
// known: admitting everything wins where reuse follows recency, asking for evidence where it follows frequency, and
// frequency where the working set is far larger than the cache. Who runs every one of them in miniature and does as the
// best one did loses no more to it than it takes to find out.
//
// A miniature is a tier whose records have no bytes: two queues, young and proven, a share of the capacity for the
// young, second chances as the policy's, ghosts as long as both tiers. Its score is its hits less the cost of what was
// written, both decaying. The verdict is the best one's strictness; of those that are as good to within kEquals, the
// strictest: it writes least, and a chain of writes in the tier that the miniatures do not see has nothing to go on.
//
// All of them share the one DRAM tier that there is: what enters it, what leaves it, and what is hit in it. A block
// that the SCM tier serves in place does not pass through DRAM. A miniature that has not got it would have read it from
// flash, and it would soon have left DRAM again: there it is judged at once, as one that was not hit. Otherwise a
// miniature could not get back what it had dropped for as long as the SCM tier kept it.
//
// What was scored before the load moved says nothing about what comes, and the strict ones are slow to let go of what
// was hot. So if kLatest has found half as much again as the SCM tier itself in each of kMovedJudgements judgements in
// a row, the load has moved: all of them start anew, and kLatest is the verdict until its miniature is
// full, by when the SCM tier has about turned over. A scan is no such move, as kLatest finds nothing either; nor are
// working sets that alternate, as two moves are kMovesApart tiers' worth of look-ups apart at least.
//
// The hot threshold is the frequency from which on the sampled keys just fill kHotShare of the DRAM tier; none is hot
// while that is not kHotOverMean times the mean, unless all of them fit.
//
// Work is bounded: an event walks at most kWalkedPerEventMax records of each miniature, and of those spares at most
// half. A miniature that needs more room than that gives stays over its size until later events have walked on.
//
// Thread-safe: one mutex, only ever tried: an event that finds it taken is left out of the sample. The verdict and the
// threshold are relaxed atomics, one word each: they are advice, and publish nothing else.
class Miniatures {
 public:
  struct Options {
    uint64_t dram_bytes = 0;
    uint64_t scm_bytes = 0;
    uint32_t block_bytes = 4096;
    unsigned young_percent = kYoungPercentDefault;
  };
  // `sketch` outlives this.
  Miniatures(const Options& options, const FrequencySketch& sketch);

  // The tiers have other sizes: starts anew, with a sample so thin that it fits the memory there is. Verdict, threshold
  // and staleness stand until the next judgement. Waits for the mutex; for both sizes 0 it changes nothing.
  void SetCapacity(uint64_t dram_bytes, uint64_t scm_bytes);

  // Whether events of this key are wanted; the others are cheap to leave out. `hash` must be well mixed.
  bool Samples(uint64_t hash) const { return (hash & sample_mask_.load(std::memory_order_relaxed)) == 0; }

  // A look-up missed the DRAM tier. `in_scm`: it found the block there. `enters_dram`: the block is in DRAM after it,
  // read from flash or promoted. True: the load has moved, as this look-up made certain.
  bool OnDramMiss(uint64_t hash, bool in_scm, bool enters_dram);
  // The block leaves the DRAM tier. `write_cost`: of a mean block written now, in flash reads.
  void OnDramEviction(uint64_t hash, uint32_t bytes, bool was_hit, double write_cost = kWriteCost);

  Strictness verdict() const { return verdict_.load(std::memory_order_relaxed); }
  // Blocks asked for this often, and more, fill the DRAM tier.
  unsigned hot_frequency() const { return hot_frequency_.load(std::memory_order_relaxed); }
  // The miniature of the verdict's strictness finds next to nothing: what lies in SCM is of no use.
  bool stale() const { return stale_.load(std::memory_order_relaxed); }

  size_t dram_bytes() const;
  // Records walked to make room since this was made. An estimate while others run.
  uint64_t walked_records() const { return walked_records_.load(std::memory_order_relaxed); }

  // Each event adds at most one record by itself, so 32 keep up.
  static constexpr unsigned kWalkedPerEventMax = 32;
  static constexpr double kWriteCost = 0.05;  // of a raw block
  static constexpr double kEquals = 0.002;    // of the score: results/policy/summary.md
  // The frequency that is asked for, over the mean of what is dropped. The sketch is halved line by line, so the
  // estimate of a key that is asked for steadily varies by two. Among equals, as in a loop larger than both tiers, what
  // lies in SCM is to stay: at 1 half of them were written again and again. From 1.6 on traces lose.
  static constexpr double kOverDropped = 1.4;
  // What kOnce must find more than kLatest, of the score: it lets go of what the others have found worth keeping.
  static constexpr double kOnceOverLatest = 1.02;
  // See above: judgements in a row; a share of the look-ups below which what kLatest finds says nothing; tiers' worth
  // of look-ups.
  static constexpr uint32_t kMovedJudgements = 5;
  static constexpr double kMovedShare = 0.12;
  static constexpr uint64_t kMovesApart = 16;
  static constexpr double kHotShare = 0.6;
  static constexpr double kHotOverMean = 1.5;  // the hot threshold, over the mean frequency of the keys that are known
  static constexpr unsigned kNothingIsHot = FrequencySketch::kMax + 1;

 private:
  // Of both tiers' capacity: 160 KB at most, 1.2 bytes a block at 2^17.
  static constexpr uint32_t kSampledBlocksMax = 1024;
  static constexpr uint32_t kKeysPerTwoBlocks = 7;
  static constexpr size_t kWays = 8;

  enum class Place : uint32_t { kNowhere, kYoung, kProven };
  // A sampled key, as one miniature sees it. Packed: of the six a key has, three bytes each.
  struct [[gnu::packed]] View {
    uint32_t number : 20 = 0;  // of its record while it has a place, else of its refusal or drop; 0: none
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
    double dropped_frequency = 0;     // of what left the proven queue, a decaying mean
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

  // `ratio_min`: one key in so many is sampled, or fewer.
  void Size(uint64_t dram_bytes, uint64_t scm_bytes, uint64_t ratio_min);

  const FrequencySketch& sketch_;
  const uint32_t block_bytes_;
  const unsigned young_percent_;
  // Stored under mutex_, read anywhere, relaxed: an event of a key of the former sample is left out, or in, no more.
  std::atomic<uint64_t> sample_mask_{0};

  std::mutex mutex_;
  // All below: GUARDED_BY(mutex_).
  uint64_t scm_bytes_ = 0, dram_bytes_ = 0;  // in miniature
  uint64_t young_bytes_ = 0;                 // of scm_bytes_
  uint64_t ratio_at_first_ = 1;
  uint32_t ghosts_max_ = 0;
  std::vector<Key> keys_;  // kWays-way set-associative by hash
  std::vector<Tier> tiers_;
  double write_cost_ = kWriteCost;  // as told last
  uint32_t events_ = 0;
  // Of sixteen events each. It wraps after a million: many times the keys there are.
  uint16_t Now() const { return static_cast<uint16_t>(std::max(1u, events_ >> 4 & 0xffff)); }
  uint32_t lookups_ = 0;
  double decayed_lookups_ = 0;
  uint32_t judge_every_ = 0;
  uint32_t found_ = 0;                     // in the SCM tier since the last judgement
  uint32_t behind_ = 0;                    // judgements in a row in which kLatest found that much more
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
