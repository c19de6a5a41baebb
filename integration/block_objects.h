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

// Makes the objects that RocksDB is served of blocks in the SCM tier: in place, or copied and unpacked. An object that
// could not be made is null, and counted. Forwards what create_cb throws.
//
// Thread-safe.
class BlockObjects {
 public:
  // `scm` and `dram` outlive this. Objects lie in memory of the allocator of `dram`, but for those in place.
  BlockObjects(ScmTier& scm, rocksdb::Cache& dram);

  // The object's bytes stay where they lie, and pin their segment until it is destroyed. `in_place` becomes false where
  // create_cb copied them all the same.
  OwnedObject InPlace(PinnedBlock block, const BlockRequest& request, bool* in_place);
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
  rocksdb::MemoryAllocator* const memory_allocator_;  // null: malloc
  AdoptingAllocator adopting_allocator_;
  HandoverAllocator& handover_allocator_;
};

}  // namespace mezz
