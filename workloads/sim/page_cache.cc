// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/page_cache.h"

#include <fmt/format.h>

#include <cmath>

namespace mezz::sim {

uint32_t InactiveRatio(double bytes) {
  const double gib = std::floor(bytes / (1 << 30));
  return gib < 1 ? 1 : static_cast<uint32_t>(std::sqrt(10 * gib));
}

PageCacheModel::PageCacheModel(uint32_t blocks, const Charges& charges, uint64_t capacity, uint32_t inactive_ratio)
    : charges_(charges), capacity_(capacity), inactive_ratio_(inactive_ratio), lists_(blocks, 2), state_(blocks) {}

bool PageCacheModel::Read(BlockId block) {
  State& state = state_[block];
  const uint64_t charge = charges_.of(block);
  if (state.place == kNowhere) {
    const bool refaults = state.left && age_ - state.left_at_age <= size_[kActive];
    if (charge > capacity_) return false;
    MakeRoom(charge);
    Put(refaults ? kActive : kInactive, block);
    if (refaults) age_ += charge;
    state.referenced = true;
    return false;
  }
  if (state.place == kInactive && state.referenced) {
    Take(block);
    Put(kActive, block);
    age_ += charge;
    state.referenced = false;
  } else {
    state.referenced = true;
  }
  return true;
}

void PageCacheModel::Put(Place place, BlockId block) {
  lists_.PushHead(place, block);
  state_[block].place = place;
  size_[place] += charges_.of(block);
}

void PageCacheModel::Take(BlockId block) {
  lists_.Remove(block);
  size_[state_[block].place] -= charges_.of(block);
  state_[block].place = kNowhere;
}

void PageCacheModel::MakeRoom(uint64_t charge) {
  while (usage() + charge > capacity_) {
    while (size_[kInactive] * inactive_ratio_ < size_[kActive]) {
      const BlockId oldest = lists_.Tail(kActive);
      Take(oldest);
      Put(kInactive, oldest);
    }
    const BlockId leaving = lists_.Tail(kInactive);
    Take(leaving);
    state_[leaving].left = true;
    state_[leaving].left_at_age = age_;
    age_ += charges_.of(leaving);
  }
}

void PageCacheModel::Audit(std::vector<std::string>* violations) const {
  uint64_t sizes[2] = {0, 0};
  for (BlockId block = 0; block < state_.size(); ++block) {
    if (state_[block].place != kNowhere) sizes[state_[block].place] += charges_.of(block);
  }
  for (const Place place : {kInactive, kActive}) {
    if (sizes[place] != size_[place])
      violations->push_back(fmt::format("the page cache lists {} bytes, {} counted", sizes[place], size_[place]));
  }
  if (usage() > capacity_) violations->push_back(fmt::format("the page cache holds {} of {}", usage(), capacity_));
}

}  // namespace mezz::sim
