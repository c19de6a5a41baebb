// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>

namespace mezz {

// A table of lines of atomic words, found by hash, that may be doubled while it is used. Address space for the largest
// size is reserved; only the part in use takes memory.
//
// Doubling copies line i to 2i and 2i + 1, the last line first, so each key finds what its line held. A thread that
// reads or writes meanwhile may meet the words of another line, or lose a change. So use it for estimates, which
// publish nothing.
//
//   lines_: n --Double: release store--> 2n, at most as often as was reserved for
//
// Thread-safe, except Double, which one thread at a time may call. Never shrinks.
template <typename Line>
class GrowingTable {
 public:
  GrowingTable(size_t lines, unsigned doublings_max) : lines_max_(lines << doublings_max), lines_(lines) {
    void* const memory = mmap(nullptr, lines_max_ * sizeof(Line), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    table_ = static_cast<Line*>(memory);  // zero pages are words of 0
  }
  ~GrowingTable() { munmap(table_, lines_max_ * sizeof(Line)); }
  GrowingTable(const GrowingTable&) = delete;
  GrowingTable& operator=(const GrowingTable&) = delete;

  // The line of a key. `hash` must be well mixed.
  Line& Of(uint64_t hash) const {
    return table_[static_cast<size_t>((static_cast<unsigned __int128>(hash) * lines()) >> 64)];
  }
  Line& At(size_t line) const {
    assert(line < lines());
    return table_[line];
  }
  size_t lines() const { return lines_.load(std::memory_order_acquire); }
  size_t bytes() const { return lines() * sizeof(Line); }

  // Doubles the table. False: it has its largest size.
  bool Double() {
    const size_t lines = this->lines();
    if (2 * lines > lines_max_) return false;
    for (size_t i = lines; i-- > 0;) {
      for (size_t word = 0; word < table_[i].words.size(); ++word) {
        const uint64_t seen = table_[i].words[word].load(std::memory_order_relaxed);
        table_[2 * i + 1].words[word].store(seen, std::memory_order_relaxed);
        table_[2 * i].words[word].store(seen, std::memory_order_relaxed);
      }
    }
    lines_.store(2 * lines, std::memory_order_release);
    return true;
  }

 private:
  const size_t lines_max_;
  Line* table_ = nullptr;
  std::atomic<size_t> lines_;
};

}  // namespace mezz
