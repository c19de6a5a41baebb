// SPDX-License-Identifier: Apache-2.0
// Single-tier caches, for comparison at the same total capacity. Each has
//
//   Access(block)     true on a hit; a miss brings the block in, as the policy has it, unless it exceeds the capacity
//   Prefetch(block)   a hint that Access(block) comes soon
//
// A block takes its charge of the capacity: its bytes, or 1. Where all take 1, LRU, CLOCK and S3-FIFO miss exactly
// where libCacheSim's do with its defaults (commit aa0fc409); w_tinylfu.h says where W-TinyLFU differs. REQUIRES of
// all: capacity > 0, blocks below the number given to the constructor, and charges that outlive it.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/curves/block_lists.h"
#include "admission/curves/dram_models.h"

namespace mezz::sim {

inline const Charges kOneEach;

inline uint64_t PartOf(uint64_t capacity, double share) {
  return static_cast<uint64_t>(static_cast<double>(capacity) * share);
}

class LruReference {
 public:
  LruReference(uint32_t blocks, uint64_t capacity, const Charges& charges = kOneEach)
      : charges_(charges), capacity_(capacity), list_(blocks, 1), resident_(blocks, 0) {}
  bool Access(BlockId block);
  void Prefetch(BlockId block) const {
    list_.Prefetch(block);
    __builtin_prefetch(&resident_[block], 1);
  }

 private:
  const Charges& charges_;
  const uint64_t capacity_;
  uint64_t used_ = 0;
  BlockLists list_;
  std::vector<uint8_t> resident_;
};

// FIFO with reinsertion: a hit sets a bit; the oldest block goes, or, if its bit is set, loses it and starts anew.
class ClockReference {
 public:
  ClockReference(uint32_t blocks, uint64_t capacity, const Charges& charges = kOneEach)
      : charges_(charges), capacity_(capacity), list_(blocks, 1), state_(blocks, kAbsent) {}
  bool Access(BlockId block);
  void Prefetch(BlockId block) const { __builtin_prefetch(&state_[block], 1); }

 private:
  enum State : uint8_t { kAbsent, kResident, kHit };

  const Charges& charges_;
  const uint64_t capacity_;
  uint64_t used_ = 0;
  BlockLists list_;
  std::vector<uint8_t> state_;
};

// S3-FIFO (Yang et al., SOSP'23): a tenth of the capacity is a FIFO of newcomers; those hit twice there, and those
// whose key is in the ghost, go to the main FIFO, which reinserts what was hit (2 bits). The ghost holds keys of 0.9 x
// capacity. libCacheSim admits nothing to a small FIFO of one block; ours does.
class S3FifoReference {
 public:
  // `fills_main`: as later releases of libCacheSim have it, such as 0.3.5 of its package libcachesim: until the first
  // eviction, newcomers that find the small FIFO full go to the main FIFO. So the blocks that fill the cache are not
  // pushed out of the small FIFO as soon as it is full.
  S3FifoReference(uint32_t blocks, uint64_t capacity, const Charges& charges = kOneEach, bool fills_main = false);
  bool Access(BlockId block);
  void Prefetch(BlockId block) const { __builtin_prefetch(&state_[block], 1); }

 private:
  enum Place : uint8_t { kSmall, kMain, kGhost, kNowhere };
  struct State {
    Place place = kNowhere;
    uint8_t hits = 0;
  };
  static constexpr int kHitsMax = 3;
  static constexpr int kHitsToMain = 2;

  void Put(Place place, BlockId block);
  void Take(BlockId block);
  void Evict();
  void EvictSmall();  // one block, unless all have earned the main FIFO
  void EvictMain();
  void Remember(BlockId block);

  const Charges& charges_;
  const uint64_t capacity_, small_max_, main_max_, ghost_max_;
  const bool fills_main_;
  bool has_evicted_ = false;
  BlockLists lists_;
  std::vector<State> state_;
  uint64_t used_[3] = {0, 0, 0};
};

}  // namespace mezz::sim
