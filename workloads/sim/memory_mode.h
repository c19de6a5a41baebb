// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "admission/curves/block_key.h"

namespace mezz::sim {

// Optane's Memory Mode ("2LM"), and CXL expanders behind such a cache: memory is the far memory (SCM), and the memory
// controller keeps a direct-mapped, write-back cache of it in the near memory (DRAM), which software does not see.
// Reads and writes that miss both fetch the line into near memory; a dirty one that it displaces is written back (Yang
// et al., FAST'20, section 2.1; Hildebrand et al., "A Case Against Hardware Managed DRAM Caches for NVRAM Based
// Systems", ISPASS'21). What it holds of far memory it holds twice, so near memory adds no capacity.
//
// The hardware's lines have 64 bytes; ours are places, each the room of a block. So a hit is a hit for the whole block:
// hardware would fetch the few lines that a search touches, now and again, and displace as few. Far memory is a
// multiple of near memory, and the kernel deals physical pages out at random, on purpose for such caches
// (page_alloc.shuffle, Linux 5.2): each set of near memory has its equal share of the places, a random one.
class NearMemory {
 public:
  // REQUIRES: near_places > 0.
  NearMemory(uint32_t near_places, uint32_t far_places, uint64_t seed) : seed_(seed), lines_(near_places) {
    set_of_.resize(far_places);
    for (uint32_t place = 0; place < far_places; ++place) set_of_[place] = place % near_places;
    std::mt19937_64 random(seed);
    std::ranges::shuffle(set_of_, random);
  }

  struct Outcome {
    bool hit = false;
    bool wrote_back = false;
  };
  // Reads the place, or writes it.
  Outcome Touch(uint32_t place, bool write) {
    Line& line = lines_[SetOf(place)];
    Outcome outcome{.hit = line.place == place};
    if (!outcome.hit) {
      outcome.wrote_back = line.dirty;
      line = {.place = place};
    }
    line.dirty |= write;
    return outcome;
  }

  // Places beyond the far memory, where a cache overshoots, are dealt out by hash.
  uint32_t SetOf(uint32_t place) const {
    if (place < set_of_.size()) return set_of_[place];
    return static_cast<uint32_t>(MixWord(place ^ MixWord(seed_)) % lines_.size());
  }

 private:
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  struct Line {
    uint32_t place = kNoPlace;
    bool dirty = false;  // holds what far memory does not
  };

  const uint64_t seed_;
  std::vector<uint32_t> set_of_;
  std::vector<Line> lines_;
};

// Which place of memory a block has. As allocators do, the one freed last is handed out first.
class Places {
 public:
  explicit Places(uint32_t blocks) : place_(blocks) {}

  uint32_t of(uint32_t block) const { return place_[block]; }  // REQUIRES: taken by it
  uint32_t Take(uint32_t block) {
    if (free_.empty()) return place_[block] = taken_++;
    place_[block] = free_.back();
    free_.pop_back();
    return place_[block];
  }
  void Free(uint32_t block) { free_.push_back(place_[block]); }
  uint32_t in_use() const { return taken_ - static_cast<uint32_t>(free_.size()); }

 private:
  std::vector<uint32_t> place_, free_;
  uint32_t taken_ = 0;  // that were ever
};

}  // namespace mezz::sim
