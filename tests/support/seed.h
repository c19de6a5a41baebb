// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace mezz::test {

inline bool is_seed_drawn = false;

// The seed of this run of random tests: MEZZ_SEED=n, or another each time. It is printed when it is drawn, and by
// test_main.cc behind each test that fails.
inline uint64_t Seed() {
  static const uint64_t seed = [] {
    is_seed_drawn = true;
    const char* given = std::getenv("MEZZ_SEED");
    const uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::fprintf(stderr, "MEZZ_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

}  // namespace mezz::test
