// SPDX-License-Identifier: Apache-2.0
#include "admission/dram_window.h"

#include <cassert>

namespace mezz {

void DramWindow::OnEviction(uint64_t hash, bool was_hit) {
  if (!sample_.Has(hash)) return;
  uint64_t seen = state_.load(std::memory_order_relaxed);
  if ((seen & kClosed) != 0) return;  // the few that enter now stay longer, which says nothing
  const uint64_t hits = Step(seen & kOne, was_hit);
  assert(hits <= kOne && seen >> kRegretsShift == 0);
  state_.compare_exchange_weak(seen, hits < kCloseBelow ? kClosed : hits, std::memory_order_relaxed,
                               std::memory_order_relaxed);
}

void DramWindow::CountRegret(bool would_have_been_hit) {
  uint64_t seen = state_.load(std::memory_order_relaxed);
  if ((seen & kClosed) == 0) return;
  const uint64_t regrets = Step(seen >> kRegretsShift & kOne, would_have_been_hit);
  assert(regrets <= kOne && (seen & kOne) == 0);
  // Open again, it is trusted until many newcomers have left.
  state_.compare_exchange_weak(seen, regrets > kOpenAbove ? kOne : kClosed | regrets << kRegretsShift,
                               std::memory_order_relaxed, std::memory_order_relaxed);
}

bool DramWindow::Admits(uint64_t hash) {
  if (!sample_.Has(hash)) return !closed() || IsProbe(hash);
  const uint32_t newcomer = newcomers_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!closed()) return true;
  CountRegret(turned_away_.Within(hash, newcomer, sample_.blocks()));
  if (!closed() || IsProbe(hash)) return true;
  turned_away_.Note(hash, newcomer);
  return false;
}

}  // namespace mezz
