// SPDX-License-Identifier: Apache-2.0
// RocksDB's own rules between a primary cache and what lies below it, as of 11.8.1, so that tables compare with what
// its users have. Both keep two-hit dummies: keys without blocks, here as bounded ghosts.
//
//   policy        miss goes to   on DRAM eviction                         on SCM hit
//   placeholder   DRAM           drop, leaving a dummy; with one: demote  in place, leaving a dummy; with one: move
//   three_queue   DRAM           demote, unless it was promoted           in place, leaving a dummy; with one: promote
//
// placeholder is TieredAdmissionPolicy::kAdmPolicyPlaceholder, which kAdmPolicyAuto chooses for two tiers and which
// LRUCacheOptions::secondary_cache gets: cache/secondary_cache_adapter.cc (EvictionHandler, Promote) over
// cache/compressed_secondary_cache.cc (MaybeInsertDummy, Lookup with advise_erase). Modelled: the dummy in the
// secondary cache that the first eviction leaves and the second stores over; the dummy in the primary that the first
// secondary hit leaves beside its standalone object, that the next look-up erases and that a block read from flash
// replaces; the move upwards, which erases the secondary's copy and leaves a dummy there, so that the block's next
// eviction stores it. RocksDB forces a block in that was hit in the primary only under kAdmPolicyAllowCacheHits: not
// this one.
//
// three_queue is kAdmPolicyThreeQueue: cache/tiered_secondary_cache.{h,cc}. Primary, compressed secondary and a
// non-volatile tier are queues of their own: blocks go to the first and the last when they are read from flash, and
// nothing spills downwards. Our SCM tier stands for the last. Modelled: everything is admitted to it, once; hits leave
// a dummy and are promoted the second time; the record stays and a promoted block is never written again, even if its
// record is gone when it leaves DRAM.
//
// Not modelled:
// * three_queue writes when a block is read, this writes when it leaves DRAM: a policy sends a miss to one tier. A
// block
//   thus enters its second queue later, and one that is erased while in DRAM never.
// * three_queue's middle tier, compressed DRAM, and its dummies: there is none.
// * Dummies are entries of the caches' own LRU or clock lists, refreshed by what finds them and charged about 100 bytes
//   each. Here each tier's last as many insertions as blocks fit the tier, in order of insertion.
// * The secondary cache is an LRUCache. Our tier reclaims in order of writing and spares, once for each hit, what was
//   hit: CLOCK for LRU. What a non-volatile tier does is its maker's.
// * RocksDB erases the secondary's copy before it knows whether the primary takes the block; we erase afterwards.
// * A look-up that misses both tiers erases the primary's dummy even if its reader does not fill the cache.
#pragma once

#include <string_view>

#include "admission/ghost.h"
#include "admission/policy.h"

namespace mezz {

// State: two ghosts, each lock-free. Two threads at one key may both see a dummy or both leave one, as RocksDB's may.
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
