// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "admission/block_hash.h"
#include "cache/scm_tier.h"
#include "cache/types.h"
#include "integration/dram_tier.h"
#include "integration/options.h"
#include "integration/warm_budget.h"

namespace mezz {

// Brings the blocks of the DRAM tier back into DRAM after a restart (`warm_dram`). When the cache is closed, the
// records of these blocks are marked in the SCM tier; a block without a record is written there. After the restart each
// goes to DRAM with its first hit, whatever the policy says.
//
// Any thread may report hits. One thread closes, when there are no look-ups any more.
class WarmDram {
 public:
  // All must outlive this.
  WarmDram(const HybridCacheOptions& options, ScmTier& scm, const DramTier& dram)
      : options_(options), scm_(scm), dram_(dram) {}
  WarmDram(const WarmDram&) = delete;
  WarmDram& operator=(const WarmDram&) = delete;

  // From now on blocks of an earlier process may go back, at most warm_dram bytes of them. Before the first look-up.
  void Open();
  // Whether the hit block goes to DRAM although the policy leaves it in SCM. Cheap once the budget is used up.
  bool BringsBack(const PinnedBlock& block) { return !budget_.used_up() && Takes(block); }
  // The bytes that have gone back this way.
  uint64_t taken() const { return budget_.taken(); }

  // The cache, which was told of every change of a key, closes, and gets no more requests. If this returns true, the
  // owner of the DRAM tier saves each block (closing.cc), the hottest first, as long as save_left() is not 0. If it
  // returns false, nothing is to be saved, or can be; then do not call the functions below.
  bool StartSaving();
  // The bytes that may still be written.
  uint64_t save_left() const { return save_left_; }
  bool saves() const { return save_left_ != 0; }
  // True if the block is worth saving before others, because DRAM was right to keep it, as far as we know.
  bool SavedFirst(const BlockKey& key, BlockRole role) const {
    return IsMetadata(role) || (dram_.hit_bits() != nullptr && dram_.hit_bits()->Has(BlockHash(key)));
  }
  // Marks the block's record. Returns true if there is none, so that the caller should call Write.
  bool WantsWrite(const BlockKey& key, BlockRole role);
  // `was_hit` says that DRAM was right to keep the block. A block for which there is no room or no time is left out.
  void Write(const BlockKey& key, BlockRole role, size_t bytes, const BlockSource& source, bool was_hit);

 private:
  bool Takes(const PinnedBlock& block);

  const HybridCacheOptions& options_;
  ScmTier& scm_;
  const DramTier& dram_;
  WarmBudget budget_;           // does not grow once blocks are looked up
  uint64_t save_left_ = 0;      // bytes; only the closing thread uses it
  uint64_t save_until_ns_ = 0;  // the closing thread's
};

}  // namespace mezz
