// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mezz::test {

inline uint64_t Mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// One of a few hundred words that all blocks have in common.
inline uint64_t CommonWord(uint64_t x) { return Mix(x % 256); }

// A small generator whose seed a failing test prints.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Mix(state_++); }
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace mezz::test
