// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mezz {

// A monotonic clock that is cheap enough to wait for 300 ns with: the time-stamp counter where it runs at a constant
// rate, else std::chrono::steady_clock. Only differences mean something.
class SpinClock {
 public:
  // The first call calibrates the counter, for some milliseconds.
  static uint64_t NowNs();
  // Keeps the calling thread busy; returns at once if the time has passed.
  static void SpinUntilNs(uint64_t deadline_ns);
};

}  // namespace mezz
