// SPDX-License-Identifier: Apache-2.0
#include "admission/write_limits.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace mezz {
namespace {

uint64_t SteadyNowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

WriteGovernor::WriteGovernor(uint64_t window_bytes) { SetWindow(window_bytes); }

void WriteGovernor::SetWindow(uint64_t window_bytes) {
  window_units_.store(std::clamp<uint64_t>(window_bytes >> kUnitShift, 64, kSideMax / 2), std::memory_order_relaxed);
}

void WriteGovernor::Add(uint64_t lookups, uint64_t writes) {
  const uint64_t window_units = window_units_.load(std::memory_order_relaxed);
  uint64_t seen = word_.load(std::memory_order_relaxed);
  uint64_t next;
  do {
    uint64_t looked_up = std::min((seen >> 32) + lookups, kSideMax);
    uint64_t written = std::min((seen & kSideMax) + writes, kSideMax);
    while (looked_up + written > window_units) {
      looked_up /= 2;
      written /= 2;
    }
    assert(looked_up <= kSideMax && written <= kSideMax);
    next = looked_up << 32 | written;
  } while (!word_.compare_exchange_weak(seen, next, std::memory_order_relaxed, std::memory_order_relaxed));
}

uint64_t WriteGovernor::WrittenPercent() const {
  const uint64_t seen = word_.load(std::memory_order_relaxed);
  const uint64_t looked_up = seen >> 32;
  const uint64_t written = seen & kSideMax;
  if (written == 0) return 0;
  return looked_up == 0 ? kNoLookups : written * 100 / looked_up;
}

WriteBudget::WriteBudget(uint64_t bytes_per_second, std::function<uint64_t()> now_ns)
    : ns_per_byte_(bytes_per_second == 0 ? 0 : 1e9 / static_cast<double>(bytes_per_second)),
      now_ns_(now_ns ? std::move(now_ns) : &SteadyNowNs) {}

bool WriteBudget::Take(uint64_t bytes) {
  if (ns_per_byte_ == 0) return true;
  const uint64_t now = now_ns_();
  const auto cost_ns = static_cast<uint64_t>(ns_per_byte_ * static_cast<double>(bytes)) + 1;
  uint64_t paid_until = paid_until_ns_.load(std::memory_order_relaxed);
  uint64_t next;
  do {
    const uint64_t start = std::max(paid_until, now);
    // What was granted ahead of its time, this grant included, stays within the burst; a grant that is larger than the
    // whole burst waits until nothing is owed.
    if (start - now + std::min(cost_ns, kBurstNs) > kBurstNs) return false;
    next = start + cost_ns;
    assert(next > paid_until);
  } while (
      !paid_until_ns_.compare_exchange_weak(paid_until, next, std::memory_order_relaxed, std::memory_order_relaxed));
  return true;
}

}  // namespace mezz
