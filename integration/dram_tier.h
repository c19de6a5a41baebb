// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

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

// What the cache knows of its DRAM tier, which is a stock cache of RocksDB: its capacity, how often it was hit, and
// which of its blocks were hit.
//
// Thread-safe, except for the functions that must be called before the first look-up.
class DramTier {
 public:
  // Both must outlive this. With dram_total, the budget is open afterwards.
  DramTier(const HybridCacheOptions& options, PolicyInForce& policy);
  DramTier(const DramTier&) = delete;
  DramTier& operator=(const DramTier&) = delete;

  // `counters` must outlive this; hits of threads that own no slot of DramHits are counted there. Before the first
  // look-up.
  void Open(Counters& counters) { hits_ = std::make_unique<DramHits>(counters); }
  // Says that we may resize the tier: resize(bytes) does so, and is called inside a window of `gate`, which must
  // outlive this. Before the first look-up.
  void Own(std::function<void(uint64_t bytes)> resize, MoveGate& gate);
  // Says that DRAM tiers of other sizes stand beside this one: policies are told the sum of both.
  void StandBeside(uint64_t bytes);

  // Resizes the tier to so many bytes, while our structures take `structures` bytes. Tells policies and hit bits, and
  // adjusts dram_total where it is set. REQUIRES: Own().
  void SetCapacity(uint64_t bytes, uint64_t structures);
  // With dram_total, gives the tier what our structures have left since, or takes what they have grown by.
  // `structures()` returns the bytes that they take now.
  template <typename Structures>
  void Follow(Structures&& structures) {
    if (budget_.limited() && resize_) budget_.Follow(structures(), [this](uint64_t bytes) { Resize(bytes); });
  }
  // Tells policies and hit bits that the tier has so many bytes from now on.
  void OnCapacity(uint64_t bytes);
  const DramBudget& budget() const { return budget_; }

  // Counts the tier's hits, at a fraction of what Counters::Add(Event::kDramHit, role) costs.
  DramHits& hits() { return *hits_; }
  void AddHitsTo(CounterSnapshot& sum) const { hits_->AddTo(sum); }

  // Remembers from now on which blocks were hit. For tiers that do not tell reliably whether an evicted block was hit.
  // Before the first look-up.
  void KeepHitBits(uint64_t dram_bytes);
  // Null if the tier itself tells.
  DramHitBits* hit_bits() { return hit_bits_.get(); }
  const DramHitBits* hit_bits() const { return hit_bits_.get(); }
  // Whether the block, which is being evicted, was hit. `tier_tells` is what the tier says; the block's bit is cleared.
  bool WasHit(const BlockKey& key, bool tier_tells) {
    return hit_bits_ == nullptr ? tier_tells : hit_bits_->Take(BlockHash(key)) || tier_tells;
  }
  uint64_t hit_bits_bytes() const { return hit_bits_ == nullptr ? 0 : hit_bits_->dram_bytes(); }

 private:
  void Resize(uint64_t bytes);
  void Tell();

  const HybridCacheOptions& options_;
  PolicyInForce& policy_;
  DramBudget budget_;
  std::function<void(uint64_t)> resize_;        // empty if we may not resize; does not change once blocks are looked up
  MoveGate* gate_ = nullptr;                    // set together with resize_
  std::atomic<uint64_t> capacity_, beside_{0};  // bytes; relaxed: a later one is told in a moment
  std::unique_ptr<DramHits> hits_;
  std::unique_ptr<DramHitBits> hit_bits_;  // null if the tier tells; does not change once blocks are looked up
};

}  // namespace mezz
