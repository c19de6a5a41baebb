// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "integration/cached_object.h"
#include "rocksdb/cache.h"
#include "rocksdb/secondary_cache.h"

namespace mezz {

// An LRUCache of RocksDB 7.8 has no eviction callback, but hands what it evicts to its secondary cache. This is one
// that is told of every eviction and never has anything.
//
// Thread-safe.
class EvictionHookV7 final : public rocksdb::SecondaryCache {
 public:
  using Slice = rocksdb::Slice;
  // May not throw. The object stays LRUCache's to delete.
  using Evicted = std::function<void(const Slice& key, const CachedObject& object)>;

  // What the calling thread is inserting into LRUCache. LRUCache hands over the entry that an insert replaces, too: old
  // bytes under a key that has new ones. They must not reach the SCM tier, so nobody is told of them.
  class InsertScope {
   public:
    InsertScope(const Slice& key, const void* value) : key_(key), value_(value), outer_(current_) { current_ = this; }
    ~InsertScope() { current_ = outer_; }
    InsertScope(const InsertScope&) = delete;
    InsertScope& operator=(const InsertScope&) = delete;

    static bool Replaces(const Slice& key, const void* value) {
      return current_ != nullptr && current_->value_ != value && current_->key_ == key;
    }

   private:
    static inline thread_local constinit InsertScope* current_ = nullptr;
    const Slice key_;
    const void* const value_;
    InsertScope* const outer_;
  };

  // From now on evictions are told to `evicted`, which must outlive this or the next call; null: to nobody.
  void Connect(const Evicted* evicted) { evicted_.store(evicted, std::memory_order_release); }

  const char* Name() const override { return "MezzanineEvictionHook"; }
  rocksdb::Status Insert(const Slice& key, void* value, const CachedObject::Helper* helper) override {
    const Evicted* const evicted = evicted_.load(std::memory_order_acquire);
    if (evicted != nullptr && !InsertScope::Replaces(key, value)) (*evicted)(key, {value, helper});
    return rocksdb::Status::OK();
  }
  std::unique_ptr<rocksdb::SecondaryCacheResultHandle> Lookup(const Slice&, const rocksdb::Cache::CreateCallback&, bool,
                                                              bool, bool& is_in_sec_cache) override {
    is_in_sec_cache = false;
    return nullptr;
  }
  bool SupportForceErase() const override { return false; }
  void Erase(const Slice&) override {}
  void WaitAll(std::vector<rocksdb::SecondaryCacheResultHandle*>) override {}

 private:
  std::atomic<const Evicted*> evicted_{nullptr};  // release store, acquire load: whoever sees it sees it whole
};

}  // namespace mezz
