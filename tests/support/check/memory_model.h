// SPDX-License-Identifier: Apache-2.0
// What a load may return. Follows the C++20 rules for happens-before, coherence, release sequences and the order of
// sequentially consistent operations, with one simplification: stores enter a word's modification order when they run,
// and no load returns a store that has not run. So the outcomes of load buffering and of "2+2W" are not seen, as in
// Relacy and loom.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace mezz::check {

inline constexpr unsigned kThreadsMax = 6;

// How many steps of each thread happened before.
class Clock {
 public:
  uint32_t& operator[](unsigned thread) { return steps_[thread]; }
  uint32_t operator[](unsigned thread) const { return steps_[thread]; }
  void Join(const Clock& other) {
    for (unsigned t = 0; t < kThreadsMax; ++t) steps_[t] = steps_[t] > other.steps_[t] ? steps_[t] : other.steps_[t];
  }

 private:
  std::array<uint32_t, kThreadsMax> steps_{};
};

class MemoryModel {
 public:
  // Forgets all words and lines: what they hold now happened before everything that follows.
  void Reset();

  struct Location;
  // The word at `at`; `newest` is its value if it was not met before.
  Location* Find(const void* at, uint64_t newest);

  // Counts a step of `thread`.
  void Step(unsigned thread) { ++clocks_[thread][thread]; }

  // How many stores, the newest and those before it, `thread` may read.
  unsigned Readable(const Location& location, unsigned thread, std::memory_order order) const;
  // The value of the store `age` before the newest.
  static uint64_t Value(const Location& location, unsigned age);
  // Reads that store.
  uint64_t Load(Location* location, unsigned thread, unsigned age, std::memory_order order);
  void Store(Location* location, unsigned thread, uint64_t value, std::memory_order order);
  // Reads the newest store and puts `value` right behind it.
  void Exchange(Location* location, unsigned thread, uint64_t value, std::memory_order order);

  void Acquire(unsigned thread, const Clock& from) { clocks_[thread].Join(from); }
  const Clock& clock(unsigned thread) const { return clocks_[thread]; }

  // Plain accesses. The answer names a race with an earlier access by another thread.
  std::optional<std::string> Read(unsigned thread, uintptr_t at, size_t bytes);
  std::optional<std::string> Write(unsigned thread, uintptr_t at, size_t bytes, bool drained);
  void Drain(unsigned thread);

  // Words that two threads accessed, one of them writing, in any run so far. True: there are new ones.
  bool CollectShared(std::unordered_set<const void*>* shared) const;
  bool IsShared(const void* at) const;  // in this run

 private:
  struct Line {
    unsigned writer = 0;
    uint32_t written_at = 0;  // the writer's step; 0: before all threads
    bool drained = true;
    Clock read_at;  // each thread's last read
  };
  static constexpr uintptr_t kLineBytes = 64;

  void Remember(Location* location, unsigned thread, size_t index, std::memory_order order);

  std::array<Clock, kThreadsMax> clocks_{};
  std::unordered_map<const void*, Location*> locations_;
  std::vector<std::unique_ptr<Location>> pool_;
  size_t pool_used_ = 0;
  std::unordered_map<uintptr_t, Line> lines_;
  std::array<std::vector<uintptr_t>, kThreadsMax> undrained_;
};

struct MemoryModel::Location {
  struct Stored {
    uint64_t value = 0;
    Clock released;  // what an acquiring reader synchronizes with
  };
  struct Seen {
    uint32_t step;
    size_t index;
  };
  const void* at = nullptr;
  std::vector<Stored> stores;                       // in modification order
  std::array<std::vector<Seen>, kThreadsMax> seen;  // reads and writes by each thread, both members growing
  size_t sc_floor = 0;                              // newest index that a seq_cst operation has read or written
  unsigned threads = 0;                             // that accessed it, a bit each
  bool written = false;
};

}  // namespace mezz::check
