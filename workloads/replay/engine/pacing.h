// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mezz {

// When requests are due, as an offset from the start of their window. A request's time_us is read as ticks:
// microseconds of the trace under --timestamps, ordinals under --rate (the workload writes them there).
struct Pacing {
  double ns_per_tick = 0;   // 0: closed loop, a request is due when the one before has ended
  uint64_t first_tick = 0;  // due at once; earlier ones too, for traces whose clock steps back

  // A century and a half, which no window lasts. A double beyond 64 bits cannot be cast to an integer.
  static constexpr double kOffsetNsMax = 0x1p62;

  bool open() const { return ns_per_tick > 0; }
  uint64_t OffsetNs(uint64_t tick) const {
    const double ns = static_cast<double>(tick - std::min(first_tick, tick)) * ns_per_tick;
    return static_cast<uint64_t>(std::min(ns, kOffsetNsMax));
  }
};

// The machine's monotonic clock, for a replay thread of its own.
class ReplayClock {
 public:
  static uint64_t NowNs();
  // Sleeps for most of the time and spins for the rest, because a sleeper is woken some 20 microseconds late and would
  // be charged for it. On fewer than four processors, and where others spin, it sleeps for all of it. Returns soon
  // after *stop is set.
  void WaitUntilNs(uint64_t ns, const std::atomic<bool>& stop);
  // Processor time that went into waiting, not into requests.
  uint64_t spun_ns() const { return spun_ns_; }

 private:
  uint64_t spun_ns_ = 0;
  bool wakes_early_ = false;
};

}  // namespace mezz
