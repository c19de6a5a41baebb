// SPDX-License-Identifier: Apache-2.0
// RocksDB's own rules between a primary cache and the tier below it, as of 11.8.1, so that tables compare with what its
// users have. Both keep two-hit dummies, which are keys without blocks; here they are bounded ghosts.
//
//   policy        miss goes to   on DRAM eviction                         on SCM hit
//   placeholder   DRAM           drop, leaving a dummy; with one: demote  in place, leaving a dummy; with one: move
//   three_queue   DRAM           demote, unless it was promoted           in place, leaving a dummy; with one: promote
//
// placeholder is TieredAdmissionPolicy::kAdmPolicyPlaceholder, which kAdmPolicyAuto chooses for two tiers and which
// LRUCacheOptions::secondary_cache gets: cache/secondary_cache_adapter.cc (EvictionHandler, Promote) over
// cache/compressed_secondary_cache.cc (MaybeInsertDummy, Lookup with advise_erase). Modelled are:
// * the dummy in the secondary cache: the first eviction leaves it, and the second stores the block over it;
// * the dummy in the primary cache: the first secondary hit leaves it beside its standalone object, the next look-up
//   erases it, and a block that is read from flash replaces it;
// * the move upwards: it erases the secondary's copy and leaves a dummy there, so that the block's next eviction stores
//   it.
// Only kAdmPolicyAllowCacheHits, another policy, forces a block in that was hit in the primary cache.
//
// three_queue is kAdmPolicyThreeQueue: cache/tiered_secondary_cache.{h,cc}. The primary cache, a compressed secondary
// cache and a non-volatile tier are separate queues. Blocks go to the first and the last when they are read from flash,
// and nothing spills downwards. Our SCM tier stands for the last. Modelled: everything is admitted to it once; a hit
// leaves a dummy, and the second one is promoted; the record stays, and a promoted block is never written again, even
// if its record is gone when the block leaves DRAM.
//
// Differences from RocksDB:
// * RocksDB's three_queue writes when a block is read; ours writes when it leaves DRAM, as a policy sends a miss to one
//   tier. So a block enters its second queue later, and one that is erased while it is in DRAM never does.
// * The middle tier of three_queue, compressed DRAM, and its dummies are missing.
// * RocksDB's dummies are entries of the caches' own LRU or clock lists; a look-up that finds one refreshes it, and
// each
//   is charged about 100 bytes. Ours are the last insertions of each tier, as many as blocks fit it, in order.
// * RocksDB's secondary cache is an LRUCache. Our tier reclaims in order of writing, and spares a block once for each
//   hit: CLOCK in place of LRU. RocksDB does not define what a non-volatile tier does.
// * RocksDB erases the secondary's copy before it knows whether the primary takes the block; we erase it afterwards.
// * In RocksDB a look-up that misses both tiers erases the primary's dummy, even if its reader does not fill the cache.
#pragma once

#include <string_view>

#include "admission/ghost.h"
#include "admission/policy.h"

namespace mezz {

// Its state is two lock-free ghosts. Two threads at one key may both see a dummy or both leave one, as in RocksDB.
class PlaceholderPolicy final : public Policy {
 public:
  static constexpr std::string_view kName = "placeholder";
  explicit PlaceholderPolicy(const PolicyOptions& options);

  std::string_view name() const override { return kName; }
  bool may_divert_misses() const override { return true; }  // it does not, but must see them: they replace dummies
  Decision OnMiss(const BlockFacts& block) override;
  Decision OnDramEviction(const BlockFacts& block) override;
  Decision OnScmHit(const BlockFacts& block) override;
  size_t dram_bytes() const override;

 private:
  Ghost dram_dummies_;  // hit in SCM once, not long ago
  Ghost scm_dummies_;   // left DRAM without being stored, or moved up from SCM
};

class ThreeQueuePolicy final : public Policy {
 public:
  static constexpr std::string_view kName = "three_queue";
  explicit ThreeQueuePolicy(const PolicyOptions& options);

  std::string_view name() const override { return kName; }
  bool may_divert_misses() const override { return true; }  // as above
  Decision OnMiss(const BlockFacts& block) override;
  Decision OnDramEviction(const BlockFacts& block) override;
  Decision OnScmHit(const BlockFacts& block) override;
  size_t dram_bytes() const override;

 private:
  Ghost dram_dummies_;  // hit in SCM once, not long ago
  Ghost promoted_;      // came to DRAM from SCM
};

}  // namespace mezz
