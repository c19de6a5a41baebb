// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "integration/erased_objects.h"
#include "integration/large_entries.h"
#include "integration/lru_overflow.h"
#include "integration/move_gate.h"
#include "integration/rocksdb_compat.h"

namespace mezz {

// An object that somebody owns, and what it is charged with.
struct OwnedObject {
  rocksdb::Cache::ObjectPtr obj = nullptr;
  size_t charge = 0;
};

// The DRAM tier: a stock cache of RocksDB, with what is too large for one of its shards beside them. Every handle is a
// plain handle of the stock cache.
//
// Thread-safe. Keeps no state per handle, and takes no lock for a hit.
class StockTier final : private LargeEntries::Owner {
 public:
  using Cache = rocksdb::Cache;
  using Handle = Cache::Handle;
  using Helper = Cache::CacheItemHelper;
  using Slice = rocksdb::Slice;
  using Visit = std::function<void(const Slice&, Cache::ObjectPtr, size_t charge, const Helper*)>;

  // `evicted` is called for each block that leaves, and may not throw; the object stays the tier's to delete. Both
  // `cache` and `gate` outlive this.
  StockTier(Cache& cache, MoveGate& gate, std::function<void(const Slice& key, Handle*, bool was_hit)> evicted);
  ~StockTier();
  StockTier(const StockTier&) = delete;
  StockTier& operator=(const StockTier&) = delete;

  // A block that may be demoted.
  static bool IsDemotable(const Slice& key, const Helper* helper) {
    return helper != nullptr && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes;
  }

  Handle* Lookup(const Slice& key, const Helper* helper = nullptr, Cache::CreateContext* context = nullptr,
                 Cache::Priority priority = Cache::Priority::LOW, rocksdb::Statistics* stats = nullptr) {
    Handle* const handle = cache_.Lookup(key, helper, context, priority, stats);
    if (handle != nullptr || key.size() != BlockKey::kBytes) return handle;
    return large_.Find(BlockKey::FromBytes(key.data()));
  }
  // As Cache::Insert. REQUIRES: the caller's window on the gate.
  rocksdb::Status Insert(const Slice& key, const OwnedObject& made, const Helper* helper, Handle** handle,
                         Cache::Priority priority, const Slice& compressed, rocksdb::CompressionType type);
  // For who reserves memory, and has no object. Null: the reservation may lie in a shard.
  Handle* Reserve(const Slice& key, const Helper* helper, size_t charge);
  // True: it was a reservation beside the shards, and is none any more. Before it is released: its address may be
  // another's then.
  bool Unreserve(Handle* handle);

  void Erase(const Slice& key);
  // Beside the shards alone.
  void EraseLarge(Handle* handle) { large_.Erase(handle); }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref);
  // True: the object was erased while in use. Its bytes may be old, and its eviction is none.
  bool TakeErased(Cache::ObjectPtr obj) { return erased_.Take(obj); }

  void ForEach(const Visit& visit, const Cache::ApplyToAllEntriesOptions& options);
  // What is beside the shards goes, and is not evicted.
  void ClearLarge() { large_.Clear(); }

  // What lies beside the shards is counted in.
  void SetCapacity(uint64_t bytes) { large_.SetCapacity(bytes); }
  size_t capacity() const { return large_.capacity(); }
  size_t usage() const { return cache_.GetUsage() + large_.bytes(); }
  size_t pinned_usage() const { return cache_.GetPinnedUsage() + large_.reserved(); }
  size_t occupancy() const { return cache_.GetOccupancyCount() + large_.listed(); }

 private:
  // LargeEntries::Owner
  void RefLarge(Handle* handle) override { cache_.Ref(handle); }
  void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) override;
  void ResizeShards(uint64_t bytes) override {
    erased_may_be_evicted_ ? cache_.SetCapacity(bytes) : overflow_.SetCapacity(bytes);
  }

  Handle* InsertLarge(const Slice& key, const OwnedObject& made, const Helper* helper, bool wanted);
  void EraseFromShards(const Slice& key);
  bool ReleaseOverfull(Handle* handle, bool useful, bool erase_if_last_ref);

  Cache& cache_;
  MoveGate& gate_;
  const std::function<void(const Slice& key, Handle*, bool was_hit)> evicted_;
  const bool erased_may_be_evicted_;  // by this stock cache
  ErasedObjects erased_;
  LruOverflow overflow_;  // watches an LRUCache
  LargeEntries large_{this};
  std::mutex reservations_mutex_;
  std::unordered_map<const Handle*, size_t> reservations_;  // guarded by it: bytes of those beside the shards
};

}  // namespace mezz
