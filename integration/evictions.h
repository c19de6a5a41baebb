// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"
#include "integration/cached_object.h"
#include "integration/hybrid_core.h"
#include "rocksdb/slice.h"

namespace mezz {

// A block that leaves a DRAM tier. Its key and its object live as long as the call that takes it.
struct LeavingBlock {
  rocksdb::Slice key;
  CachedObject object;
  bool was_hit;  // while it was there, as the DRAM tier says
  ShareId share = kNoShare;
};

// The DRAM tier evicts the block. What can be stored goes to HybridCore::OnDramEviction. Any other block is refused,
// and its reason is counted, as is one whose callbacks throw.
void OnEviction(HybridCore& core, const LeavingBlock& block) noexcept;

}  // namespace mezz
