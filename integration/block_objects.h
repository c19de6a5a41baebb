// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "cache/scm_tier.h"
#include "integration/adopting_allocator.h"
#include "integration/handover_allocator.h"
#include "integration/rocksdb_compat.h"
#include "integration/stock_tier.h"

namespace mezz {

// One look-up, as RocksDB's callbacks and the DRAM tier need it.
struct BlockRequest {
  const rocksdb::Slice& key;
  const rocksdb::Cache::CacheItemHelper* helper;
  rocksdb::Cache::CreateContext* context;
  rocksdb::Cache::Priority priority;
};

// Makes RocksDB's objects of blocks in the SCM tier, either in place or as an unpacked copy. An object that could not
// be made is null, and the failure is counted. Forwards what create_cb throws.
//
// Thread-safe.
class BlockObjects {
 public:
  // `scm` and `dram` must outlive this. Copied objects lie in memory of the allocator of `dram`.
  BlockObjects(ScmTier& scm, rocksdb::Cache& dram);

  // The object's bytes stay in SCM, and their segment is pinned until the object is destroyed. `in_place` becomes false
  // if create_cb copied the bytes nevertheless.
  OwnedObject InPlace(PinnedBlock&& block, const BlockRequest& request, bool* in_place);
  OwnedObject Copy(PinnedBlock block, const BlockRequest& request);

 private:
  OwnedObject OfImage(const PinnedBlock& block, const Image& image, const BlockRequest& request);
  OwnedObject Unpacked(PinnedBlock block, const BlockRequest& request);
  OwnedObject Create(std::span<const std::byte> payload, rocksdb::MemoryAllocator* allocator,
                     const BlockRequest& request);
  void Count(Event event, const BlockRequest& request) {
    scm_.counters().Add(event, ToBlockRole(request.helper->role));
  }

  ScmTier& scm_;
  rocksdb::MemoryAllocator* const memory_allocator_;  // null stands for malloc
  AdoptingAllocator adopting_allocator_;
  HandoverAllocator& handover_allocator_;
};

}  // namespace mezz
