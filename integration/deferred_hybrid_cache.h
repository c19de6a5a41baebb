// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include "integration/hybrid_cache.h"
#include "integration/rocksdb_compat.h"

namespace mezz {

// A stock cache that gets an SCM tier while it is in use, and is a hybrid cache from then on. From RocksDB 8.9 on; on
// 7.8 HybridCacheV7::Arm does the same.
//
// All handles are the stock cache's. So every call that takes a handle, except Release, goes straight to the stock
// cache.
//
//   current_:  the stock cache --Arm: release store--> the hybrid cache. Never changes again.
//
// Acquire loads see the hybrid cache whole. While an Insert or Erase runs that began on the stock cache, the SCM tier
// may appear, and another thread may demote the key's older block. So the call looks again when it is done, and has the
// hybrid cache forget the key. Thus the promise of docs/explanation/synchronization.md, "No older version comes back",
// holds over an LRUCache from the first call on. (A HyperClockCache itself keeps the older of two objects.)
//
// As thread-safe as rocksdb::Cache.
class DeferredHybridCache : public rocksdb::CacheWrapper {
 public:
  // `stock` must be an LRUCache or HyperClockCache, have no secondary cache, and not be in use yet.
  explicit DeferredHybridCache(std::shared_ptr<rocksdb::Cache> stock);
  ~DeferredHybridCache() override;

  // Puts the SCM tier underneath, as WrapCache does. It may be called again until it succeeds, by one thread at a time.
  // Other threads may use the cache meanwhile. Refuses if HearsEvictions().
  Status Arm(const HybridCacheOptions& options);
  // Does the same with the SCM tier of `main`, the hybrid cache of another such cache (hybrid()): ForDatabase. The DRAM
  // tier keeps its size.
  Status ArmAsDatabase(const std::shared_ptr<rocksdb::Cache>& main, std::string_view name,
                       const DatabaseLimits& limits);
  bool armed() const { return current() != target_.get(); }
  // Null until it is armed.
  const std::shared_ptr<rocksdb::Cache>& hybrid() const { return hybrid_; }
  // REQUIRES: armed().
  HybridStats& stats() const { return *GetHybridStats(current()); }
  // True if somebody else has set an eviction callback on this cache, as a RocksDB does that puts a secondary cache of
  // its own over it.
  bool HearsEvictions() const { return static_cast<bool>(eviction_callback_); }

  const char* Name() const override { return current()->Name(); }
  rocksdb::Status Insert(const rocksdb::Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const rocksdb::Slice& compressed,
                         rocksdb::CompressionType type) override;
  void Erase(const rocksdb::Slice& key) override;
  void SetCapacity(size_t bytes) override;
  void SetStrictCapacityLimit(bool strict) override { current()->SetStrictCapacityLimit(strict); }
  Handle* CreateStandalone(const rocksdb::Slice& key, ObjectPtr object, const CacheItemHelper* helper, size_t charge,
                           bool allow_uncharged) override {
    return current()->CreateStandalone(key, object, helper, charge, allow_uncharged);
  }
  Handle* Lookup(const rocksdb::Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocksdb::Statistics* stats) override {
    return current()->Lookup(key, helper, context, priority, stats);
  }
  bool Release(Handle* handle, bool erase_if_last_ref) override {
    return current()->Release(handle, erase_if_last_ref);
  }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    return current()->Release(handle, useful, erase_if_last_ref);
  }
  using CacheWrapper::GetUsage;
  size_t GetCapacity() const override { return current()->GetCapacity(); }
  size_t GetUsage() const override { return current()->GetUsage(); }
  size_t GetPinnedUsage() const override { return current()->GetPinnedUsage(); }
  void ApplyToAllEntries(
      const std::function<void(const rocksdb::Slice&, ObjectPtr, size_t charge, const CacheItemHelper*)>& callback,
      const ApplyToAllEntriesOptions& options) override {
    current()->ApplyToAllEntries(callback, options);
  }
  uint64_t NewId() override { return current()->NewId(); }
  void EraseUnRefEntries() override { current()->EraseUnRefEntries(); }
  void StartAsyncLookup(AsyncLookupHandle& handle) override { current()->StartAsyncLookup(handle); }
  void WaitAll(AsyncLookupHandle* handles, size_t count) override { current()->WaitAll(handles, count); }
  rocksdb::Status GetSecondaryCacheCapacity(size_t& bytes) const override {
    return current()->GetSecondaryCacheCapacity(bytes);
  }
  rocksdb::Status GetSecondaryCachePinnedUsage(size_t& bytes) const override {
    return current()->GetSecondaryCachePinnedUsage(bytes);
  }
  void DisownData() override { current()->DisownData(); }
  std::string GetPrintableOptions() const override { return current()->GetPrintableOptions(); }
  void ReportProblems(const std::shared_ptr<rocksdb::Logger>& log) const override { current()->ReportProblems(log); }

 private:
  class EvictionSwitch;

  Cache* current() const { return current_.load(std::memory_order_acquire); }
  void ForgetIfArmedSince(const Cache* asked, const rocksdb::Slice& key);

  const std::shared_ptr<EvictionSwitch> switch_;
  std::shared_ptr<Cache> hybrid_;
  std::atomic<Cache*> current_;
};

}  // namespace mezz
