// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace mezz::test {

// The seed of this run of a random test, which prints it: MEZZ_SEED=n, or another each time.
inline uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("MEZZ_SEED");
    const uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::fprintf(stderr, "MEZZ_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

}  // namespace mezz::test
