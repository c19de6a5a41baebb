// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "admission/frequency_sketch.h"

namespace mezz {

// Ages a sketch as look-ups come, line by line, so that its counters are halved once in ten look-ups for each block of
// capacity. No look-up waits for the bookkeeping of the DRAM hits before it: a call ages kLinesPerCallMax lines at
// most, and the calls that follow the rest. At that pace the sketch is halved once in 1/128 as many look-ups as it has
// keys, so old counts do not stay. Thread-safe.
class SketchAging {
 public:
  static constexpr unsigned kLinesPerCallMax = 4;

  // For a sketch of `blocks` keys, which must outlive this.
  SketchAging(size_t blocks, FrequencySketch* sketch);

  // Look-ups were made: ages some of the lines that are owed for them.
  void OnLookups(uint64_t lookups);
  // Ages lines that are still owed for earlier look-ups, if there are any.
  void GoOn() {
    if (unaged_lookups_.load(std::memory_order_relaxed) >= lookups_per_line_) AgeOwedLines();
  }
  // The counts are of a load that is gone: all lines are owed to be aged until they are zero.
  void Forget() { unaged_lookups_.store(unaged_max(), std::memory_order_relaxed); }

  uint64_t unaged_lookups() const { return unaged_lookups_.load(std::memory_order_relaxed); }
  // How many look-ups halve the sketch once.
  uint64_t lookups_per_halving() const { return lookups_per_line_ * sketch_.lines(); }

 private:
  // After this many halvings a counter of four bits is zero, so no more are ever owed.
  static constexpr uint64_t kHalvingsOwedMax = 4;
  uint64_t unaged_max() const { return kHalvingsOwedMax * lookups_per_halving(); }
  void AgeOwedLines();

  FrequencySketch& sketch_;
  const uint64_t lookups_per_line_;
  // Look-ups for which no line was aged yet. Raised by CAS up to unaged_max(), or stored as that; a thread that lowers
  // it by CAS then ages a line. Relaxed: it publishes nothing.
  alignas(64) std::atomic<uint64_t> unaged_lookups_{0};
};

}  // namespace mezz
