// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "cache/types.h"

namespace mezz {

// Objects that were erased from HyperClockCache while somebody used them. HyperClockCache hides such an entry, and the
// last user frees it. If an eviction finds the entry after that user's last step but before the freeing, the entry is
// reported as evicted (seen in 8.10 to 11.8: ClockUpdate evicts what is invisible and not referred to). Its bytes must
// not be demoted, because its key may have others by now.
//
// A small set of addresses.  0 --Add: CAS--> address --Take: CAS--> 0.  Relaxed, because HyperClockCache itself orders
// the erasure, which follows Add, before the eviction that asks. An address that nobody takes, because its object was
// freed unseen, costs one later object its demotion. Where more objects of one line are in use than it has words, one
// is overwritten (exchange).
class ErasedObjects {
 public:
  // REQUIRES: `object` is not null.
  void Add(const void* object) {
    assert(object != nullptr);
    const auto address = reinterpret_cast<uintptr_t>(object);
    Line& line = LineOf(address);
    count_.fetch_add(1, std::memory_order_relaxed);
    for (std::atomic<uintptr_t>& word : line.words) {
      uintptr_t empty = 0;
      if (word.compare_exchange_strong(empty, address, std::memory_order_relaxed)) return;
    }
    // Another thread may have taken the old address meanwhile, and counted that.
    if (line.words[address / sizeof(Line) % line.words.size()].exchange(address, std::memory_order_relaxed) != 0)
      count_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Removes the object, and returns true if it was there. Cheap as long as nothing is erased while it is used. Returns
  // false for an entry without an object (RocksDB reserves memory with such), because null marks a free word.
  bool Take(const void* object) {
    if (object == nullptr || empty()) return false;
    const auto address = reinterpret_cast<uintptr_t>(object);
    for (std::atomic<uintptr_t>& word : LineOf(address).words) {
      uintptr_t expected = address;
      if (word.load(std::memory_order_relaxed) != address ||
          !word.compare_exchange_strong(expected, 0, std::memory_order_relaxed)) {
        continue;
      }
      count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  struct alignas(kLineBytes) Line {
    std::array<std::atomic<uintptr_t>, kLineBytes / sizeof(uintptr_t)> words{};
  };
  Line& LineOf(uintptr_t address) { return lines_[(address >> 4) * 0x9e3779b97f4a7c15ull >> 58]; }

  alignas(kLineBytes) std::atomic<size_t> count_{0};  // words that are not 0
  std::array<Line, 64> lines_;
};

}  // namespace mezz
