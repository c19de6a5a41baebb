// SPDX-License-Identifier: Apache-2.0
// Memory that stops being there while it is used: a page that the processor reports as poisoned, or that lies behind
// the end of a file which somebody cut off. The kernel sends SIGBUS to the thread that touches it, which ends the
// process unless somebody contains it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "cache/status.h"

namespace mezz {

// From now on, for the whole process and for good, what BusErrors::Try touches of watched memory may fail without harm.
// Installs a handler for SIGBUS, once. What it does not know goes to the handler that was there before, or ends the
// process as ever: so does what others touch, and a SIGBUS in a thread that blocks it. Who installs a handler later
// must pass on what he does not know. Thread-safe.
Status ContainBusErrors();

// Memory of which BusErrors::Try may touch bytes that fail. As many as wanted; each costs 64 bytes, which later ones
// use again. Thread-safe; in a forked child too, but for that of a raw clone(2).
class BusErrorWatch {
 public:
  // `on_error(offset)` is called after an access failed there, by the thread that tried it, whatever locks it holds: it
  // must neither wait for one, nor throw, nor touch the memory. `memory` and what the function needs must outlive this,
  // and this whoever tries to touch the memory. Throws std::bad_alloc.
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

  // Calls access(). False: of the memory that it touched, or that a Try within it touched, some is not there any more;
  // what access() was doing is left where it was, without destructors: it must hold no lock, own nothing, and allocate
  // nothing. It may throw, which ends the attempt. Not contained, this is the call alone.
  template <typename Access>
  static bool Try(const Access& access) {
    if (!contained()) [[likely]] {
      access();
      return true;
    }
    return TryContained([](const void* that) { (*static_cast<const Access*>(that))(); }, &access);
  }

  // What test() says; false too as of Try.
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

  // false --ContainBusErrors, when the handler is there--> true. Relaxed: who reads false a moment later is not yet
  // helped, and the handler looks at nothing but its own thread's words and the watches'.
  static std::atomic<bool> contained_;
};

// False: as of Try; some bytes may have been copied.
[[nodiscard]] inline bool CopyBytes(std::span<const std::byte> from, void* to) {
  return BusErrors::Try([&] {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  });
}

}  // namespace mezz
