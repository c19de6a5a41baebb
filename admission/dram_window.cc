// SPDX-License-Identifier: Apache-2.0
#include "admission/dram_window.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace mezz {

void DramWindow::SetCapacity(uint64_t dram_blocks) {
  const uint64_t blocks = std::max<uint64_t>(1, dram_blocks);
  const uint64_t ratio = std::bit_ceil((blocks + kSampledBlocksMax - 1) / kSampledBlocksMax);
  sample_mask_.store(ratio - 1, std::memory_order_relaxed);
  blocks_.store(static_cast<uint32_t>(std::max<uint64_t>(1, blocks / ratio)), std::memory_order_relaxed);
}

void DramWindow::OnEviction(uint64_t hash, bool was_hit) {
  if (!Samples(hash)) return;
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
  if (!Samples(hash)) return !closed() || IsProbe(hash);
  const uint32_t newcomer = newcomers_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!closed()) return true;
  std::atomic<Entry>& place = turned_away_[(hash >> 32) % kPlaces];
  const auto tag = static_cast<uint32_t>(hash >> 42) + 1;  // 0: nobody yet
  const Entry last = place.load(std::memory_order_relaxed);
  CountRegret(last.tag == tag && newcomer - last.newcomer <= blocks_.load(std::memory_order_relaxed));
  if (!closed() || IsProbe(hash)) return true;
  place.store({tag, newcomer}, std::memory_order_relaxed);
  return false;
}

}  // namespace mezz
