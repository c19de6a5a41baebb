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

// A block as a DRAM tier hands it over, when it evicts it or is closed.
struct DramBlock {
  std::string_view key;
  BlockRole role;
  bool was_hit;      // while it was there, as the DRAM tier tells
  bool can_be_read;  // there is an object, and it can tell its size and save itself
};

// Brings what DRAM held back into DRAM after a restart (`warm_dram`). At the close its blocks are marked in the SCM
// tier, and written there where it has no record of them. Afterwards each goes to DRAM with its first hit, whatever the
// policy says.
//
// Hits may come on any thread. Closing is one thread's, when nobody looks anything up any more.
class WarmDram {
 public:
  // Both outlive this.
  WarmDram(const HybridCacheOptions& options, ScmTier& scm) : options_(options), scm_(scm) {}
  WarmDram(const WarmDram&) = delete;
  WarmDram& operator=(const WarmDram&) = delete;

  // Blocks that an earlier life left may go back from now on, warm_dram bytes of them at most. Before the first
  // look-up.
  void Open();
  // Whether the hit block goes to DRAM although the policy leaves it in SCM. Cheap once all that may go back is back.
  bool BringsBack(const PinnedBlock& block) { return !budget_.used_up() && Takes(block); }
  // Bytes that went back so.
  uint64_t taken() const { return budget_.taken(); }

  // The cache closes. False: nothing is to be saved, or can be; then nothing below is called.
  bool StartSaving(uint64_t now_ns);
  // Bytes that may yet be written.
  uint64_t save_left() const { return save_left_; }
  bool saves() const { return save_left_ != 0; }
  // Marks the block's record. True: there is none, so Write is wanted.
  bool WantsWrite(const DramBlock& block, uint64_t now_ns);
  // `proven`: worth keeping before others. A block that finds no room, or no time, is left out.
  void Write(const DramBlock& block, size_t bytes, const BlockSource& source, bool proven);

 private:
  bool Takes(const PinnedBlock& block);

  const HybridCacheOptions& options_;
  ScmTier& scm_;
  WarmBudget budget_;           // does not grow once blocks are looked up
  uint64_t save_left_ = 0;      // bytes; the closing thread's
  uint64_t save_until_ns_ = 0;  // the closing thread's
};

}  // namespace mezz
