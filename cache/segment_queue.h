// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <optional>

#include "cache/types.h"

namespace mezz {

// Segments in the order in which reclaim reaches them. It is a ring whose memory is allocated once. Taking the first
// out takes constant time, and so does putting one in front, which the adoption of an earlier life's segments does,
// from the youngest to the oldest. Not thread-safe.
class SegmentQueue {
 public:
  explicit SegmentQueue(size_t capacity)
      : capacity_(capacity), ring_(std::make_unique_for_overwrite<SegmentId[]>(capacity)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  SegmentId operator[](size_t at) const {
    assert(at < size_);
    return ring_[Place(at)];
  }

  void PushBack(SegmentId id) {
    assert(size_ < capacity_);
    ring_[Place(size_++)] = id;
  }
  void PushFront(SegmentId id) {
    assert(size_ < capacity_);
    first_ = Place(capacity_ - 1);
    ++size_;
    ring_[first_] = id;
  }

  // Takes out the first segment for which `judge` is true.
  template <typename Judge>
  std::optional<size_t> Find(Judge&& judge) const {
    for (size_t at = 0; at < size_; ++at) {
      if (judge((*this)[at])) return at;
    }
    return std::nullopt;
  }
  void EraseAt(size_t at) {
    assert(at < size_);
    for (; at > 0; --at) ring_[Place(at)] = ring_[Place(at - 1)];
    first_ = Place(1);
    --size_;
  }
  // Takes a segment out. False: it is not in this queue.
  bool Erase(SegmentId id) {
    const std::optional<size_t> at = Find([id](SegmentId here) { return here == id; });
    if (at) EraseAt(*at);
    return at.has_value();
  }

 private:
  size_t Place(size_t at) const { return first_ + at < capacity_ ? first_ + at : first_ + at - capacity_; }

  const size_t capacity_;
  const std::unique_ptr<SegmentId[]> ring_;
  size_t first_ = 0, size_ = 0;
};

}  // namespace mezz
