// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/sim/references.h"

namespace mezz::sim {

// Counts how often each block was seen: ten counters a block in one table, all of a block's raised together, the least
// of them is its count. Ten and 14.4 counters a block give the 0.1 % of false positives that libCacheSim asks for.
class CountingFilter {
 public:
  explicit CountingFilter(uint64_t blocks);
  void Add(BlockId block);
  uint32_t Estimate(BlockId block) const;
  void Halve();

 private:
  static constexpr uint32_t kHashes = 10;
  uint32_t Index(uint64_t hash, uint32_t i) const;

  std::vector<uint32_t> counters_;
};

// W-TinyLFU (Einziger et al., 2017) as libCacheSim has it: a window of 1 % (LRU), the rest a segmented LRU of one fifth
// on probation and four fifths protected. A block that leaves the window takes the place of the main part's victim if
// it was seen more often. Seen means, there and here: inserted, hit in the main part, and each time it stood for
// admission; counts are halved after 32 x capacity hits of the main part.
//
// Differences: the hash of the filter is ours, so blocks collide elsewhere; libCacheSim admits nothing where the window
// comes to less than one block, ours is one block at least.
class WTinyLfuReference {
 public:
  WTinyLfuReference(uint32_t blocks, uint64_t capacity, const Charges& charges = kOneEach);
  bool Access(BlockId block);
  void Prefetch(BlockId block) const { __builtin_prefetch(&place_[block], 1); }

 private:
  enum Place : uint8_t { kWindow, kProbation, kProtected, kNowhere };

  void Put(Place place, BlockId block);
  void Take(BlockId block);
  void HitMain(BlockId block);
  void InsertMain(BlockId block);
  BlockId MainVictim() const;
  void EvictFromWindow();
  uint64_t main_used() const { return used_[kProbation] + used_[kProtected]; }

  const Charges& charges_;
  const uint64_t mean_charge_;
  const uint64_t capacity_, window_max_, main_max_, probation_max_, protected_max_;
  BlockLists lists_;
  std::vector<uint8_t> place_;
  uint64_t used_[4] = {0, 0, 0, 0};
  CountingFilter filter_;
  uint64_t main_hits_ = 0;  // since the last halving
};

}  // namespace mezz::sim
