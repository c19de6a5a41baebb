// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration/core_stats.h"
#include "integration/database_user.h"
#include "integration/hybrid_cache.h"
#include "integration/hybrid_core.h"
#include "integration/hybrid_registry.h"
#include "integration/large_entries.h"
#include "integration/lru_overflow.h"
#include "integration/new_ids.h"

namespace mezz {

// A sum that many threads change. Each thread adds to a cache line of its own, and the reader adds these up. A thread
// may subtract what another has added, so a single line may wrap, but the sum does not. Relaxed order, because the sum
// publishes nothing.
class StripedSum {
 public:
  void Add(size_t amount) { stripe().fetch_add(amount, std::memory_order_relaxed); }
  void Subtract(size_t amount) { stripe().fetch_sub(amount, std::memory_order_relaxed); }
  size_t Read() const;

 private:
  struct alignas(64) Stripe {
    std::atomic<size_t> sum{0};
  };
  std::atomic<size_t>& stripe();

  std::array<Stripe, 16> stripes_;
};

// The hybrid cache on RocksDB 7.8, over a stock LRUCache.
//
// 7.8 has neither eviction callbacks nor standalone handles, and its create callback takes no allocator. So we hear of
// evictions as the SecondaryCache of the LRUCache. Standalone handles are our own; bit 0 of the pointer tells them from
// LRUCache's. Every SCM hit is copied.
//
// 7.8 tells neither a block's role nor whether an evicted block was hit, so policies see kOther, and hits are
// remembered in bits of our own (dram_hit_bits.h).
//
// At first it has no SCM tier and is a plain LRUCache; Arm gives it one. As thread-safe as rocksdb::Cache.
class HybridCacheV7 : public rocksdb::Cache, public CoreStats, private LargeEntries::Owner {
 public:
  // `dram` must have no secondary cache. valid() is false if RocksDB refuses to make such a cache.
  explicit HybridCacheV7(const rocksdb::LRUCacheOptions& dram);
  ~HybridCacheV7() override;
  bool valid() const { return target_ != nullptr; }

  // Puts the SCM tier underneath, as WrapCache does on later releases. It may be called again until it succeeds, by one
  // thread at a time. Other threads may use the cache meanwhile.
  Status Arm(const HybridCacheOptions& options);
  // Does the same for a database that shares the tier of `main`, whose core this is.
  Status ArmAsDatabase(HybridCore& core, std::shared_ptr<rocksdb::Cache> main, std::string_view name,
                       const DatabaseLimits& limits);
  bool armed() const { return core() != nullptr; }

  // rocksdb::Cache
  const char* Name() const override { return "HybridCache"; }
  rocksdb::Status Insert(const rocksdb::Slice& key, void* value, size_t charge, DeleterFn deleter, Handle** handle,
                         Priority priority) override;
  rocksdb::Status Insert(const rocksdb::Slice& key, void* value, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority) override;
  Handle* Lookup(const rocksdb::Slice& key, rocksdb::Statistics* stats) override;
  Handle* Lookup(const rocksdb::Slice& key, const CacheItemHelper* helper, const CreateCallback& create,
                 Priority priority, bool wait, rocksdb::Statistics* stats) override;
  bool Ref(Handle* handle) override;
  bool Release(Handle* handle, bool erase_if_last_ref) override;
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override;
  void* Value(Handle* handle) override;
  void Erase(const rocksdb::Slice& key) override;
  uint64_t NewId() override { return ids_.Of(target_->NewId()); }
  void SetCapacity(size_t capacity) override;
  void SetStrictCapacityLimit(bool strict) override;
  bool HasStrictCapacityLimit() const override { return target_->HasStrictCapacityLimit(); }
  size_t GetCapacity() const override;
  size_t GetUsage() const override { return target_->GetUsage() + standalone_bytes_.Read(); }
  size_t GetOccupancyCount() const override { return target_->GetOccupancyCount() + large_.listed(); }
  size_t GetTableAddressCount() const override { return target_->GetTableAddressCount(); }
  size_t GetUsage(Handle* handle) const override;
  size_t GetPinnedUsage() const override;
  size_t GetCharge(Handle* handle) const override;
  DeleterFn GetDeleter(Handle* handle) const override;
  void DisownData() override {
    disowned_.store(true, std::memory_order_relaxed);
    target_->DisownData();
  }
  void ApplyToAllEntries(const std::function<void(const rocksdb::Slice&, void*, size_t, DeleterFn)>& callback,
                         const ApplyToAllEntriesOptions& options) override;
  void EraseUnRefEntries() override;
  std::string GetPrintableOptions() const override;
  bool IsReady(Handle*) override { return true; }
  void Wait(Handle*) override {}
  void WaitAll(std::vector<Handle*>&) override {}

  ReadBack* read_back() override { return read_back_.get(); }
  CounterSnapshot Counters() const override { return user_->is_main() ? core()->Snapshot() : user_->Snapshot(); }
  Status MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                           const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                           std::shared_ptr<rocksdb::Cache>* view) override;
  Status SetDatabaseLimits(const DatabaseLimits& limits) override { return user_->SetLimits(limits); }

 private:
  class EvictionHook;
  class InsertScope;
  struct Standalone;

  HybridCore& stats_core() const override { return *core(); }
  DatabaseShares::DramPart DramPart(HybridCore& core);
  void OpenOver(HybridCore& core);

  HybridCore* core() const { return core_.load(std::memory_order_acquire); }
  static Standalone* ToStandalone(Handle* handle);
  static Handle* ToHandle(Standalone* entry);

  // Makes a handle of ours, which owns `object` from then on. Returns null if there is no memory; the caller then keeps
  // the object.
  Handle* MakeStandalone(const rocksdb::Slice& key, void* object, DeleterFn deleter, size_t charge);
  bool ReleaseStandalone(Standalone* entry, bool erase_if_last_ref);
  Handle* LookupScm(HybridCore& core, const rocksdb::Slice& key, const CacheItemHelper* helper,
                    const CreateCallback& create, Priority priority, rocksdb::Statistics* stats);
  // Asks the policy where the block goes. Returns true if it goes to SCM or nowhere, which is then done. Returns false
  // if the caller must insert it into DRAM; then nothing was done.
  bool InsertElsewhere(HybridCore& core, const rocksdb::Slice& key, void* value, const CacheItemHelper* helper,
                       size_t charge, Handle** handle);
  void RefLarge(Handle* handle) override { Ref(handle); }
  void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) override;
  void ResizeShards(uint64_t bytes) override { overflow_.SetCapacity(bytes); }
  // Inserts an object beside the shards, and gives the caller a reference if `handle` is not null. Returns false if
  // nothing was done.
  bool InsertLarge(const rocksdb::Slice& key, void* value, const CacheItemHelper* helper, size_t charge,
                   Handle** handle);
  bool Reserve(const rocksdb::Slice& key, void* value, DeleterFn deleter, size_t charge, Handle** handle);
  rocksdb::Status InsertReadBack(HybridCore& core, const rocksdb::Slice& key, void* value,
                                 const CacheItemHelper* helper, size_t charge, Handle** handle);
  void NoteParent(HybridCore& core, const rocksdb::Slice& key, const CacheItemHelper* helper, void* value,
                  Standing standing);
  bool Released(bool freed);
  bool InDram(const rocksdb::Slice& key);
  void Forget(HybridCore& core, const rocksdb::Slice& key);
  void SaveDram(HybridCore& core);
  template <typename InsertCall>
  rocksdb::Status Replace(const rocksdb::Slice& key, const void* value, InsertCall insert);

  std::shared_ptr<EvictionHook> hook_;
  std::shared_ptr<rocksdb::Cache> target_;
  const NewIds ids_;
  std::unique_ptr<HybridCore> owned_core_;  // null for a database that shares another cache's
  std::optional<DatabaseUser> user_;        // set before core_ is
  // null --Arm: release store--> the SCM tier; acquire loads see it whole. Never changes again.
  std::atomic<HybridCore*> core_{nullptr};
  std::atomic<bool> disowned_{false};  // relaxed, because it is read when nobody uses the cache any more
  StripedSum standalone_bytes_;
  LruOverflow overflow_;
  LargeEntries large_{this};             // opened together with the SCM tier
  std::unique_ptr<ReadBack> read_back_;  // null if not armed, or with heirs=off; does not change once armed
  std::optional<HybridRegistration> registration_;
};

}  // namespace mezz
