// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace mezz {

// A monotonic clock that is cheap enough to wait 300 ns by. It reads the time-stamp counter where that runs at a
// constant rate, else std::chrono::steady_clock. It tells the time of steady_clock; only differences have a meaning.
//
// The counter is trusted for a tenth of a millisecond at a time, because in a virtual machine that is restored or moved
// it may jump, stop or change its rate. Whatever it does, no thread's clock goes back, and no clock and no wait is off
// by more than that tenth. (At another rate short waits are wrong by the ratio of the rates: calibrate again.)
class SpinClock {
 public:
  // The first call takes some milliseconds to calibrate the counter.
  static uint64_t NowNs();
  // Spins until that time; returns at once if it has passed.
  static void SpinUntilNs(uint64_t deadline_ns);
};

// How many nanoseconds a tick is, in fixed point.
struct TickScale {
  static constexpr unsigned kBits = 32;
  uint64_t ns_per_tick = 0;  // times 2^32; 0: the counter cannot be used

  uint64_t Ns(uint64_t ticks) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * ns_per_tick) >> kBits);
  }
};

// The clock of one thread. `Source` has three static functions: Ticks() reads a counter that may do anything,
// SteadyNs() reads a slower clock that is monotonic, and Relax(left_ns) lets a little time pass.
template <typename Source>
class ThreadClock {
 public:
  // How much time by the counter may pass between two looks at the steady clock.
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
    // The difference is unsigned, so a counter that went back seems far ahead.
    if (ticks > trusted_ticks_) return Anchor();
    return last_ns_ = std::max(last_ns_, anchor_ns_ + scale_.Ns(ticks));
  }

  void SpinUntilNs(uint64_t deadline_ns) {
    unsigned spins = 0;
    for (uint64_t now = NowNs(); now < deadline_ns; now = ++spins % kSpinsPerCheck == 0 ? Anchor() : NowNs())
      Source::Relax(deadline_ns - now);
  }

 private:
  // Reads the steady clock anew. The time told before may be ahead of it by up to kTrustedNs, and is told again until
  // the steady clock has caught up. The counter is read last: if the thread is held up between the two reads, its clock
  // lags until the next anchor, and does not run ahead.
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
