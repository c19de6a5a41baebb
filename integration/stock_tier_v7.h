// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cache/counters.h"
#include "integration/cached_object.h"
#include "integration/eviction_hook_v7.h"
#include "integration/large_entries.h"
#include "integration/lru_overflow.h"
#include "integration/move_gate.h"
#include "integration/standalone_v7.h"
#include "rocksdb/cache.h"

namespace mezz {

// The DRAM tier on RocksDB 7.8: an LRUCache, with what the caches of later releases have (an eviction callback,
// standalone handles), and beside its shards the entries that are too large for one.
//
// Until Open it is a plain LRUCache. As thread-safe as rocksdb::Cache.
class StockTierV7 : public rocksdb::Cache, private LargeEntries::Owner {
 public:
  using Helper = CacheItemHelper;
  using Slice = rocksdb::Slice;
  // `was_hit` is told only of what lies beside the shards.
  using Evicted = std::function<void(const Slice& key, const CachedObject& object, bool was_hit)>;

  // `dram` must have no secondary cache. valid() is false if RocksDB refuses to make such a cache.
  explicit StockTierV7(const rocksdb::LRUCacheOptions& dram);
  bool valid() const { return lru_ != nullptr; }

  // Before Open, and as often as it takes: `evicted` will be called for each block that is evicted, and may not throw;
  // `counters` will be told of what found no memory. May throw bad_alloc.
  void Prepare(Counters& counters, Evicted evicted);
  // From now on evictions are told, and what is large lies beside the shards. `gate`, and what Prepare was given, must
  // outlive the calls of this. Call it once; other threads may use the cache meanwhile. A thread that sees the tier
  // open sees all that its caller did before.
  void Open(const MoveGate& gate) noexcept;
  // Whether the entry is a block that may be demoted.
  static bool IsDemotable(const Slice& key, const Helper* helper) {
    return CachedObject::CanBeSaved(helper) && key.size() == BlockKey::kBytes;
  }

  // Makes a handle of an object outside the cache, which owns the object from then on. Returns null if there is no
  // memory, which is counted; the caller then keeps the object. REQUIRES: the tier is open, or about to be.
  Handle* Standalone(const Slice& key, void* object, DeleterFn deleter, size_t charge);
  // The key of a standalone handle; nothing if it is LRUCache's.
  static std::optional<BlockKey> KeyOfStandalone(Handle* handle) {
    const StandaloneV7* const entry = StandaloneV7::Of(handle);
    return entry == nullptr ? std::nullopt : std::optional(entry->key);
  }

  // Of the shards and of what lies beside them. REQUIRES: Prepare was called; of Resize, too: the caller's window on
  // the gate. Evicts what the capacity has no room for.
  void Resize(uint64_t bytes) { large_.SetCapacity(bytes); }
  void EvictToCapacity() {}  // an LRUCache has done so
  size_t capacity() const { return large_.capacity(); }
  size_t usage() const { return lru_->GetUsage() + standalone_bytes_.Read(); }
  size_t pinned_usage() const;

  // rocksdb::Cache. Once the tier is open, REQUIRES of Insert and SetCapacity: the caller's window on the gate.
  rocksdb::Status Insert(const Slice& key, void* value, size_t charge, DeleterFn deleter, Handle** handle,
                         Priority priority) override;
  rocksdb::Status Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority) override;
  using rocksdb::Cache::Lookup;
  Handle* Lookup(const Slice& key, rocksdb::Statistics* stats) override {
    Handle* const handle = lru_->Lookup(key, stats);
    if (handle != nullptr || key.size() != BlockKey::kBytes) return handle;
    return large_.Find(BlockKey::FromBytes(key.data()));
  }
  bool Ref(Handle* handle) override;
  bool Release(Handle* handle, bool erase_if_last_ref) override { return Release(handle, true, erase_if_last_ref); }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override;
  void* Value(Handle* handle) override {
    const StandaloneV7* const entry = StandaloneV7::Of(handle);
    return entry != nullptr ? entry->object : lru_->Value(handle);
  }
  void Erase(const Slice& key) override;
  uint64_t NewId() override { return lru_->NewId(); }
  void SetCapacity(size_t bytes) override { is_open() ? Resize(bytes) : lru_->SetCapacity(bytes); }
  void SetStrictCapacityLimit(bool strict) override;
  bool HasStrictCapacityLimit() const override { return lru_->HasStrictCapacityLimit(); }
  size_t GetCapacity() const override { return is_open() ? capacity() : lru_->GetCapacity(); }
  size_t GetUsage() const override { return usage(); }
  size_t GetUsage(Handle* handle) const override;
  size_t GetPinnedUsage() const override { return pinned_usage(); }
  size_t GetOccupancyCount() const override { return lru_->GetOccupancyCount() + large_.listed(); }
  size_t GetTableAddressCount() const override { return lru_->GetTableAddressCount(); }
  size_t GetCharge(Handle* handle) const override;
  DeleterFn GetDeleter(Handle* handle) const override;
  void DisownData() override { lru_->DisownData(); }
  void ApplyToAllEntries(const std::function<void(const Slice&, void*, size_t, DeleterFn)>& callback,
                         const ApplyToAllEntriesOptions& options) override;
  void EraseUnRefEntries() override;
  std::string GetPrintableOptions() const override { return lru_->GetPrintableOptions(); }

  // Drops what lies beside the shards, without an eviction.
  void ClearLarge() { large_.Clear(); }
  // Calls visit(key, object) for what lies beside the shards.
  void ForEachLarge(const EvictionHookV7::Evicted& visit);
  // Empties the shards: calls visit(key, object) for the hottest `bytes`, the coldest of them first, and drops the
  // rest. REQUIRES: nobody else uses the cache any more.
  void EmptyInto(uint64_t bytes, const EvictionHookV7::Evicted& visit);
  // Deletes the LRUCache. REQUIRES: nobody uses the cache any more.
  void Close();

 private:
  // Of LargeEntries::Owner:
  void RefLarge(Handle* handle) override { StockTierV7::Ref(handle); }
  void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) override;
  void ResizeShards(uint64_t bytes) override { overflow_.SetCapacity(bytes); }

  bool is_open() const { return gate_.load(std::memory_order_acquire) != nullptr; }
  // Inserts an object beside the shards, and gives the caller a reference if `handle` is not null. Returns false if
  // nothing was done.
  bool InsertLarge(const Slice& key, void* value, const Helper* helper, size_t charge, Handle** handle);
  bool Reserve(const Slice& key, DeleterFn deleter, size_t charge, Handle** handle);
  template <typename InsertCall>
  rocksdb::Status InsertIntoShards(const Slice& key, const void* value, InsertCall insert);
  bool ReleaseStandalone(StandaloneV7* entry, bool erase_if_last_ref);

  std::shared_ptr<EvictionHookV7> hook_;
  std::shared_ptr<rocksdb::Cache> lru_;
  // null --Open: release store--> the gate; acquire loads see all that Open did. Never changes again.
  std::atomic<const MoveGate*> gate_{nullptr};
  // Set before gate_ is:
  Evicted evicted_;
  EvictionHookV7::Evicted told_;  // what the hook calls
  Counters* counters_ = nullptr;
  StripedSum standalone_bytes_;
  LruOverflow overflow_;
  LargeEntries large_{this};
};

}  // namespace mezz
