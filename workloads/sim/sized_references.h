// SPDX-License-Identifier: Apache-2.0
// The single-tier caches of references.h and w_tinylfu.h with blocks of their own sizes and a capacity in bytes, and a
// bound in place of the optimum. With equal blocks they hit where those do. A block larger than the capacity is not
// kept. REQUIRES of all: capacity > 0.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/curves/block_lists.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/sim/w_tinylfu.h"

namespace mezz::sim {

class SizedLru {
 public:
  SizedLru(const BlockTrace& trace, uint64_t capacity)
      : trace_(trace), capacity_(capacity), list_(trace.unique(), 1), resident_(trace.unique(), 0) {}
  bool Access(BlockId block);

 private:
  const BlockTrace& trace_;
  const uint64_t capacity_;
  uint64_t used_ = 0;
  BlockLists list_;
  std::vector<uint8_t> resident_;
};

class SizedClock {
 public:
  SizedClock(const BlockTrace& trace, uint64_t capacity)
      : trace_(trace), capacity_(capacity), list_(trace.unique(), 1), state_(trace.unique(), kAbsent) {}
  bool Access(BlockId block);

 private:
  enum State : uint8_t { kAbsent, kResident, kHit };

  const BlockTrace& trace_;
  const uint64_t capacity_;
  uint64_t used_ = 0;
  BlockLists list_;
  std::vector<uint8_t> state_;
};

// `fills_main`: as libCacheSim has it (references.h).
class SizedS3Fifo {
 public:
  SizedS3Fifo(const BlockTrace& trace, uint64_t capacity, bool fills_main);
  bool Access(BlockId block);

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
  void EvictSmall();
  void EvictMain();
  void Remember(BlockId block);

  const BlockTrace& trace_;
  const uint64_t capacity_, small_max_, main_max_, ghost_max_;
  const bool fills_main_;
  bool has_evicted_ = false;
  BlockLists lists_;
  std::vector<State> state_;
  uint64_t used_[3] = {0, 0, 0};
};

class SizedWTinyLfu {
 public:
  SizedWTinyLfu(const BlockTrace& trace, uint64_t capacity);
  bool Access(BlockId block);

 private:
  enum Place : uint8_t { kWindow, kProbation, kProtected, kNowhere };

  void Put(Place place, BlockId block);
  void Take(BlockId block);
  void HitMain(BlockId block);
  void InsertMain(BlockId block);
  BlockId MainVictim() const;
  void EvictFromWindow();
  uint64_t main_used() const { return used_[kProbation] + used_[kProtected]; }

  const BlockTrace& trace_;
  const uint64_t capacity_, window_max_, main_max_, probation_max_, protected_max_;
  const uint64_t hits_per_halving_;
  BlockLists lists_;
  std::vector<uint8_t> place_;
  uint64_t used_[4] = {0, 0, 0, 0};
  CountingFilter filter_;
  uint64_t main_hits_ = 0;  // since the last halving
};

// No cache of `capacity` bytes misses less on the accesses from `warmup` on. The optimum itself is NP-hard with sizes;
// this is PFOO-L (Berger, Beckmann and Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object
// Sizes", SIGMETRICS 2018, section 5.1): keeping a block from one request to the next takes its bytes times the
// requests between, and the cheapest of these are kept until capacity times requests is used up. `next_uses` as
// NextUses() gives.
uint64_t PfooLowerMisses(const BlockTrace& trace, const std::vector<uint32_t>& next_uses, uint64_t capacity,
                         uint64_t warmup);

}  // namespace mezz::sim
