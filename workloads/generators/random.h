// SPDX-License-Identifier: Apache-2.0
// Seeded randomness that gives the same numbers on every platform.
#pragma once

#include <cstdint>
#include <random>

namespace mezz {

// SplitMix64's finalizer: a bijection that mixes every bit.
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The distributions of <random> differ between standard libraries; its engines do not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(Mix64(seed)) {}

  uint64_t Bits() { return engine_(); }
  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  uint64_t Below(uint64_t bound) {                                             // [0, bound), bias below 2^-24 for 2^40
    return static_cast<uint64_t>((static_cast<unsigned __int128>(engine_()) * bound) >> 64);
  }

 private:
  std::mt19937_64 engine_;
};

// A seeded bijection of [0, size): a Feistel network over the next power of four, walked until it lands inside. It
// scatters the popular ranks over the keys without making two of them the same key.
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed) : size_(size), seed_(Mix64(seed)) {
    while (half_bits_ < 32 && (uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  }

  uint64_t operator()(uint64_t index) const {
    do {
      index = Scramble(index);
    } while (index >= size_);
    return index;
  }

 private:
  uint64_t Scramble(uint64_t index) const {
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = index >> half_bits_;
    uint64_t right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (Mix64(right ^ seed_ ^ (round << 60)) & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  uint64_t size_;
  uint64_t seed_;
  unsigned half_bits_ = 1;
};

}  // namespace mezz
