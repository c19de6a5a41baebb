// SPDX-License-Identifier: Apache-2.0
#include "cache/media/spin_clock.h"

#include <chrono>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace mezz {
namespace {

uint64_t SteadyNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

#if defined(__x86_64__)

constexpr uint64_t kCalibrationNs = 5'000'000;  // two readings 30 ns off are then 10 ppm
constexpr unsigned kScaleBits = 32;
constexpr uint64_t kPauseAboveNs = 200;  // a pause may take 50 ns: too coarse for the end of a wait

struct Scale {
  uint64_t ns_per_tick = 0;  // fixed point with kScaleBits; 0: the counter is of no use
  uint64_t first_tick = 0;
};

bool CounterIsConstant() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kInvariantTsc = 1u << 8;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0;
}

Scale Calibrate() {
  if (!CounterIsConstant()) return {};
  const uint64_t first_ns = SteadyNs();
  const uint64_t first_tick = __rdtsc();
  uint64_t last_ns = first_ns;
  while (last_ns - first_ns < kCalibrationNs) last_ns = SteadyNs();
  const uint64_t ticks = __rdtsc() - first_tick;
  if (ticks == 0) return {};
  return {.ns_per_tick = ((last_ns - first_ns) << kScaleBits) / ticks, .first_tick = first_tick};
}

const Scale& TheScale() {
  static const Scale scale = Calibrate();
  return scale;
}

void Relax(uint64_t left_ns) {
  if (left_ns > kPauseAboveNs) _mm_pause();
}

#else

void Relax(uint64_t) {}

#endif

}  // namespace

uint64_t SpinClock::NowNs() {
#if defined(__x86_64__)
  const Scale& scale = TheScale();
  if (scale.ns_per_tick != 0) {
    using Wide = unsigned __int128;
    return static_cast<uint64_t>((Wide{__rdtsc() - scale.first_tick} * scale.ns_per_tick) >> kScaleBits);
  }
#endif
  return SteadyNs();
}

void SpinClock::SpinUntilNs(uint64_t deadline_ns) {
  for (uint64_t now = NowNs(); now < deadline_ns; now = NowNs()) Relax(deadline_ns - now);
}

}  // namespace mezz
