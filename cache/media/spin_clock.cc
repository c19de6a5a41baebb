// SPDX-License-Identifier: Apache-2.0
#include "cache/media/spin_clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "cache/base/steady_clock.h"

namespace mezz {
namespace {

#if defined(__x86_64__)

constexpr uint64_t kCalibrationNs = 5'000'000;  // two readings 30 ns off are then 10 ppm
constexpr uint64_t kPauseAboveNs = 200;         // a pause may take 50 ns: too coarse for the end of a wait

struct HostSource {
  static uint64_t Ticks() { return __rdtsc(); }
  static uint64_t SteadyNs() { return mezz::SteadyNs(); }
  static void Relax(uint64_t left_ns) {
    if (left_ns > kPauseAboveNs) _mm_pause();
  }
};

bool CounterIsConstant() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kInvariantTsc = 1u << 8;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0;
}

TickScale Calibrate() {
  if (!CounterIsConstant()) return {};
  const uint64_t first_ns = SteadyNs();
  const uint64_t first_tick = __rdtsc();
  uint64_t last_ns = first_ns;
  while (last_ns - first_ns < kCalibrationNs) last_ns = SteadyNs();
  const uint64_t last_tick = __rdtsc();
  if (last_tick <= first_tick) return {};
  return {.ns_per_tick = ((last_ns - first_ns) << TickScale::kBits) / (last_tick - first_tick)};
}

#else

struct HostSource {
  static uint64_t Ticks() { return 0; }
  static uint64_t SteadyNs() { return mezz::SteadyNs(); }
  static void Relax(uint64_t) {}
};

TickScale Calibrate() { return {}; }

#endif

ThreadClock<HostSource>& ThisThreadsClock() {
  static const TickScale scale = Calibrate();
  thread_local ThreadClock<HostSource> clock(scale);
  return clock;
}

}  // namespace

uint64_t SpinClock::NowNs() { return ThisThreadsClock().NowNs(); }

void SpinClock::SpinUntilNs(uint64_t deadline_ns) { ThisThreadsClock().SpinUntilNs(deadline_ns); }

}  // namespace mezz
