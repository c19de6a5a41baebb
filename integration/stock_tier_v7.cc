// SPDX-License-Identifier: Apache-2.0
#include "integration/stock_tier_v7.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "cache/base/atomic.h"

namespace mezz {

StockTierV7::StockTierV7(const rocksdb::LRUCacheOptions& dram)
    : rocksdb::Cache(dram.memory_allocator), hook_(std::make_shared<EvictionHookV7>()) {
  assert(dram.secondary_cache == nullptr);
  rocksdb::LRUCacheOptions hooked = dram;
  hooked.secondary_cache = hook_;
  lru_ = rocksdb::NewLRUCache(hooked);
}

void StockTierV7::Prepare(Counters& counters, Evicted evicted) {
  assert(!is_open());
  evicted_ = std::move(evicted);
  told_ = [this](const Slice& key, const CachedObject& object) { evicted_(key, object, /*was_hit=*/false); };
  counters_ = &counters;
  overflow_.Watch(lru_.get());
  large_.Open(lru_->GetCapacity(), LargeEntries::ShardsIn(lru_->GetPrintableOptions()));
}

void StockTierV7::Open(const MoveGate& gate) noexcept {
  assert(!is_open() && counters_ != nullptr);
  gate_.store(&gate, std::memory_order_release);
  MEZZ_TEST_POINT("stock_tier_v7.open");
  hook_->Connect(&told_);
}

StockTierV7::Handle* StockTierV7::Standalone(const Slice& key, void* object, DeleterFn deleter, size_t charge) {
  auto* const entry = new (std::nothrow) StandaloneV7{object, deleter, charge, {1}, BlockKey::FromBytes(key.data())};
  if (entry == nullptr) {
    counters_->Add(Event::kAllocationFailed, BlockRole::kOther);
    return nullptr;
  }
  standalone_bytes_.Add(entry->bytes());
  return entry->handle();
}

// Once the tier is open an LRUCache may be given back what it has no room for (LruOverflow).
template <typename InsertCall>
rocksdb::Status StockTierV7::InsertIntoShards(const Slice& key, const void* value, InsertCall insert) {
  const EvictionHookV7::InsertScope scope(key, value);
  rocksdb::Status inserted = insert();
  if (is_open() && overflow_.DueAfterInsert()) [[unlikely]]
    overflow_.Check();
  return inserted;
}

rocksdb::Status StockTierV7::Insert(const Slice& key, void* value, size_t charge, DeleterFn deleter, Handle** handle,
                                    Priority priority) {
  if (value == nullptr && handle != nullptr && Reserve(key, deleter, charge, handle)) return rocksdb::Status::OK();
  return InsertIntoShards(key, value, [&] { return lru_->Insert(key, value, charge, deleter, handle, priority); });
}

rocksdb::Status StockTierV7::Insert(const Slice& key, void* value, const CacheItemHelper* helper, size_t charge,
                                    Handle** handle, Priority priority) {
  if (InsertLarge(key, value, helper, charge, handle)) return rocksdb::Status::OK();
  return InsertIntoShards(key, value, [&] { return lru_->Insert(key, value, helper, charge, handle, priority); });
}

bool StockTierV7::InsertLarge(const Slice& key, void* value, const Helper* helper, size_t charge, Handle** handle) {
  if (!is_open() || !large_.IsLarge(charge) || !IsDemotable(key, helper) || HasStrictCapacityLimit()) return false;
  Handle* const large = Standalone(key, value, helper->del_cb, charge);
  if (large == nullptr) return false;
  StandaloneV7* const entry = StandaloneV7::Of(large);
  entry->helper = helper;
  if (handle != nullptr) {
    RefLarge(large);
    *handle = large;
  }
  if (!large_.Put(entry->key, large, entry->bytes())) StockTierV7::Release(large, /*erase_if_last_ref=*/false);
  return true;
}

bool StockTierV7::Reserve(const Slice& key, DeleterFn deleter, size_t charge, Handle** handle) {
  if (!is_open() || key.size() != BlockKey::kBytes || !large_.IsLargeReservation(charge) || HasStrictCapacityLimit())
    return false;
  Handle* const made = Standalone(key, /*object=*/nullptr, deleter, charge);
  if (made == nullptr) return false;
  StandaloneV7::Of(made)->reserved = true;
  large_.Reserve(charge);
  *handle = made;
  return true;
}

void StockTierV7::DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) {
  const StandaloneV7* const entry = StandaloneV7::Of(handle);
  if (offer) evicted_({key.bytes().data(), BlockKey::kBytes}, {entry->object, entry->helper}, was_hit);
  StockTierV7::Release(handle, /*erase_if_last_ref=*/false);
}

bool StockTierV7::Ref(Handle* handle) {
  StandaloneV7* const entry = StandaloneV7::Of(handle);
  if (entry == nullptr) return lru_->Ref(handle);
  entry->refs.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool StockTierV7::Release(Handle* handle, bool useful, bool erase_if_last_ref) {
  if (StandaloneV7* const entry = StandaloneV7::Of(handle)) return ReleaseStandalone(entry, erase_if_last_ref);
  const bool freed = lru_->Release(handle, useful, erase_if_last_ref);
  if (overflow_.DueAfterRelease()) [[unlikely]] {
    const MoveGate::Window window(*gate_.load(std::memory_order_acquire));
    overflow_.Check();
  }
  return freed;
}

bool StockTierV7::ReleaseStandalone(StandaloneV7* entry, bool erase_if_last_ref) {
  if (erase_if_last_ref && entry->helper != nullptr) large_.Erase(entry->handle());  // the list's reference goes
  if (entry->refs.fetch_sub(1, std::memory_order_acq_rel) > 1) return false;
  standalone_bytes_.Subtract(entry->bytes());
  if (entry->reserved) {
    const MoveGate::Window window(*gate_.load(std::memory_order_acquire));
    large_.Unreserve(entry->charge);
  }
  entry->Delete();
  return true;
}

void StockTierV7::Erase(const Slice& key) {
  lru_->Erase(key);
  if (key.size() == BlockKey::kBytes) large_.Erase(BlockKey::FromBytes(key.data()));
}

void StockTierV7::SetStrictCapacityLimit(bool strict) {
  const MoveGate* const gate = gate_.load(std::memory_order_acquire);
  if (gate == nullptr) return lru_->SetStrictCapacityLimit(strict);
  const MoveGate::Window window(*gate);
  overflow_.SetStrict(strict);
}

size_t StockTierV7::GetUsage(Handle* handle) const {
  const StandaloneV7* const entry = StandaloneV7::Of(handle);
  return entry != nullptr ? entry->bytes() : lru_->GetUsage(handle);
}

size_t StockTierV7::GetCharge(Handle* handle) const {
  const StandaloneV7* const entry = StandaloneV7::Of(handle);
  return entry != nullptr ? entry->charge : lru_->GetCharge(handle);
}

// Of what is listed as large only some may be in use: it counts as idle.
size_t StockTierV7::pinned_usage() const {
  const size_t standalone = standalone_bytes_.Read();
  return lru_->GetPinnedUsage() + standalone - std::min<size_t>(standalone, large_.listed_bytes());
}

rocksdb::Cache::DeleterFn StockTierV7::GetDeleter(Handle* handle) const {
  const StandaloneV7* const entry = StandaloneV7::Of(handle);
  return entry != nullptr ? entry->deleter : lru_->GetDeleter(handle);
}

void StockTierV7::ApplyToAllEntries(const std::function<void(const Slice&, void*, size_t, DeleterFn)>& callback,
                                    const ApplyToAllEntriesOptions& options) {
  lru_->ApplyToAllEntries(callback, options);
  large_.ForEach([&](const BlockKey& key, Handle* handle, size_t /*charge*/) {
    const StandaloneV7* const entry = StandaloneV7::Of(handle);
    callback({key.bytes().data(), BlockKey::kBytes}, entry->object, entry->charge, entry->deleter);
  });
}

void StockTierV7::EraseUnRefEntries() {
  lru_->EraseUnRefEntries();
  large_.Clear();
}

void StockTierV7::ForEachLarge(const EvictionHookV7::Evicted& visit) {
  large_.ForEach([&](const BlockKey& key, Handle* handle, size_t /*charge*/) {
    const StandaloneV7* const entry = StandaloneV7::Of(handle);
    visit({key.bytes().data(), BlockKey::kBytes}, {entry->object, entry->helper});
  });
}

// LRUCache shows nobody its blocks with what saves them, but evicts the coldest first, each through the hook: so all
// but what is to be visited goes unseen, and then the rest.
void StockTierV7::EmptyInto(uint64_t bytes, const EvictionHookV7::Evicted& visit) {
  hook_->Connect(nullptr);
  lru_->SetCapacity(std::min<uint64_t>(capacity(), bytes));
  hook_->Connect(&visit);
  lru_->SetCapacity(0);
  hook_->Connect(nullptr);
}

void StockTierV7::Close() {
  hook_->Connect(nullptr);
  lru_.reset();
}

}  // namespace mezz
