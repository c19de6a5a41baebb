// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/opt.h"

#include <algorithm>
#include <bit>

namespace mezz::sim {

PositionSet::PositionSet(uint64_t bound) {
  uint64_t words = std::max<uint64_t>(bound, 1);
  do {
    words = (words + 63) / 64;
    levels_.emplace_back(words, 0);
  } while (words > 1);
}

void PositionSet::Insert(uint64_t position) {
  ++size_;
  for (std::vector<uint64_t>& level : levels_) {
    uint64_t& word = level[position >> 6];
    const bool was_empty = word == 0;
    word |= uint64_t{1} << (position & 63);
    if (!was_empty) return;
    position >>= 6;
  }
}

void PositionSet::Erase(uint64_t position) {
  --size_;
  for (std::vector<uint64_t>& level : levels_) {
    uint64_t& word = level[position >> 6];
    word &= ~(uint64_t{1} << (position & 63));
    if (word != 0) return;
    position >>= 6;
  }
}

uint64_t PositionSet::Greatest() const {
  uint64_t at = 0;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    at = at << 6 | (63 - static_cast<unsigned>(std::countl_zero((*level)[at])));
  }
  return at;
}

std::vector<uint32_t> NextUses(const std::vector<BlockId>& accesses, uint32_t blocks) {
  std::vector<uint32_t> next(accesses.size());
  std::vector<uint32_t> latest(blocks, kNever);
  for (size_t at = accesses.size(); at-- > 0;) {
    next[at] = latest[accesses[at]];
    latest[accesses[at]] = static_cast<uint32_t>(at);
  }
  return next;
}

uint64_t OptMemoryBytes(uint64_t accesses, uint32_t blocks) {
  return accesses * sizeof(uint32_t) + uint64_t{blocks} * sizeof(uint32_t) + accesses / 7;
}

bool OptReference::AccessAt(uint32_t position) {
  const bool hit = kept_.contains(position);
  if (hit) kept_.Erase(position);
  const uint32_t next = next_uses_[position];
  if (next == kNever) return hit;
  if (kept_.size() == capacity_) {
    const uint64_t furthest = kept_.Greatest();
    if (furthest < next) return hit;  // cannot be after a hit: that has just made room
    kept_.Erase(furthest);
  }
  kept_.Insert(next);
  return hit;
}

uint64_t PfooLowerMisses(const BlockTrace& trace, const std::vector<uint32_t>& next_uses, uint64_t capacity,
                         uint64_t warmup) {
  const std::vector<BlockId>& accesses = trace.accesses();
  std::vector<uint64_t> costs;  // of the hits after the warm-up that can be had
  for (uint64_t at = 0; at < accesses.size(); ++at) {
    const uint32_t next = next_uses[at];
    const uint64_t bytes = trace.bytes(accesses[at]);
    if (next == kNever || next < warmup || bytes > capacity) continue;
    costs.push_back(bytes * (next - std::max(at, warmup)));
  }
  std::ranges::sort(costs);
  const uint64_t counted = accesses.size() - warmup;
  unsigned __int128 left = static_cast<unsigned __int128>(capacity) * counted;
  uint64_t hits = 0;
  for (const uint64_t cost : costs) {
    if (cost > left) break;
    left -= cost;
    ++hits;
  }
  return counted - hits;
}

}  // namespace mezz::sim
