// SPDX-License-Identifier: Apache-2.0
// Memory of a run: given out in order, never reused within the run, all of it forgotten at the start of the next. So
// equal runs get equal addresses, and a run that failed in the middle leaks nothing. Linking arena.cc replaces the
// program's operator new, and mmap for private memory: a run of some 30 us has no time for system calls.
#pragma once

namespace mezz::check {

class Arena {
 public:
  static void Reset();
  // Whether operator new takes from the arena now.
  static bool Use(bool on);
};

// The checker's own memory outlives the run.
class OutsideArena {
 public:
  OutsideArena() : before_(Arena::Use(false)) {}
  ~OutsideArena() { Arena::Use(before_); }
  OutsideArena(const OutsideArena&) = delete;
  OutsideArena& operator=(const OutsideArena&) = delete;

 private:
  const bool before_;
};

}  // namespace mezz::check
