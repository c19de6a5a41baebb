// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

namespace mezz {

// The bytes of blocks that may still be brought back into the DRAM tier whatever the policy says (warm_dram).
//
//   left:  0 --Open--> N;  n --Take of at most n: CAS--> n - bytes;  n --Take of more: CAS--> 0, for good
//   taken: 0 --Take that got its bytes: add--> N at most
//
// So `left` only falls, and `taken` is at most N in all. Relaxed, because they publish nothing.
class WarmBudget {
 public:
  // Before the first look-up.
  void Open(uint64_t bytes) { left_.store(bytes, std::memory_order_relaxed); }
  // The only thing that a hit asks once the budget is used up.
  bool used_up() const { return left_.load(std::memory_order_relaxed) == 0; }
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

  // Takes so many bytes. If fewer are left it returns false, and the budget is used up: a rest that only a smaller
  // block could take is not worth a test at each hit.
  bool Take(uint64_t bytes) {
    uint64_t left = left_.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t next = bytes <= left ? left - bytes : 0;
      assert(next <= left);
      if (left_.compare_exchange_weak(left, next, std::memory_order_relaxed)) break;
    }
    if (bytes > left) return false;
    taken_.fetch_add(bytes, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<uint64_t> left_{0};
  std::atomic<uint64_t> taken_{0};
};

}  // namespace mezz
