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

// An object that the holder of this owns, and its charge in bytes.
struct OwnedObject {
  rocksdb::Cache::ObjectPtr obj = nullptr;
  size_t charge = 0;
};

// The DRAM tier: a stock cache of RocksDB, and beside its shards the entries that are too large for one. Every handle
// is a plain handle of the stock cache.
//
// Thread-safe. Keeps no state per handle, and takes no lock for a hit.
class StockTier final : private LargeEntries::Owner {
 public:
  using Cache = rocksdb::Cache;
  using Handle = Cache::Handle;
  using Helper = Cache::CacheItemHelper;
  using Slice = rocksdb::Slice;
  using Visit = std::function<void(const Slice&, Cache::ObjectPtr, size_t charge, const Helper*)>;

  // `evicted` is called for each block that is evicted, and may not throw; the tier deletes the object. `cache` and
  // `gate` must outlive this.
  StockTier(Cache& cache, MoveGate& gate, std::function<void(const Slice& key, Handle*, bool was_hit)> evicted);
  ~StockTier();
  StockTier(const StockTier&) = delete;
  StockTier& operator=(const StockTier&) = delete;

  // Whether the entry is a block that may be demoted.
  static bool IsDemotable(const Slice& key, const Helper* helper) {
    return helper != nullptr && helper->IsSecondaryCacheCompatible() && key.size() == BlockKey::kBytes;
  }

  Handle* Lookup(const Slice& key, const Helper* helper = nullptr, Cache::CreateContext* context = nullptr,
                 Cache::Priority priority = Cache::Priority::LOW, rocksdb::Statistics* stats = nullptr) {
    Handle* const handle = cache_.Lookup(key, helper, context, priority, stats);
    if (handle != nullptr || key.size() != BlockKey::kBytes) return handle;
    return large_.Find(BlockKey::FromBytes(key.data()));
  }
  // Does what Cache::Insert does. REQUIRES: the caller's window on the gate.
  rocksdb::Status Insert(const Slice& key, const OwnedObject& made, const Helper* helper, Handle** handle,
                         Cache::Priority priority, const Slice& compressed, rocksdb::CompressionType type);
  // Reserves memory beside the shards, for an entry without an object. Returns null if the reservation may lie in a
  // shard.
  Handle* Reserve(const Slice& key, const Helper* helper, size_t charge);
  // Ends a reservation beside the shards; returns false if the handle is none. Call it before the handle is released,
  // because its address may be another's afterwards.
  bool Unreserve(Handle* handle);

  void Erase(const Slice& key);
  // Erases only beside the shards.
  void EraseLarge(Handle* handle) { large_.Erase(handle); }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) {
    if (overflow_.DueAfterRelease() || !erased_.empty()) [[unlikely]]
      return ReleaseWatched(handle, useful, erase_if_last_ref);
    return cache_.Release(handle, useful, erase_if_last_ref);
  }
  // True if the object was erased while in use. Then its bytes may be old, and its eviction must not be treated as one.
  bool TakeErased(Cache::ObjectPtr obj) { return erased_.Take(obj); }

  void ForEach(const Visit& visit, const Cache::ApplyToAllEntriesOptions& options);
  // Drops what lies beside the shards, without an eviction.
  void ClearLarge() { large_.Clear(); }

  // Sets the capacity of the shards and of what lies beside them together.
  void Resize(uint64_t bytes) { large_.SetCapacity(bytes); }
  // Evicts what the capacity has no room for. A HyperClockCache does so only at inserts, of which an idle one has none.
  // REQUIRES: the caller's window on the gate.
  void EvictToCapacity();
  void SetStrict(bool strict);
  size_t capacity() const { return large_.capacity(); }
  size_t usage() const { return cache_.GetUsage() + large_.bytes(); }
  size_t pinned_usage() const { return cache_.GetPinnedUsage() + large_.reserved(); }
  size_t occupancy() const { return cache_.GetOccupancyCount() + large_.listed(); }

 private:
  // Of LargeEntries::Owner:
  void RefLarge(Handle* handle) override { cache_.Ref(handle); }
  void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) override;
  void ResizeShards(uint64_t bytes) override { is_lru_ ? overflow_.SetCapacity(bytes) : cache_.SetCapacity(bytes); }

  Handle* InsertLarge(const Slice& key, const OwnedObject& made, const Helper* helper, bool wanted);
  void EraseFromShards(const Slice& key);
  bool ReleaseWatched(Handle* handle, bool useful, bool erase_if_last_ref);

  Cache& cache_;
  MoveGate& gate_;
  const std::function<void(const Slice& key, Handle*, bool was_hit)> evicted_;
  const bool is_lru_;     // the stock cache is an LRUCache
  ErasedObjects erased_;  // stays empty if is_lru_: such a cache evicts no erased object
  LruOverflow overflow_;  // watches if is_lru_
  LargeEntries large_{this};
  std::mutex reservations_mutex_;
  std::unordered_map<const Handle*, size_t> reservations_;  // guarded by it: bytes of those beside the shards
};

}  // namespace mezz
