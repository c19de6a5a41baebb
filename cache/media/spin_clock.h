// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace mezz {

// A monotonic clock that is cheap enough to wait for 300 ns with: the time-stamp counter where it runs at a constant
// rate, else std::chrono::steady_clock, whose time it tells. Only differences mean something.
//
// The counter is believed for a tenth of a millisecond at a time: a virtual machine that is restored or moved sees it
// jump, stop or change its rate. Whatever it does, no thread's clock goes back, no clock is off by more than that
// tenth, and no wait lasts longer by more than that. (At another rate short waits are off by its ratio: measure anew.)
class SpinClock {
 public:
  // The first call calibrates the counter, for some milliseconds.
  static uint64_t NowNs();
  // Keeps the calling thread busy; returns at once if the time has passed.
  static void SpinUntilNs(uint64_t deadline_ns);
};

// How many nanoseconds a tick is, in fixed point.
struct TickScale {
  static constexpr unsigned kBits = 32;
  uint64_t ns_per_tick = 0;  // times 2^32; 0: the counter is of no use

  uint64_t Ns(uint64_t ticks) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * ns_per_tick) >> kBits);
  }
};

// The clock of one thread. `Source` has the static functions Ticks(), of a counter that may do anything, SteadyNs(), of
// a slower clock that is monotonic, and Relax(left_ns), which passes a little time.
template <typename Source>
class ThreadClock {
 public:
  // Between two looks at the steady clock at most so much time passes by the counter.
  static constexpr uint64_t kTrustedNs = 100'000;
  static constexpr unsigned kSpinsPerCheck = 256;

  explicit ThreadClock(TickScale scale)
      : scale_(scale),
        trusted_ticks_(scale.ns_per_tick == 0 ? 0 : (kTrustedNs << TickScale::kBits) / scale.ns_per_tick) {
    Anchor();
  }

  uint64_t NowNs() {
    if (scale_.ns_per_tick == 0) return Anchor();
    const uint64_t ticks = Source::Ticks() - anchor_ticks_;
    // A counter that went back shows as far ahead.
    if (ticks > trusted_ticks_) return Anchor();
    return last_ns_ = std::max(last_ns_, anchor_ns_ + scale_.Ns(ticks));
  }

  void SpinUntilNs(uint64_t deadline_ns) {
    unsigned spins = 0;
    for (uint64_t now = NowNs(); now < deadline_ns; now = ++spins % kSpinsPerCheck == 0 ? Anchor() : NowNs())
      Source::Relax(deadline_ns - now);
  }

 private:
  // What was told may be ahead of the steady clock, by at most kTrustedNs; it is told again until that has caught up.
  // The counter is read last: if the thread is held up between the two, its clock lags until the next anchor rather
  // than running ahead.
  uint64_t Anchor() {
    anchor_ns_ = Source::SteadyNs();
    if (scale_.ns_per_tick != 0) anchor_ticks_ = Source::Ticks();
    return last_ns_ = std::max(last_ns_, anchor_ns_);
  }

  const TickScale scale_;
  const uint64_t trusted_ticks_;
  uint64_t anchor_ticks_ = 0;
  uint64_t anchor_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace mezz
