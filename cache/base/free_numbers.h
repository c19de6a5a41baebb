// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <optional>

namespace mezz {

// Hands out numbers from 0, the lowest free one first, and takes them back.
//
// One atomic word, a bit for each number that is free:
//   set --Take: CAS, acquire--> clear --Return: fetch_or, release--> set
// So the thread that takes a number comes after all that its last holder did.
//
// Word: std::atomic<uint64_t>, or Atomic<uint64_t> (atomic.h) where the model checker is to see it.
//
// Thread-safe. Neither blocks nor allocates.
template <typename Word>
class FreeNumbers {
 public:
  static constexpr unsigned kCountMax = 64;

  constexpr explicit FreeNumbers(unsigned count) : free_(count >= kCountMax ? UINT64_MAX : (uint64_t{1} << count) - 1) {
    assert(count > 0);
  }

  // Takes the lowest free number. Empty: all are taken.
  std::optional<unsigned> Take() {
    uint64_t free = free_.load(std::memory_order_relaxed);
    while (free != 0) {
      const uint64_t left = free & (free - 1);
      if (free_.compare_exchange_weak(free, left, std::memory_order_acquire, std::memory_order_relaxed))
        return static_cast<unsigned>(std::countr_zero(free));
    }
    return std::nullopt;
  }
  void Return(unsigned number) {
    const uint64_t bit = uint64_t{1} << number;
    [[maybe_unused]] const uint64_t before = free_.fetch_or(bit, std::memory_order_release);
    assert((before & bit) == 0);
  }

 private:
  Word free_;
};

}  // namespace mezz
