// SPDX-License-Identifier: Apache-2.0
#include "admission/sketch_aging.h"

#include <algorithm>
#include <cassert>

namespace mezz {

SketchAging::SketchAging(size_t blocks, FrequencySketch* sketch)
    : sketch_(*sketch), lookups_per_line_(std::max<uint64_t>(1, 10 * blocks / sketch->lines())) {}

void SketchAging::OnLookups(uint64_t lookups) {
  uint64_t unaged = unaged_lookups_.load(std::memory_order_relaxed);
  uint64_t owed;
  do {
    owed = unaged + std::min(lookups, unaged_max() - unaged);
  } while (!unaged_lookups_.compare_exchange_weak(unaged, owed, std::memory_order_relaxed, std::memory_order_relaxed));
  AgeOwedLines();
}

void SketchAging::AgeOwedLines() {
  uint64_t unaged = unaged_lookups_.load(std::memory_order_relaxed);
  for (unsigned line = 0; line < kLinesPerCallMax && unaged >= lookups_per_line_; ++line) {
    assert(unaged <= unaged_max());
    if (!unaged_lookups_.compare_exchange_strong(unaged, unaged - lookups_per_line_, std::memory_order_relaxed,
                                                 std::memory_order_relaxed))
      return;  // another thread ages
    unaged -= lookups_per_line_;
    sketch_.AgeNextLine();
  }
}

}  // namespace mezz
