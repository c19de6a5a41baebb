// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
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

// A key of the sample, and what each miniature knows of it.
struct SampledKey {
  enum class Place : uint32_t { kNowhere, kYoung, kProven };
  // As one miniature sees the key. It is packed into three bytes, as a key has six of them.
  struct [[gnu::packed]] View {
    uint32_t number : 20 = 0;  // of its record, if it has one, else of its refusal or drop; 0: none
    Place place : 2 = Place::kNowhere;
    uint32_t heat : 2 = 0;
  };
  static_assert(sizeof(View) == 3);
  static constexpr uint32_t kBytesMax = (1u << 31) - 1;

  uint32_t hash_low = 0, hash_high = 0;  // halves: the whole would be padded to its alignment
  uint32_t bytes : 31 = 0;
  uint32_t in_dram : 1 = 0;
  std::array<View, kStrictnesses> views;
  uint16_t used = 0;  // when its last event was; 0: the slot is free

  uint64_t hash() const { return uint64_t{hash_high} << 32 | hash_low; }
};
static_assert(sizeof(SampledKey) == 32);

// What all miniatures share.
struct MiniatureSample {
  const FrequencySketch& sketch;
  const uint32_t block_bytes;
  uint64_t scm_bytes = 0;    // in miniature
  uint64_t young_bytes = 0;  // of scm_bytes
  uint32_t ghosts_max = 0;
  double write_cost = 0;  // of a block, in flash reads
  std::vector<SampledKey> keys{};

  unsigned FrequencyOf(const SampledKey& key) const { return sketch.Estimate(key.hash()); }
};

// The SCM tier in miniature under one strictness: records without bytes in two queues, young and proven, with second
// chances as the policy gives them, and ghosts as long as both tiers. Not thread-safe.
//
// The work is bounded: an event walks at most kWalkedPerEventMax records, and spares at most half of them. A tier that
// needs more room stays above its size until later events have walked on.
class MiniatureTier {
 public:
  // An event adds at most one record, so 32 suffice to keep up.
  static constexpr unsigned kWalkedPerEventMax = 32;
  // The frequency that is required, in multiples of the mean of what is dropped. The sketch is halved line by line, so
  // the estimate of a key that is asked for steadily varies by a factor of two. Among equals, as in a loop larger than
  // both tiers, the blocks in SCM should stay: with 1 half of them were written again and again. From 1.6 on traces
  // lose.
  static constexpr double kOverDropped = 1.4;
  static constexpr uint32_t kKeysMax = 1u << 12;

  // `records`: the most that each queue holds. `sample` must outlive this.
  MiniatureTier(Strictness strictness, size_t records, MiniatureSample* sample);

  // The view of the key that is this tier's.
  SampledKey::View& ViewOf(SampledKey* key) const { return key->views[static_cast<size_t>(strictness_)]; }
  bool Holds(const SampledKey& key) const {
    return key.views[static_cast<size_t>(strictness_)].place != SampledKey::Place::kNowhere;
  }
  // Counts a hit. REQUIRES: Holds(*key).
  void Hit(SampledKey* key);
  // The key, which the tier may hold, leaves DRAM: writes a record of it, if there is enough evidence. Returns how many
  // records it walked to make room.
  unsigned Demote(SampledKey* key, bool was_hit);
  // Removes the record of the key, if there is one.
  void Forget(SampledKey* key);
  void StartAnew();

  // Its hits less the cost of what was written, both decaying; in flash reads.
  double score() const { return hits_ - write_cost_; }
  double hits() const { return hits_; }
  uint32_t hits_in_turn() const { return hits_in_turn_; }  // since StartTurn()
  bool filled() const { return filled_; }                  // it had to make room
  void StartTurn() { hits_in_turn_ = 0; }
  void Decay(double by);
  size_t dram_bytes() const { return sizeof(*this) + young_.dram_bytes() + proven_.dram_bytes(); }

 private:
  using Place = SampledKey::Place;
  using View = SampledKey::View;
  static constexpr uint32_t kNumberMask = (1u << 20) - 1;
  // A record of the key in `slot`. A stale one is found out before 2^20 others are written.
  struct Record {
    uint32_t slot : 12;
    uint32_t number : 20;
  };
  static_assert(sizeof(Record) == 4);
  // First in, first out, in a fixed space.
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

  bool Admits(SampledKey* key, bool was_hit) const;
  bool HasGhost(SampledKey* key) const {
    const SampledKey::View& view = ViewOf(key);
    return view.number != 0 && ((ghosts_ - view.number) & kNumberMask) < sample_.ghosts_max;
  }
  void LeaveGhost(SampledKey* key) { ViewOf(key).number = ++ghosts_ & kNumberMask; }
  bool IsOf(Record record, SampledKey* key) const { return Holds(*key) && record.number == ViewOf(key).number; }
  void Put(SampledKey* key, bool proven);
  unsigned MakeRoom(uint64_t bytes);

  MiniatureSample& sample_;
  const Strictness strictness_;
  Queue young_, proven_;
  uint64_t used_bytes_ = 0, young_bytes_ = 0;
  uint32_t writes_ = 0;  // numbers records
  uint32_t ghosts_ = 0;  // numbers refusals and drops
  uint32_t hits_in_turn_ = 0;
  double dropped_frequency_ = 0;  // of keys that left the proven queue, a decaying mean
  double hits_ = 0, write_cost_ = 0;
  bool filled_ = false;
};

}  // namespace mezz
