// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"
#include "integration/block_objects.h"
#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"
#include "integration/rocksdb_compat.h"
#include "integration/stock_tier.h"

namespace mezz {

// Answers the look-ups that one cache's DRAM tier missed: finds the block in the SCM tier, and serves it in place,
// copied or promoted, as the policy says. Every handle is a plain handle of `target`, the stock cache.
//
// Thread-safe.
class ScmHits {
 public:
  using Handle = rocksdb::Cache::Handle;

  // All must outlive this. `dram` is the tier over `target`.
  ScmHits(HybridCore& core, DatabaseUser& user, Parents& parents, StockTier& dram, rocksdb::Cache& target)
      : core_(core), user_(user), parents_(parents), dram_(dram), target_(target), objects_(core.scm(), target) {}

  // Null: the SCM tier does not have the block, or it could not be served, which is counted. Then the observers hear of
  // a miss.
  Handle* LookUp(const BlockKey& key, const BlockRequest& request, rocksdb::Statistics* stats);

 private:
  // What a hit in place goes through is one function: as four it took longer (results/media).
  [[gnu::always_inline]] inline Handle* Find(const BlockKey& key, const BlockRequest& request,
                                             rocksdb::Statistics* stats);
  [[gnu::always_inline]] inline Handle* Serve(const BlockKey& key, PinnedBlock&& block, const BlockRequest& request);
  [[gnu::always_inline]] inline Handle* ServeInPlace(PinnedBlock&& block, const BlockRequest& request);
  Handle* ServeCopy(PinnedBlock block, const BlockRequest& request);
  Handle* Promote(const BlockKey& key, PinnedBlock block, const BlockRequest& request, HybridCore::Serve serve);
  Handle* Standalone(const OwnedObject& made, const BlockRequest& request);
  void Count(Event event, const BlockRequest& request) {
    user_.counters().Add(event, CachedObject::RoleOf(request.helper));
  }

  HybridCore& core_;
  DatabaseUser& user_;
  Parents& parents_;
  StockTier& dram_;
  rocksdb::Cache& target_;
  BlockObjects objects_;
};

}  // namespace mezz
