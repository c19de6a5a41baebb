// SPDX-License-Identifier: Apache-2.0
#include "integration/tier_right.h"

#include <algorithm>

#include "cache/base/steady_clock.h"

namespace mezz {

using std::chrono::milliseconds;

// Never destroyed: caches may outlive our statics.
TierRight& TierRight::Get() {
  static auto* const right = new TierRight;
  return *right;
}

bool TierRight::MayAsk(const void* who) const {
  const void* const holder = this->holder();
  if (holder != nullptr) return holder == who;
  const uint64_t at_ns = ask_at_ns_.load(std::memory_order_relaxed);
  return at_ns == 0 || SteadyNs() >= at_ns;
}

bool TierRight::Take(const void* who) {
  const void* none = nullptr;
  return holder_.compare_exchange_strong(none, who, std::memory_order_acq_rel, std::memory_order_relaxed);
}

void TierRight::Free(const void* who) {
  if (holder() == who) holder_.store(nullptr, std::memory_order_release);
}

bool TierRight::Postpone(bool first, milliseconds wait) {
  const uint64_t now_ns = SteadyNs();
  const auto wait_ns = static_cast<uint64_t>(std::chrono::nanoseconds(wait).count());
  if (waits_since_ns_ == 0 || (first && now_ns - waits_since_ns_ >= wait_ns)) {
    waits_since_ns_ = now_ns;
    pause_ns_ = kPauseMinNs;
  }
  const uint64_t end_ns = waits_since_ns_ + wait_ns;
  if (now_ns >= end_ns) return false;
  ask_at_ns_.store(std::min(now_ns + pause_ns_, end_ns), std::memory_order_relaxed);
  pause_ns_ = std::min(2 * pause_ns_, kPauseMaxNs);
  return true;
}

milliseconds TierRight::EndWait() {
  const uint64_t waited_ns = waits_since_ns_ == 0 ? 0 : SteadyNs() - waits_since_ns_;
  waits_since_ns_ = 0;
  ask_at_ns_.store(0, std::memory_order_relaxed);
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(waited_ns));
}

}  // namespace mezz
