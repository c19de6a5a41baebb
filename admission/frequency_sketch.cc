// SPDX-License-Identifier: Apache-2.0
#include "admission/frequency_sketch.h"

#include <algorithm>
#include <cassert>

namespace mezz {

FrequencySketch::FrequencySketch(size_t keys, uint64_t seed, unsigned doublings_max)
    : seed_(seed),
      table_(std::max<size_t>(1, (keys * kBytesPerKey + sizeof(Line) - 1) / sizeof(Line)), doublings_max) {}

unsigned FrequencySketch::Estimate(uint64_t hash) const {
  const Line& line = table_.Of(hash);
  const uint64_t bits = BitsOf(hash);
  uint64_t least = kMax;
  for (size_t row = 0; row < kRows; ++row) {
    const Counter counter = CounterOf(bits, row);
    least = std::min(least, line.words[counter.word].load(std::memory_order_relaxed) >> counter.shift & kMax);
  }
  return static_cast<unsigned>(least);
}

// It has no branches: which counters are minimal cannot be predicted, and a mispredicted branch costs more than all
// else.
unsigned FrequencySketch::Increment(uint64_t hash) {
  Line& line = table_.Of(hash);
  const uint64_t bits = BitsOf(hash);
  std::array<Counter, kRows> counters;
  std::array<uint64_t, kRows> seen, counts;
  for (size_t row = 0; row < kRows; ++row) {
    counters[row] = CounterOf(bits, row);
    seen[row] = line.words[counters[row].word].load(std::memory_order_relaxed);
    counts[row] = seen[row] >> counters[row].shift & kMax;
  }
  const uint64_t least = std::min(std::min(counts[0], counts[1]), std::min(counts[2], counts[3]));
  const uint64_t grows = least != kMax;
  for (size_t row = 0; row < kRows; ++row) {
    const uint64_t step = uint64_t{counts[row] == least} & grows;
    assert(counts[row] + step <= kMax);  // or it would carry into its neighbour
    line.words[counters[row].word].store(seen[row] + (step << counters[row].shift), std::memory_order_relaxed);
  }
  return static_cast<unsigned>(least + grows);
}

void FrequencySketch::Raise(uint64_t hash, unsigned frequency) {
  frequency = std::min(frequency, kMax);
  for (unsigned counted = Estimate(hash); counted < frequency; counted = Increment(hash)) {
  }
}

void FrequencySketch::AgeNextLine() {
  Line& line = table_.At(hand_.fetch_add(1, std::memory_order_relaxed) % lines());
  for (std::atomic<uint64_t>& word : line.words) {
    uint64_t seen = word.load(std::memory_order_relaxed);
    while (seen != 0 && !word.compare_exchange_weak(seen, seen >> 1 & 0x7777'7777'7777'7777ull,
                                                    std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }
}

}  // namespace mezz
