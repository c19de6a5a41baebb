// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/readers/loaded_trace.h"

namespace mezz::sim {

// A set of numbers below a bound with its greatest: a tree of 64-way bitmaps, at most six levels high.
class PositionSet {
 public:
  explicit PositionSet(uint64_t bound);
  bool contains(uint64_t position) const { return (levels_[0][position >> 6] >> (position & 63) & 1) != 0; }
  void Insert(uint64_t position);
  void Erase(uint64_t position);
  uint64_t Greatest() const;  // REQUIRES: not empty
  uint64_t size() const { return size_; }

 private:
  std::vector<std::vector<uint64_t>> levels_;  // bit i of a level: word i of the level below is not 0
  uint64_t size_ = 0;
};

// For each access the position of the next access of the same block; kNever if there is none. Shared by all capacities.
inline constexpr uint32_t kNever = UINT32_MAX;
std::vector<uint32_t> NextUses(const std::vector<BlockId>& accesses, uint32_t blocks);
// What NextUses and one run of OPT need.
uint64_t OptMemoryBytes(uint64_t accesses, uint32_t blocks);

// Belady's optimum with bypass for equal-sized blocks: what is kept is what is asked for again soonest, be it the new
// block or an old one. Blocks never asked for again are not kept. The cache is the set of the positions at which
// its blocks are asked for next, so an access is a hit if its own position is in the set.
class OptReference {
 public:
  OptReference(const std::vector<uint32_t>& next_uses, uint64_t capacity)
      : next_uses_(next_uses), capacity_(capacity), kept_(next_uses.size()) {}

  // The access at `position`; each position in turn.
  bool AccessAt(uint32_t position);

 private:
  const std::vector<uint32_t>& next_uses_;
  const uint64_t capacity_;
  PositionSet kept_;
};

// No cache of `capacity` bytes misses less on the accesses from `warmup` on. The optimum itself is NP-hard with sizes;
// this is PFOO-L (Berger, Beckmann and Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object
// Sizes", SIGMETRICS 2018, section 5.1): keeping a block from one request to the next takes its bytes times the
// requests between, and the cheapest of these are kept until capacity times requests is used up. `next_uses` as
// NextUses() gives.
uint64_t PfooLowerMisses(const BlockTrace& trace, const std::vector<uint32_t>& next_uses, uint64_t capacity,
                         uint64_t warmup);

}  // namespace mezz::sim
