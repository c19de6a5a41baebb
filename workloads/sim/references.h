// SPDX-License-Identifier: Apache-2.0
// Single-tier caches of equal-sized blocks, for comparison at the same total capacity. Each has
//
//   Access(block)     true on a hit; a miss brings the block in, as the policy has it
//   Prefetch(block)   a hint that Access(block) comes soon
//
// LRU, CLOCK and S3-FIFO miss exactly where libCacheSim's do with its defaults (commit aa0fc409); w_tinylfu.h says
// where W-TinyLFU differs. REQUIRES of all: capacity > 0, and blocks below the number given to the constructor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "admission/curves/block_lists.h"
#include "workloads/readers/loaded_trace.h"

namespace mezz::sim {

class LruReference {
 public:
  LruReference(uint32_t blocks, uint64_t capacity) : capacity_(capacity), list_(blocks, 1), resident_(blocks, 0) {}

  bool Access(BlockId block) {
    const bool hit = resident_[block] != 0;
    if (hit) {
      list_.Remove(block);
    } else {
      if (size_ == capacity_) {
        const BlockId victim = list_.Tail(0);
        list_.Remove(victim);
        resident_[victim] = 0;
      } else {
        ++size_;
      }
      resident_[block] = 1;
    }
    list_.PushHead(0, block);
    return hit;
  }

  void Prefetch(BlockId block) const {
    list_.Prefetch(block);
    __builtin_prefetch(&resident_[block], 1);
  }

 private:
  const uint64_t capacity_;
  uint64_t size_ = 0;
  BlockLists list_;
  std::vector<uint8_t> resident_;
};

// FIFO with reinsertion: a hit sets a bit; the oldest block goes, or, if its bit is set, loses it and starts anew.
class ClockReference {
 public:
  ClockReference(uint32_t blocks, uint64_t capacity) : state_(blocks, kAbsent), ring_(capacity, kNoBlock) {}

  bool Access(BlockId block) {
    if (state_[block] != kAbsent) {
      state_[block] = kHit;
      return true;
    }
    // The hand stands at the oldest block. One that is spared becomes the youngest by staying where it is.
    while (ring_[hand_] != kNoBlock && state_[ring_[hand_]] == kHit) {
      state_[ring_[hand_]] = kResident;
      Advance();
    }
    if (ring_[hand_] != kNoBlock) state_[ring_[hand_]] = kAbsent;
    ring_[hand_] = block;
    state_[block] = kResident;
    Advance();
    return false;
  }

  void Prefetch(BlockId block) const { __builtin_prefetch(&state_[block], 1); }

 private:
  enum State : uint8_t { kAbsent, kResident, kHit };
  void Advance() { hand_ = hand_ + 1 == ring_.size() ? 0 : hand_ + 1; }

  std::vector<uint8_t> state_;
  std::vector<BlockId> ring_;
  uint64_t hand_ = 0;
};

// S3-FIFO (Yang et al., SOSP'23): a tenth of the capacity is a FIFO of newcomers; those hit twice there, and those
// whose key is in the ghost, go to the main FIFO, which reinserts what was hit (2 bits). The ghost holds 0.9 x capacity
// keys. libCacheSim admits nothing to a small FIFO of one block; ours does.
//
// `fills_main`: as later releases of libCacheSim have it, such as 0.3.5 of its package libcachesim: until the first
// eviction, newcomers that find the small FIFO full go to the main FIFO. So the blocks that fill the cache are not
// pushed out of the small FIFO as soon as it is full.
template <bool fills_main>
class S3FifoOf {
 public:
  S3FifoOf(uint32_t blocks, uint64_t capacity)
      : capacity_(capacity),
        small_max_(std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(capacity) * 0.1))),
        main_max_(capacity - std::min(capacity, small_max_)),
        ghost_max_(static_cast<uint64_t>(static_cast<double>(capacity) * 0.9)),
        lists_(blocks, 3),
        state_(blocks) {}

  bool Access(BlockId block) {
    State& state = state_[block];
    if (state.place == kSmall || state.place == kMain) {
      state.hits = static_cast<uint8_t>(std::min(state.hits + 1, kHitsMax));
      return true;
    }
    const bool ghost = state.place == kGhost;
    if (ghost) Take(block);
    while (size_[kSmall] + size_[kMain] >= capacity_) Evict();
    state.hits = 0;
    const bool filling = fills_main && !has_evicted_ && size_[kSmall] >= small_max_;
    Put(ghost || filling ? kMain : kSmall, block);
    return false;
  }

  void Prefetch(BlockId block) const { __builtin_prefetch(&state_[block], 1); }

 private:
  enum Place : uint8_t { kSmall, kMain, kGhost, kNowhere };
  struct State {
    Place place = kNowhere;
    uint8_t hits = 0;
  };
  static constexpr int kHitsMax = 3;
  static constexpr int kHitsToMain = 2;

  void Put(Place place, BlockId block) {
    lists_.PushHead(place, block);
    state_[block].place = place;
    ++size_[place];
  }
  void Take(BlockId block) {
    lists_.Remove(block);
    --size_[state_[block].place];
    state_[block].place = kNowhere;
  }

  void Evict() {
    has_evicted_ = true;
    if (size_[kMain] > main_max_ || size_[kSmall] == 0) {
      EvictMain();
    } else {
      EvictSmall();
    }
  }

  // Evicts one block, unless all have earned the main FIFO.
  void EvictSmall() {
    while (size_[kSmall] > 0) {
      const BlockId oldest = lists_.Tail(kSmall);
      Take(oldest);
      if (state_[oldest].hits < kHitsToMain) return Remember(oldest);
      state_[oldest].hits = 0;
      Put(kMain, oldest);
    }
  }

  void EvictMain() {
    for (;;) {
      const BlockId oldest = lists_.Tail(kMain);
      Take(oldest);
      if (state_[oldest].hits == 0) return;
      --state_[oldest].hits;
      Put(kMain, oldest);
    }
  }

  void Remember(BlockId block) {
    if (ghost_max_ == 0) return;
    if (size_[kGhost] == ghost_max_) Take(lists_.Tail(kGhost));
    Put(kGhost, block);
  }

  const uint64_t capacity_, small_max_, main_max_, ghost_max_;
  BlockLists lists_;
  std::vector<State> state_;
  uint64_t size_[3] = {0, 0, 0};
  bool has_evicted_ = false;
};

using S3FifoReference = S3FifoOf<false>;
using LibS3FifoReference = S3FifoOf<true>;

}  // namespace mezz::sim
