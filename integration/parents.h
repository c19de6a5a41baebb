// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "admission/lineage.h"
#include "cache/types.h"
#include "integration/cached_object.h"
#include "integration/compaction_thread.h"
#include "integration/database_user.h"
#include "integration/heirs.h"
#include "integration/hybrid_core.h"
#include "integration/read_back.h"
#include "rocksdb/cache.h"

namespace mezz {

// What compactions look up in one cache, and whose heirs the blocks are that they write. Those that RocksDB offers when
// it has written them are judged by Heirs, from RocksDB 8.9 on, and those that are read back by ReadBack.
//
// With heirs=off nothing is noted. Thread-safe; each call is about the calling thread's compaction.
class Parents {
 public:
  // Heirs are read back into `cache`. All must outlive this.
  Parents(HybridCore& core, DatabaseUser& user, rocksdb::Cache* cache)
      : core_(core), user_(user), read_back_(core.MakeReadBack(cache)) {}

  // Null with heirs=off.
  ReadBack* read_back() const { return read_back_.get(); }
  // Before the cache is destroyed.
  void Stop() { ReadBack::Stop(&read_back_); }

  // A compaction has looked up the block, and found it at `standing`.
  void NoteFound(const BlockKey& key, const CachedObject& object, Standing standing) noexcept;
  // A compaction has looked up a block, and found it in neither tier.
  void NoteMissing(BlockRole role) noexcept;
  // The SCM tier has answered a look-up.
  void NoteScmHit(const BlockKey& key) noexcept {
    if (read_back_ != nullptr && !OnCompactionThread()) read_back_->NoteHit(key);
  }

  // Of a data block that RocksDB offers, which the calling thread's compaction has written.
  Lineage OfWarmed(const CachedObject& object) const { return heirs_.LineageOf(object.Copy()); }

 private:
  // 7.8 does not tell data blocks from others, which have no such entries.
  bool Notes(BlockRole role) const {
    return read_back_ != nullptr && (role == BlockRole::kData || !CachedObject::kTellsRoles);
  }

  HybridCore& core_;
  DatabaseUser& user_;
  Heirs heirs_;
  std::unique_ptr<ReadBack> read_back_;  // does not change once in use
};

}  // namespace mezz
