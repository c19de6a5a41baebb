// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/references.h"

#include <algorithm>

namespace mezz::sim {

bool LruReference::Access(BlockId block) {
  if (resident_[block] != 0) {
    list_.Remove(block);
    list_.PushHead(0, block);
    return true;
  }
  const uint64_t charge = charges_.of(block);
  if (charge > capacity_) return false;
  while (used_ + charge > capacity_) {
    const BlockId victim = list_.Tail(0);
    list_.Remove(victim);
    resident_[victim] = 0;
    used_ -= charges_.of(victim);
  }
  resident_[block] = 1;
  used_ += charge;
  list_.PushHead(0, block);
  return false;
}

bool ClockReference::Access(BlockId block) {
  if (state_[block] != kAbsent) {
    state_[block] = kHit;
    return true;
  }
  const uint64_t charge = charges_.of(block);
  if (charge > capacity_) return false;
  while (used_ + charge > capacity_) {
    const BlockId oldest = list_.Tail(0);
    list_.Remove(oldest);
    if (state_[oldest] == kHit) {
      state_[oldest] = kResident;
      list_.PushHead(0, oldest);
      continue;
    }
    state_[oldest] = kAbsent;
    used_ -= charges_.of(oldest);
  }
  state_[block] = kResident;
  used_ += charge;
  list_.PushHead(0, block);
  return false;
}

S3FifoReference::S3FifoReference(uint32_t blocks, uint64_t capacity, const Charges& charges, bool fills_main)
    : charges_(charges),
      capacity_(capacity),
      small_max_(std::max<uint64_t>(1, PartOf(capacity, 0.1))),
      main_max_(capacity - std::min(capacity, small_max_)),
      ghost_max_(PartOf(capacity, 0.9)),
      fills_main_(fills_main),
      lists_(blocks, 3),
      state_(blocks) {}

bool S3FifoReference::Access(BlockId block) {
  State& state = state_[block];
  if (state.place == kSmall || state.place == kMain) {
    state.hits = static_cast<uint8_t>(std::min(state.hits + 1, kHitsMax));
    return true;
  }
  const uint64_t charge = charges_.of(block);
  if (charge > capacity_) return false;
  const bool ghost = state.place == kGhost;
  if (ghost) Take(block);
  while (used_[kSmall] + used_[kMain] + charge > capacity_) Evict();
  state.hits = 0;
  const bool small_is_full = used_[kSmall] + charge > small_max_;
  Put(ghost || (fills_main_ && !has_evicted_ && small_is_full) ? kMain : kSmall, block);
  return false;
}

void S3FifoReference::Put(Place place, BlockId block) {
  lists_.PushHead(place, block);
  state_[block].place = place;
  used_[place] += charges_.of(block);
}

void S3FifoReference::Take(BlockId block) {
  lists_.Remove(block);
  used_[state_[block].place] -= charges_.of(block);
  state_[block].place = kNowhere;
}

void S3FifoReference::Evict() {
  has_evicted_ = true;
  if (used_[kMain] > main_max_ || used_[kSmall] == 0) {
    EvictMain();
  } else {
    EvictSmall();
  }
}

void S3FifoReference::EvictSmall() {
  while (used_[kSmall] > 0) {
    const BlockId oldest = lists_.Tail(kSmall);
    Take(oldest);
    if (state_[oldest].hits < kHitsToMain) return Remember(oldest);
    state_[oldest].hits = 0;
    Put(kMain, oldest);
  }
}

void S3FifoReference::EvictMain() {
  for (;;) {
    const BlockId oldest = lists_.Tail(kMain);
    Take(oldest);
    if (state_[oldest].hits == 0) return;
    --state_[oldest].hits;
    Put(kMain, oldest);
  }
}

void S3FifoReference::Remember(BlockId block) {
  const uint64_t charge = charges_.of(block);
  if (charge > ghost_max_) return;
  while (used_[kGhost] + charge > ghost_max_) Take(lists_.Tail(kGhost));
  Put(kGhost, block);
}

}  // namespace mezz::sim
