// SPDX-License-Identifier: Apache-2.0
#include "integration/dram_tier.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cache/base/if_memory.h"

namespace mezz {

DramTier::DramTier(const HybridCacheOptions& options, PolicyInForce& policy)
    : options_(options), policy_(policy), capacity_(options.dram_bytes) {
  budget_.Open(options.dram_total_bytes, options.dram_bytes);
}

void DramTier::Own(std::function<void(uint64_t bytes)> resize, MoveGate& gate) {
  resize_ = std::move(resize);
  gate_ = &gate;
}

void DramTier::SetCapacity(uint64_t bytes, uint64_t structures) {
  budget_.SetTier(bytes, structures, [this](uint64_t tier_bytes) { Resize(tier_bytes); });
}

void DramTier::Resize(uint64_t bytes) {
  (void)IfThereIsMemory([&] { OnCapacity(bytes); });  // else policies go on with the size that they know
  const MoveGate::Window window(*gate_);
  resize_(bytes);
}

void DramTier::OnCapacity(uint64_t bytes) {
  capacity_.store(bytes, std::memory_order_relaxed);
  Tell();
}

void DramTier::StandBeside(uint64_t bytes) {
  beside_.store(bytes, std::memory_order_relaxed);
  (void)IfThereIsMemory([this] { Tell(); });
}

void DramTier::Tell() {
  const uint64_t capacity = capacity_.load(std::memory_order_relaxed);
  const uint64_t beside = beside_.load(std::memory_order_relaxed);
  policy_.OnDramCapacity(capacity + std::min(beside, std::numeric_limits<uint64_t>::max() - capacity));
  if (hit_bits_ != nullptr) hit_bits_->Grow(policy_.dram_bytes() / std::max(1u, options_.scm.expected_block_bytes));
}

void DramTier::KeepHitBits(uint64_t dram_bytes) {
  const uint64_t blocks = dram_bytes / std::max<uint64_t>(1, options_.scm.expected_block_bytes);
  hit_bits_ = std::make_unique<DramHitBits>(blocks, WatchedHashMax(options_));
}

}  // namespace mezz
