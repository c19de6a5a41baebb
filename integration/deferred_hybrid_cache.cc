// SPDX-License-Identifier: Apache-2.0
#include "integration/deferred_hybrid_cache.h"

#include <cassert>
#include <limits>
#include <string_view>
#include <utility>

#include "cache/base/atomic.h"

namespace mezz {

using rocksdb::Slice;

// Stands between the stock cache and the HybridCache that comes later. RocksDB takes an eviction callback only before a
// cache is used, so one is set at once, and this decides who hears of an eviction: nobody until the hybrid cache is
// there, then that one. Or, from the start, whoever set a callback on the program's side.
class DeferredHybridCache::EvictionSwitch final : public rocksdb::CacheWrapper {
 public:
  EvictionSwitch(std::shared_ptr<Cache> stock, const EvictionCallback& program_side)
      : CacheWrapper(std::move(stock)), program_side_(program_side) {
    memory_allocator_ = WrappedAllocator(target_);
    target_->SetEvictionCallback([this](const Slice& key, Handle* handle, bool was_hit) {
      if (on_.load(std::memory_order_acquire)) return eviction_callback_(key, handle, was_hit);
      return program_side_ && program_side_(key, handle, was_hit);
    });
  }
  ~EvictionSwitch() override { target_->SetEvictionCallback({}); }

  // The hybrid cache has set its callback on this object, which evictions on other threads may now see.
  void TurnOn() { on_.store(true, std::memory_order_release); }

  const char* Name() const override { return target_->Name(); }
  using CacheWrapper::Release;
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    return target_->Release(handle, useful, erase_if_last_ref);
  }
  void DisownData() override { target_->DisownData(); }
  std::string GetPrintableOptions() const override { return target_->GetPrintableOptions(); }
  // "Not supported": the stock cache may hold reservations already, and WrapCache wants a cache that is not in use.
  size_t GetOccupancyCount() const override { return std::numeric_limits<size_t>::max(); }

 private:
  const EvictionCallback& program_side_;
  std::atomic<bool> on_{false};
};

DeferredHybridCache::DeferredHybridCache(std::shared_ptr<Cache> stock)
    : CacheWrapper(std::move(stock)),
      switch_(std::make_shared<EvictionSwitch>(target_, eviction_callback_)),
      current_(target_.get()) {
  memory_allocator_ = WrappedAllocator(target_);
}

DeferredHybridCache::~DeferredHybridCache() = default;

Status DeferredHybridCache::Arm(const HybridCacheOptions& options) {
  assert(!armed());
  if (HearsEvictions()) return Status::InvalidArgument("this cache has a secondary cache already");
  MEZZ_RETURN_IF_ERROR(WrapCache(switch_, options, &hybrid_));
  switch_->TurnOn();
  current_.store(hybrid_.get(), std::memory_order_release);
  return Status::Ok();
}

Status DeferredHybridCache::ArmAsDatabase(const std::shared_ptr<Cache>& main, std::string_view name,
                                          const DatabaseLimits& limits) {
  assert(!armed());
  if (HearsEvictions()) return Status::InvalidArgument("this cache has a secondary cache already");
  MEZZ_RETURN_IF_ERROR(GetHybridStats(main.get())->MakeDatabaseCache(main, name, limits, switch_, &hybrid_));
  switch_->TurnOn();
  current_.store(hybrid_.get(), std::memory_order_release);
  return Status::Ok();
}

void DeferredHybridCache::ForgetIfArmedSince(const Cache* asked, const Slice& key) {
  Cache* const now = current();
  if (now != asked) now->Erase(key);
}

rocksdb::Status DeferredHybridCache::Insert(const Slice& key, ObjectPtr object, const CacheItemHelper* helper,
                                            size_t charge, Handle** handle, Priority priority, const Slice& compressed,
                                            rocksdb::CompressionType type) {
  Cache* const asked = current();
  MEZZ_TEST_POINT("deferred_tier.before_change");
  rocksdb::Status inserted = asked->Insert(key, object, helper, charge, handle, priority, compressed, type);
  ForgetIfArmedSince(asked, key);
  return inserted;
}

void DeferredHybridCache::Erase(const Slice& key) {
  Cache* const asked = current();
  MEZZ_TEST_POINT("deferred_tier.before_change");
  asked->Erase(key);
  ForgetIfArmedSince(asked, key);
}

void DeferredHybridCache::SetCapacity(size_t bytes) { current()->SetCapacity(bytes); }

}  // namespace mezz
