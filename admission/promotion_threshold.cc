// SPDX-License-Identifier: Apache-2.0
#include "admission/promotion_threshold.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "cache/types.h"

namespace mezz {

uint64_t PromotionThreshold::window() const {
  return std::max(kLookupsMin, kTurns * sample_.blocks() * sample_.ratio());
}

void PromotionThreshold::OnMiss(uint64_t hash) {
  if (!sample_.Has(hash)) return;
  if (dropped_.Within(hash, evictions_.load(std::memory_order_relaxed), sample_.blocks()))
    returns_.fetch_add(1, std::memory_order_relaxed);
}

void PromotionThreshold::OnEviction(uint64_t hash) {
  if (sample_.Has(hash)) evictions_.fetch_add(1, std::memory_order_relaxed);
}

void PromotionThreshold::OnDrop(uint64_t hash) {
  if (sample_.Has(hash)) dropped_.Note(hash, evictions_.load(std::memory_order_relaxed));
}

void PromotionThreshold::OnLookups(uint64_t count) {
  uint64_t seen = lookups_.fetch_add(count, std::memory_order_relaxed) + count;
  if (seen < window() ||
      !lookups_.compare_exchange_strong(seen, 0, std::memory_order_relaxed, std::memory_order_relaxed))
    return;
  const double returns = static_cast<double>(returns_.exchange(0, std::memory_order_relaxed));
  const double share = std::min(1.0, returns * static_cast<double>(sample_.ratio()) / static_cast<double>(seen));
  const auto now = static_cast<uint32_t>(share * kOne);
  const uint32_t before = rate_.load(std::memory_order_relaxed);
  const uint32_t after = before == kUnknown ? now : Decayed(before, now, kWindowsShift);
  assert(after <= kOne);
  rate_.store(after, std::memory_order_relaxed);
}

double PromotionThreshold::Frequency(uint64_t lookups_between_halvings, double gain) const {
  // Halved at the window's end, a count is on average one and a half times what a window adds.
  constexpr double kCountOverWindow = 1.5;
  const uint32_t rate = rate_.load(std::memory_order_relaxed);
  if (rate == kUnknown) return std::numeric_limits<double>::infinity();
  const double returns = static_cast<double>(rate) / kOne;
  const auto dram_blocks = static_cast<double>(sample_.blocks() * sample_.ratio());
  return kCountOverWindow * static_cast<double>(lookups_between_halvings) * returns / (dram_blocks * gain);
}

}  // namespace mezz
