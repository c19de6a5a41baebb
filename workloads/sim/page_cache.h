// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/block_lists.h"
#include "admission/curves/dram_models.h"

namespace mezz::sim {

// How many times longer the active list may be than the inactive one: Linux, mm/vmscan.c, inactive_is_low. The root of
// ten times the GiB, 1 below one GiB.
uint32_t InactiveRatio(double bytes);

// The kernel's page cache as it was by default until the multi-generational one, and is where that is off: two lists,
// inactive and active, and the eviction times of what has left (Linux 6.1: mm/vmscan.c, mm/swap.c, mm/workingset.c).
//
//   read, absent   brought in: at the head of the active list if, since it left, no more has left or been activated
//                  than the active list holds (a refault within the working set), else of the inactive list; marked
//                  referenced
//   read, inactive  referenced: moves to the active list, the mark taken away; else marked
//   read, active    marked
//   room is needed  while the active list is more than `inactive_ratio` times the inactive one, its tail moves to the
//                   inactive head, with its mark; then the inactive tail leaves
//
// A block is what its file holds of it, compressed: bytes, not pages. Neighbours in a page, and readahead, are left
// out: both as if the pages' other bytes were of no cost and of no use.
class PageCacheModel {
 public:
  PageCacheModel(uint32_t blocks, const Charges&& charges, uint64_t capacity, uint32_t inactive_ratio) = delete;
  PageCacheModel(uint32_t blocks, const Charges& charges, uint64_t capacity, uint32_t inactive_ratio);

  // True on a hit; a miss brings the block in.
  bool Read(BlockId block);
  uint64_t usage() const { return size_[kInactive] + size_[kActive]; }
  void Audit(std::vector<std::string>* violations) const;

 private:
  enum Place : uint8_t { kInactive, kActive, kNowhere };
  struct State {
    Place place = kNowhere;
    bool referenced = false;
    bool left = false;         // was here before
    uint64_t left_at_age = 0;  // age_ when it left
  };

  void Put(Place place, BlockId block);
  void Take(BlockId block);
  void MakeRoom(uint64_t charge);

  const Charges& charges_;
  const uint64_t capacity_;
  const uint32_t inactive_ratio_;
  BlockLists lists_;
  std::vector<State> state_;
  uint64_t size_[2] = {0, 0};
  uint64_t age_ = 0;  // bytes that have left or been activated
};

}  // namespace mezz::sim
