// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "admission/growing_table.h"
namespace mezz {

// Estimates how often keys were asked for lately, 0 to 15, in a fixed space. It is a count-min sketch of 4-bit counters
// with conservative update, as in TinyLFU (Einziger et al., ACM TOS 2017), from where the small counters and their
// halving come. All four counters of a key are in one cache line (the blocked layout of Caffeine and of RocksDB's
// filters).
//
// An estimate is never below the true count since the last halving, up to 15, if one thread counts. It is above it only
// where other keys share all four counters.
//
// Each line is eight atomic words of sixteen counters. Increment loads and stores. If two threads change one word at
// once, the counts of one, or its halving, may be lost, which does little harm; no counter can overflow into the next.
// Age repeats its CAS until it succeeds. All of it is relaxed, as counters publish nothing.
//
// Thread-safe. Not copyable.
class FrequencySketch {
 public:
  // Takes two bytes for each of `keys`, rounded up to whole lines. It can be doubled `doublings_max` times.
  FrequencySketch(size_t keys, uint64_t seed, unsigned doublings_max = 0);

  // Counts one access, and returns the estimate including it. `hash` must be well mixed.
  unsigned Increment(uint64_t hash);
  unsigned Estimate(uint64_t hash) const;
  // Raises the key's estimate to at least `frequency`, which may be kMax at most.
  void Raise(uint64_t hash, unsigned frequency);

  // Halves the counters of the next line in turn. lines() calls halve all.
  void AgeNextLine();

  // Doubles the sketch, as GrowingTable::Double. Every key keeps its estimate.
  bool Double() { return table_.Double(); }

  size_t lines() const { return table_.lines(); }
  uint64_t aged_lines() const { return hand_.load(std::memory_order_relaxed); }  // since it was made
  size_t dram_bytes() const { return sizeof(*this) + table_.bytes(); }

  static constexpr unsigned kMax = 15;

 private:
  static constexpr size_t kRows = 4;
  static constexpr size_t kBytesPerKey = 2;

  struct alignas(64) Line {
    std::array<std::atomic<uint64_t>, 8> words{};
  };
  static_assert(sizeof(Line) == 64);

  // The counter of `row`: one of the 32 in the row's two words.
  struct Counter {
    size_t word;
    unsigned shift;
  };
  static Counter CounterOf(uint64_t bits, size_t row) {
    const unsigned choice = bits >> (5 * row) & 31;
    return {2 * row + (choice >> 4), (choice & 15) * 4};
  }
  uint64_t BitsOf(uint64_t hash) const { return (hash ^ seed_) * 0x9e3779b97f4a7c15ull >> 40; }

  const uint64_t seed_;
  GrowingTable<Line> table_;
  std::atomic<size_t> hand_{0};
};

}  // namespace mezz
