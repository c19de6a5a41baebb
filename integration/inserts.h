// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"
#include "integration/cached_object.h"
#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"
#include "integration/placement.h"
#include "integration/rocksdb_compat.h"
#include "integration/stock_tier.h"

namespace mezz {

// What RocksDB inserts, as Cache::Insert has it.
struct InsertedEntry {
  const rocksdb::Slice& key;
  OwnedObject made;
  const rocksdb::Cache::CacheItemHelper* helper;
  rocksdb::Cache::Priority priority;
  const rocksdb::Slice& compressed;
  rocksdb::CompressionType type;

  CachedObject object() const { return {made.obj, helper}; }
  BlockRole role() const { return CachedObject::RoleOf(helper); }
};

// Changes both tiers of one cache, in the order that leaves no older version of a key: forgets what there is of it,
// asks where the new block goes, and puts it there. Every handle is a plain handle of `target`, the stock cache.
//
// Thread-safe.
class Inserts {
 public:
  using Handle = rocksdb::Cache::Handle;

  // All must outlive this. `dram` is the tier over `target`.
  Inserts(HybridCore& core, DatabaseUser& user, Parents& parents, StockTier& dram, rocksdb::Cache& target)
      : core_(core),
        user_(user),
        placement_(core, user, parents),
        dram_(dram),
        target_(target),
        scm_block_bytes_max_(core.scm().figures().max_block_bytes()) {}

  // As Cache::Insert: `handle` may be null, and the object is the cache's unless the status is not OK.
  rocksdb::Status Insert(const InsertedEntry& entry, Handle** handle);
  // When this returns, no copy of the key is left in either tier or on its way into one, but for those in readers'
  // hands.
  void Erase(const rocksdb::Slice& key);
  // The handle is about to be released, with erase_if_last_ref. Ends its reservation, or erases what lies beside the
  // shards and in the SCM tier. (uncache_aggressiveness drops the blocks of deleted files so, not by Erase.)
  void EraseRecordOf(Handle* handle);

 private:
  rocksdb::Status InsertOther(const InsertedEntry& entry, Handle** handle);
  rocksdb::Status InsertReadBack(const InsertedEntry& entry, Handle** handle);
  rocksdb::Status HandOver(const InsertedEntry& entry, Handle** handle);
  void EraseBlock(const rocksdb::Slice& key, const BlockKey& block);

  HybridCore& core_;
  DatabaseUser& user_;
  BlockPlacement placement_;
  StockTier& dram_;
  rocksdb::Cache& target_;
  const size_t scm_block_bytes_max_;
};

}  // namespace mezz
