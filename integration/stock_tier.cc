// SPDX-License-Identifier: Apache-2.0
#include "integration/stock_tier.h"

#include <string_view>
#include <utility>

#include "cache/base/if_memory.h"

namespace mezz {

StockTier::StockTier(Cache& cache, MoveGate& gate, std::function<void(const Slice&, Handle*, bool)> evicted)
    : cache_(cache), gate_(gate), evicted_(std::move(evicted)), is_lru_(std::string_view(cache.Name()) == "LRUCache") {
  if (is_lru_) overflow_.Watch(&cache_);
  large_.Open(cache_.GetCapacity(), LargeEntries::ShardsIn(cache_.GetPrintableOptions()));
  cache_.SetEvictionCallback([this](const Slice& key, Handle* handle, bool was_hit) {
    evicted_(key, handle, was_hit);
    return false;  // the object stays the cache's to delete
  });
}

StockTier::~StockTier() { cache_.SetEvictionCallback({}); }  // the cache may outlive us

rocksdb::Status StockTier::Insert(const Slice& key, const OwnedObject& made, const Helper* helper, Handle** handle,
                                  Cache::Priority priority, const Slice& compressed, rocksdb::CompressionType type) {
  if (large_.IsLarge(made.charge) && IsDemotable(key, helper) && !cache_.HasStrictCapacityLimit()) [[unlikely]] {
    if (Handle* const large = InsertLarge(key, made, helper, handle != nullptr)) {
      if (handle != nullptr) *handle = large;
      return rocksdb::Status::OK();
    }
  }
  rocksdb::Status inserted = cache_.Insert(key, made.obj, helper, made.charge, handle, priority, compressed, type);
  if (overflow_.DueAfterInsert()) [[unlikely]]
    overflow_.Check();
  return inserted;
}

// Null: nothing was done. `wanted`: with a reference of the caller's.
StockTier::Handle* StockTier::InsertLarge(const Slice& key, const OwnedObject& made, const Helper* helper,
                                          bool wanted) {
  Handle* const large = cache_.CreateStandalone(key, made.obj, helper, /*charge=*/0, /*allow_uncharged=*/true);
  if (large == nullptr) return nullptr;
  if (wanted) cache_.Ref(large);
  if (!large_.Put(BlockKey::FromBytes(key.data()), large, made.charge)) cache_.Release(large, false);
  return large;
}

void StockTier::DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) {
  if (offer) evicted_({key.bytes().data(), BlockKey::kBytes}, handle, was_hit);
  cache_.Release(handle, /*erase_if_last_ref=*/false);
}

// An entry without an object, of one byte, has its shard evict all that it must; which shard that is the key decides.
void StockTier::EvictToCapacity() {
  static const Helper kNoObject;
  constexpr uint64_t kTriesMax = 1024;  // there are 64 shards at most
  if (is_lru_) return;
  BlockKey key;
  for (uint64_t i = 0; i < kTriesMax && cache_.GetUsage() > cache_.GetCapacity(); ++i) {
    key.words[0] = i * 0x9e3779b97f4a7c15ull;
    Handle* const made =
        cache_.CreateStandalone({key.bytes().data(), BlockKey::kBytes}, nullptr, &kNoObject, /*charge=*/1,
                                /*allow_uncharged=*/true);
    if (made != nullptr) cache_.Release(made, /*erase_if_last_ref=*/false);
  }
}

// Its last user releases it to be erased: so all of RocksDB's reservations do.
StockTier::Handle* StockTier::Reserve(const Slice& key, const Helper* helper, size_t charge) {
  if (!large_.IsLargeReservation(charge) || cache_.HasStrictCapacityLimit()) return nullptr;
  Handle* const made = cache_.CreateStandalone(key, nullptr, helper, /*charge=*/0, /*allow_uncharged=*/true);
  if (made == nullptr) return nullptr;
  const bool memory = IfThereIsMemory([&] {
    const std::lock_guard lock(reservations_mutex_);
    reservations_.emplace(made, charge);
  });
  if (!memory) {
    cache_.Release(made, false);
    return nullptr;
  }
  large_.Reserve(charge);
  return made;
}

bool StockTier::Unreserve(Handle* handle) {
  if (large_.reserved() == 0 || cache_.Value(handle) != nullptr) return false;
  size_t charge = 0;
  {
    const std::lock_guard lock(reservations_mutex_);
    const auto found = reservations_.find(handle);
    if (found == reservations_.end()) return true;
    charge = found->second;
    reservations_.erase(found);
  }
  const MoveGate::Window window(gate_);
  large_.Unreserve(charge);
  return true;
}

void StockTier::Erase(const Slice& key) {
  EraseFromShards(key);
  if (key.size() == BlockKey::kBytes) large_.Erase(BlockKey::FromBytes(key.data()));
}

// HyperClockCache's Erase leaves an entry that somebody refers to, itself included, for its last user or an eviction to
// free. So the entry is held over the Erase, and freed by this thread unless others still use it.
void StockTier::EraseFromShards(const Slice& key) {
  if (is_lru_) return cache_.Erase(key);
  Handle* const handle = cache_.Lookup(key);
  if (handle == nullptr) return;
  if (const Cache::ObjectPtr obj = cache_.Value(handle); obj != nullptr) erased_.Add(obj);
  cache_.Erase(key);
  Release(handle, /*useful=*/false, /*erase_if_last_ref=*/true);
}

bool StockTier::ReleaseWatched(Handle* handle, bool useful, bool erase_if_last_ref) {
  if (is_lru_) {
    const bool freed = cache_.Release(handle, useful, erase_if_last_ref);
    const MoveGate::Window window(gate_);
    overflow_.Check();
    return freed;
  }
  const Cache::ObjectPtr obj = cache_.Value(handle);
  const bool freed = cache_.Release(handle, useful, erase_if_last_ref);
  if (freed) erased_.Take(obj);
  return freed;
}

void StockTier::SetStrict(bool strict) {
  if (!is_lru_) return cache_.SetStrictCapacityLimit(strict);
  const MoveGate::Window window(gate_);
  overflow_.SetStrict(strict);
}

void StockTier::ForEach(const Visit& visit, const Cache::ApplyToAllEntriesOptions& options) {
  cache_.ApplyToAllEntries(visit, options);
  large_.ForEach([&](const BlockKey& key, Handle* handle, size_t charge) {
    visit({key.bytes().data(), BlockKey::kBytes}, cache_.Value(handle), charge, cache_.GetCacheItemHelper(handle));
  });
}

}  // namespace mezz
