// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"
#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"
#include "integration/placement.h"
#include "integration/stock_tier_v7.h"
#include "rocksdb/cache.h"

namespace mezz {

// What RocksDB 7.8 inserts with a helper, as Cache::Insert has it.
struct InsertedEntryV7 {
  const rocksdb::Slice& key;
  void* value;
  const rocksdb::Cache::CacheItemHelper* helper;
  size_t charge;
  rocksdb::Cache::Priority priority;
};

// Changes both tiers of one cache on RocksDB 7.8: forgets what there is of a key, asks where the new block goes, and
// puts it there.
//
// Thread-safe.
class InsertsV7 {
 public:
  using Handle = rocksdb::Cache::Handle;

  // All must outlive this.
  InsertsV7(HybridCore& core, DatabaseUser& user, Parents& parents, StockTierV7& dram)
      : core_(core), user_(user), placement_(core, user, parents), dram_(dram) {}

  // As Cache::Insert: `handle` may be null, and the object is the cache's unless the status is not OK. REQUIRES: Erase
  // was called, and the caller's window on the gate.
  rocksdb::Status Insert(const InsertedEntryV7& entry, Handle** handle);
  // As Cache::Insert, of an object that this thread has read back.
  rocksdb::Status InsertReadBack(const InsertedEntryV7& entry, Handle** handle);
  // When this returns, no copy of the key is left in either tier or on its way into one, but for those in readers'
  // hands.
  void Erase(const rocksdb::Slice& key);

 private:
  bool HandOver(const InsertedEntryV7& entry, Handle** handle);

  HybridCore& core_;
  DatabaseUser& user_;
  BlockPlacement placement_;
  StockTierV7& dram_;  // an adapter's base: its functions are called by their full names, past the adapter's
};

}  // namespace mezz
