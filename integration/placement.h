// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cache/types.h"
#include "integration/cached_object.h"
#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"

namespace mezz {

// Who has brought a block that RocksDB inserts: a look-up that missed it and read it, or who has written it.
enum class InsertedBy { kMiss, kFlush, kCompaction };

// Where the blocks go that RocksDB inserts into one cache: asks the policy, and has the SCM tier take those that it
// sends there. A block without bytes, or whose callbacks throw, goes to DRAM.
//
// Thread-safe. REQUIRES of all: the caller's window on the gate.
class BlockPlacement {
 public:
  // All must outlive this.
  BlockPlacement(HybridCore& core, DatabaseUser& user, Parents& parents)
      : core_(core), user_(user), parents_(parents) {}

  // With heirs=off, what was written is placed as what was missed. `image` is that of HybridCore::OnMiss.
  Placement OfInserted(const BlockKey& key, const CachedObject& object, InsertedBy by, const Image* image) noexcept;
  // A block that this thread has read back. If it is in DRAM by the time that it is placed, as `in_dram` finds, because
  // somebody has asked for it meanwhile, it stays there.
  void OfReadBack(const BlockKey& key, const CachedObject& object, const std::function<bool()>& in_dram) noexcept;

 private:
  Placement OfWritten(const BlockKey& key, const CachedObject& object, bool by_compaction) noexcept;
  template <typename Place>
  Placement Try(const CachedObject& object, Place place) noexcept;

  HybridCore& core_;
  DatabaseUser& user_;
  Parents& parents_;
};

}  // namespace mezz
