// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"
#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"
#include "integration/stock_tier_v7.h"
#include "rocksdb/cache.h"

namespace mezz {

// Answers the look-ups that one cache's DRAM tier missed, on RocksDB 7.8: finds the block in the SCM tier, and copies
// or promotes it, as the policy says.
//
// Thread-safe.
class ScmHitsV7 {
 public:
  using Handle = rocksdb::Cache::Handle;
  struct Request {
    const rocksdb::Slice& key;
    const rocksdb::Cache::CacheItemHelper* helper;
    const rocksdb::Cache::CreateCallback& create;
    rocksdb::Cache::Priority priority;
  };

  // All must outlive this.
  ScmHitsV7(HybridCore& core, DatabaseUser& user, Parents& parents, StockTierV7& dram)
      : core_(core), user_(user), parents_(parents), dram_(dram) {}

  // Null: the SCM tier does not have the block, or it could not be served, which is counted. Then the observers hear of
  // a miss.
  Handle* LookUp(const BlockKey& key, const Request& request, rocksdb::Statistics* stats);

 private:
  Handle* Find(const BlockKey& key, const Request& request, rocksdb::Statistics* stats);
  struct Made {
    void* object = nullptr;
    size_t charge = 0;
  };
  Made Copy(PinnedBlock block, const Request& request);
  Handle* Promote(const BlockKey& key, BlockRole role, const Made& made, const Request& request,
                  HybridCore::Serve serve);

  HybridCore& core_;
  DatabaseUser& user_;
  Parents& parents_;
  StockTierV7& dram_;
};

}  // namespace mezz
