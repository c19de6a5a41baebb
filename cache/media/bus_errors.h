// SPDX-License-Identifier: Apache-2.0
// Bus errors: memory that fails while it is used. The processor reports its page as poisoned, or somebody has truncated
// the file before it. The kernel sends SIGBUS to the thread that touches such memory, which ends the process unless the
// error is contained. Other headers say that the memory "failed".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "cache/status.h"

namespace mezz {

// Contains, for the whole process and for good, bus errors in what BusErrors::Try touches of watched memory. Installs a
// handler for SIGBUS, once. A SIGBUS that it does not know goes to the handler that was there before, or ends the
// process: so does one in memory that other code touches, and one in a thread that blocks the signal. A handler that is
// installed later must pass on what it does not know. Thread-safe.
Status ContainBusErrors();

// Watches a range of memory, so that BusErrors::Try contains errors there. There may be any number of watches; each
// takes 64 bytes, which later ones use again. Thread-safe, in a forked child too, except in that of a raw clone(2).
class BusErrorWatch {
 public:
  // `on_error(offset)` is called after an access failed at that offset, by the thread that tried it, which may hold any
  // locks. It must neither wait for a lock, nor throw, nor touch the memory. `memory` and what the function uses must
  // outlive this object, and this object all attempts to touch the memory. May throw std::bad_alloc.
  explicit BusErrorWatch(std::span<const std::byte> memory, std::function<void(uint64_t offset)> on_error = {});
  ~BusErrorWatch();
  BusErrorWatch(const BusErrorWatch&) = delete;
  BusErrorWatch& operator=(const BusErrorWatch&) = delete;

 private:
  friend class BusErrorWatches;
  struct Entry;
  Entry* const entry_;
};

class BusErrors {
 public:
  static bool contained() { return contained_.load(std::memory_order_relaxed); }

  // Calls access(). False: some memory that it, or a Try within it, touched has failed. access() was then left at that
  // point, and no destructor ran. So it must hold no lock, own nothing and allocate nothing. It may throw, which ends
  // the attempt. If bus errors are not contained, this only calls access().
  template <typename Access>
  static bool Try(const Access& access) {
    if (!contained()) [[likely]] {
      access();
      return true;
    }
    return TryContained([](const void* that) { (*static_cast<const Access*>(that))(); }, &access);
  }

  // The result of test(), or false where Try would return false.
  template <typename Test>
  static bool TryTest(const Test& test) {
    if (!contained()) [[likely]]
      return test();
    bool passed = false;
    return Try([&] { passed = test(); }) && passed;
  }

 private:
  friend Status ContainBusErrors();

  static bool TryContained(void (*call)(const void* that), const void* that);

  // false --ContainBusErrors, when the handler is there--> true. Relaxed: a thread that still reads false is not
  // protected yet, and the handler reads only the words of its own thread and those of the watches.
  static std::atomic<bool> contained_;
};

// Copies the bytes. False: as for Try; some bytes may have been copied.
[[nodiscard]] inline bool CopyBytes(std::span<const std::byte> from, void* to) {
  return BusErrors::Try([&] {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  });
}

}  // namespace mezz
