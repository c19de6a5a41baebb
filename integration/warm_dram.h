// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cache/scm_tier.h"
#include "cache/types.h"
#include "integration/options.h"
#include "integration/warm_budget.h"

namespace mezz {

// A block that a DRAM tier hands over, when it evicts the block or is closed.
struct DramBlock {
  std::string_view key;
  BlockRole role;
  bool was_hit;      // while it was there, as the DRAM tier says
  bool can_be_read;  // there is an object, which can tell its size and save itself
  ShareId share = kNoShare;
};

// Brings the blocks of the DRAM tier back into DRAM after a restart (`warm_dram`). When the cache is closed, the
// records of these blocks are marked in the SCM tier; a block without a record is written there. After the restart each
// goes to DRAM with its first hit, whatever the policy says.
//
// Any thread may report hits. One thread closes, when there are no look-ups any more.
class WarmDram {
 public:
  // Both must outlive this.
  WarmDram(const HybridCacheOptions& options, ScmTier& scm) : options_(options), scm_(scm) {}
  WarmDram(const WarmDram&) = delete;
  WarmDram& operator=(const WarmDram&) = delete;

  // From now on blocks of an earlier process may go back, at most warm_dram bytes of them. Before the first look-up.
  void Open();
  // Whether the hit block goes to DRAM although the policy leaves it in SCM. Cheap once the budget is used up.
  bool BringsBack(const PinnedBlock& block) { return !budget_.used_up() && Takes(block); }
  // The bytes that have gone back this way.
  uint64_t taken() const { return budget_.taken(); }

  // The cache closes. Returns false if nothing is to be saved, or can be; then do not call the functions below.
  bool StartSaving(uint64_t now_ns);
  // The bytes that may still be written.
  uint64_t save_left() const { return save_left_; }
  bool saves() const { return save_left_ != 0; }
  // Marks the block's record. Returns true if there is none, so that the caller should call Write.
  bool WantsWrite(const DramBlock& block, uint64_t now_ns);
  // `proven` says that the block is worth keeping before others. A block for which there is no room or no time is left
  // out.
  void Write(const DramBlock& block, size_t bytes, const BlockSource& source, bool proven);

 private:
  bool Takes(const PinnedBlock& block);

  const HybridCacheOptions& options_;
  ScmTier& scm_;
  WarmBudget budget_;           // does not grow once blocks are looked up
  uint64_t save_left_ = 0;      // bytes; only the closing thread uses it
  uint64_t save_until_ns_ = 0;  // the closing thread's
};

}  // namespace mezz
