// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "admission/block_hash.h"
#include "cache/counters.h"
#include "cache/types.h"
#include "integration/dram_budget.h"
#include "integration/dram_hit_bits.h"
#include "integration/dram_hits.h"
#include "integration/move_gate.h"
#include "integration/options.h"
#include "integration/policy_in_force.h"

namespace mezz {

// The DRAM tier as the rest of the cache sees it, which is a cache of RocksDB's: what it may hold, how often it was
// hit, and which of its blocks were.
//
// Thread-safe, but for what is said to come before the first look-up.
class DramTier {
 public:
  // Both outlive this. Opens what dram_total bounds.
  DramTier(const HybridCacheOptions& options, PolicyInForce& policy);
  DramTier(const DramTier&) = delete;
  DramTier& operator=(const DramTier&) = delete;

  // Hits of threads beyond the first count there, which outlives this. Before the first look-up.
  void Open(Counters& counters) { hits_ = std::make_unique<DramHits>(counters); }
  // The tier is ours to resize: resize(bytes) does it, inside of a window of `gate`, which outlives this. Before the
  // first look-up.
  void Own(std::function<void(uint64_t bytes)> resize, MoveGate& gate);

  // The tier is to have so many bytes; our structures take `structures` now. With dram_total: that follows. Policies
  // and hit bits follow. REQUIRES: Own().
  void SetCapacity(uint64_t bytes, uint64_t structures);
  // With dram_total: gives or takes what our structures have left or grown by. `structures()`: what they take.
  template <typename Structures>
  void Follow(Structures&& structures) {
    if (budget_.limited() && resize_) budget_.Follow(structures(), [this](uint64_t bytes) { Resize(bytes); });
  }
  // The tier has so many bytes from now on: policies and hit bits are told.
  void OnCapacity(uint64_t bytes);
  const DramBudget& budget() const { return budget_; }

  // As Counters::Add(Event::kDramHit, role), at a fraction of its cost.
  void CountHit(BlockRole role) { hits_->Add(role); }
  void AddHitsTo(CounterSnapshot& sum) const { hits_->AddTo(sum); }

  // For a tier that does not tell, or not reliably, whether what it evicts was hit: from now on that is remembered
  // here. Before the first look-up.
  void KeepHitBits(uint64_t dram_bytes);
  // Null: the tier tells.
  DramHitBits* hit_bits() { return hit_bits_.get(); }
  const DramHitBits* hit_bits() const { return hit_bits_.get(); }
  // The block is evicted. `tier_tells`: what the tier says.
  bool WasHit(const BlockKey& key, bool tier_tells) {
    return hit_bits_ == nullptr ? tier_tells : hit_bits_->Take(BlockHash(key)) || tier_tells;
  }
  uint64_t hit_bits_bytes() const { return hit_bits_ == nullptr ? 0 : hit_bits_->dram_bytes(); }

 private:
  void Resize(uint64_t bytes);

  const HybridCacheOptions& options_;
  PolicyInForce& policy_;
  DramBudget budget_;
  std::function<void(uint64_t)> resize_;  // empty: not ours; does not change once blocks are looked up
  MoveGate* gate_ = nullptr;              // there with resize_
  std::unique_ptr<DramHits> hits_;
  std::unique_ptr<DramHitBits> hit_bits_;  // null: the tier tells; does not change once blocks are looked up
};

}  // namespace mezz
