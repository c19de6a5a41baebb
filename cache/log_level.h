// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/segment_queue.h"
#include "cache/types.h"

namespace mezz {

// The segments of one level of a log that can be taken: to write to, or to reclaim. GUARDED_BY the log's mutex, but for
// the atomics, which are stored under it and read anywhere, relaxed, as hints.
struct LogLevel {
  LogLevel(uint32_t begin_segment, uint32_t end_segment)
      : begin(begin_segment),
        end(end_segment),
        young(size()),
        proven(size()),
        hollow(size()),
        unready(size()),
        limit(size()) {
    free.reserve(size());
    parked.reserve(size());
  }

  uint32_t size() const { return end - begin; }
  bool Has(SegmentId id) const { return Raw(id) >= begin && Raw(id) < end; }
  size_t sealed() const { return young.size() + proven.size() + hollow.size(); }
  // How many segments may be in use at once.
  uint32_t usable() const {
    const uint32_t in_order = size() - quarantined.load(std::memory_order_relaxed);
    const uint32_t most = limit.load(std::memory_order_relaxed);
    return most < in_order ? most : in_order;
  }
  // How many of the segments that are ready must not be used.
  uint32_t surplus() const {
    const uint32_t ready = size() - unready - quarantined.load(std::memory_order_relaxed);
    const uint32_t most = limit.load(std::memory_order_relaxed);
    return ready > most ? ready - most : 0;
  }

  const uint32_t begin, end;  // its segments
  // The lists have their full capacity from the start: no allocation later.
  std::vector<SegmentId> free;         // a stack
  SegmentQueue young, proven, hollow;  // sealed, oldest first
  std::vector<SegmentId> parked;
  uint32_t unready;  // segments that are kUnready
  Atomic<uint32_t> limit;
  Atomic<uint32_t> free_count{0}, quarantined{0};
};

}  // namespace mezz
