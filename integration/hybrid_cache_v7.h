// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "integration/core_stats.h"
#include "integration/database_user.h"
#include "integration/hybrid_cache.h"
#include "integration/hybrid_core.h"
#include "integration/hybrid_registry.h"
#include "integration/inserts_v7.h"
#include "integration/new_ids.h"
#include "integration/parents.h"
#include "integration/scm_hits_v7.h"
#include "integration/stock_tier_v7.h"

namespace mezz {

// The stock cache that is the DRAM tier of these options.
rocksdb::LRUCacheOptions DramOptions(const HybridCacheOptions& options);

// The hybrid cache on RocksDB 7.8: the DRAM tier with the SCM tier behind it.
//
// 7.8's create callback takes no allocator, so every SCM hit is copied. It tells neither a block's role nor whether an
// evicted block was hit, so policies see kOther, and hits are remembered in bits of our own (dram_hit_bits.h).
//
// At first it has no SCM tier and is a plain LRUCache; Arm gives it one. As thread-safe as rocksdb::Cache.
class HybridCacheV7 : public StockTierV7, public CoreStats {
 public:
  using StockTierV7::StockTierV7;
  ~HybridCacheV7() override;

  // Puts the SCM tier underneath, as WrapCache does on later releases. It may be called again until it succeeds, by one
  // thread at a time. Other threads may use the cache meanwhile.
  Status Arm(const HybridCacheOptions& options);
  // Does the same for a database that shares the tier of `main`, whose core this is.
  Status ArmAsDatabase(HybridCore& core, std::shared_ptr<rocksdb::Cache> main, std::string_view name,
                       const DatabaseLimits& limits);
  bool armed() const { return core() != nullptr; }

  // rocksdb::Cache
  const char* Name() const override { return "HybridCache"; }
  rocksdb::Status Insert(const Slice& key, void* value, size_t charge, DeleterFn deleter, Handle** handle,
                         Priority priority) override;
  rocksdb::Status Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority) override;
  using StockTierV7::Lookup;
  Handle* Lookup(const Slice& key, const CacheItemHelper* helper, const CreateCallback& create, Priority priority,
                 bool wait, rocksdb::Statistics* stats) override;
  bool Release(Handle* handle, bool erase_if_last_ref) override { return Release(handle, true, erase_if_last_ref); }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override;
  void Erase(const Slice& key) override;
  uint64_t NewId() override { return ids_.Of(StockTierV7::NewId()); }
  void SetCapacity(size_t capacity) override;
  size_t GetCapacity() const override;
  void DisownData() override {
    disowned_.store(true, std::memory_order_relaxed);
    StockTierV7::DisownData();
  }
  void EraseUnRefEntries() override;
  std::string GetPrintableOptions() const override;

  // HybridStats
  ReadBack* read_back() override { return parents_->read_back(); }
  CounterSnapshot Counters() const override { return user_->is_main() ? core()->Snapshot() : user_->Snapshot(); }
  Status MakeDatabaseCache(const std::shared_ptr<rocksdb::Cache>& self, std::string_view name,
                           const DatabaseLimits& limits, std::shared_ptr<rocksdb::Cache> own_dram,
                           std::shared_ptr<rocksdb::Cache>* view) override;
  Status SetDatabaseLimits(const DatabaseLimits& limits) override { return user_->SetLimits(limits); }

 private:
  HybridCore& stats_core() const override { return *core(); }
  HybridCore* core() const { return core_.load(std::memory_order_acquire); }
  StockTierV7& dram() { return *this; }
  void OpenOver(HybridCore& core);
  void Publish(HybridCore& core) noexcept;

  template <typename InsertCall>
  rocksdb::Status Replace(const Slice& key, InsertCall insert);
  void OnEvicted(const Slice& key, const CachedObject& object, bool was_hit) noexcept;

  const NewIds ids_;
  std::unique_ptr<HybridCore> owned_core_;  // null for a database that shares another cache's
  // Set before core_ is, and the same ever after:
  std::optional<DatabaseUser> user_;
  std::optional<Parents> parents_;
  std::optional<InsertsV7> inserts_;
  std::optional<ScmHitsV7> hits_;
  // null --Arm: release store--> the SCM tier; acquire loads see it whole. Never changes again.
  std::atomic<HybridCore*> core_{nullptr};
  std::atomic<bool> disowned_{false};  // relaxed, because it is read when nobody uses the cache any more
  std::optional<HybridRegistration> registration_;
};

}  // namespace mezz
