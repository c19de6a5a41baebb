// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/stack_distances.h"

#include <algorithm>
#include <utility>

namespace mezz {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

StackDistances::StackDistances(uint32_t keys_max, uint64_t seed)
    : keys_max_(keys_max), sample_(1.0, seed), order_(4 * size_t{keys_max}, kNone), tree_(order_.size() + 1) {}

void StackDistances::Count(uint32_t position, int32_t change) {
  for (uint32_t i = position + 1; i < tree_.size(); i += i & -i) tree_[i] += static_cast<uint32_t>(change);
}

uint32_t StackDistances::CountUpTo(uint32_t position) const {
  uint32_t sum = 0;
  for (uint32_t i = position + 1; i > 0; i -= i & -i) sum += tree_[i];
  return sum;
}

void StackDistances::Access(uint64_t key) {
  if (!sample_.Keeps(key)) return;
  const auto known = static_cast<uint32_t>(keys_.size());
  const uint32_t number = numbers_.Number(key);
  if (number == known) {
    keys_.push_back(key);
    positions_.push_back(kNone);
  } else {
    const uint32_t position = positions_[number];
    distances_.Add((known - CountUpTo(position)) * scale_, scale_);
    Count(position, -1);
    order_[position] = kNone;
  }
  if (next_position_ == order_.size()) Compact();
  Place(number);
  if (keys_.size() > keys_max_) Shrink();
}

void StackDistances::Place(uint32_t number) {
  positions_[number] = next_position_;
  order_[next_position_] = number;
  Count(next_position_++, 1);
}

void StackDistances::Compact() {
  const std::vector<uint32_t> old = std::exchange(order_, std::vector<uint32_t>(order_.size(), kNone));
  std::ranges::fill(tree_, 0);
  next_position_ = 0;
  for (const uint32_t number : old) {
    if (number != kNone) Place(number);
  }
}

void StackDistances::Shrink() {
  const std::vector<uint32_t> old = std::exchange(order_, std::vector<uint32_t>(order_.size(), kNone));
  const std::vector<uint64_t> keys = std::exchange(keys_, {});
  std::ranges::fill(tree_, 0);
  positions_.clear();
  numbers_ = KeyMap();
  next_position_ = 0;
  sample_.Halve();
  scale_ *= 2;
  for (const uint32_t number : old) {
    if (number == kNone || !sample_.Keeps(keys[number])) continue;
    keys_.push_back(keys[number]);
    positions_.push_back(kNone);
    Place(numbers_.Number(keys[number]));
  }
}

}  // namespace mezz
