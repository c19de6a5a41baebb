// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "cache/types.h"
#include "rocksdb/cache.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz {

// What is too large for one shard of the DRAM tier, and is kept beside its shards.
//
// A stock cache cuts its capacity into shards, and an entry lies in the shard that its key hashes to. A filter larger
// than a shard does not stay; and reservations (a WriteBufferManager's, say), of which some shards get more than others
// by chance, fill shards whole. So such an entry is no shard's: it is a standalone object, and all shards give way to
// it alike (the tier's capacity is what is left of it). Blocks that are found by their key are listed here, and leave
// by a clock, like the shards' own; reservations belong to who made them and are only counted.
//
// Blocks take three quarters of the capacity at most, and reservations what they need; the shards keep an eighth.
//
// Thread-safe. A look-up costs one load where nothing is listed, and two where nothing is listed under its stripe. No
// lock is held while `Owner` is called, but the mutex that orders resizes and evictions.
class LargeEntries {
 public:
  using Handle = rocksdb::Cache::Handle;

  class Owner {
   public:
    // Another reference to a listed object, which has one of the list's.
    virtual void RefLarge(Handle* handle) = 0;
    // The list's reference goes; with `offer` the object is evicted, so it may be demoted.
    virtual void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) = 0;
    // What the shards have from now on.
    virtual void ResizeShards(uint64_t bytes) = 0;

   protected:
    ~Owner() = default;
  };

  explicit LargeEntries(Owner* owner) : owner_(owner) {}
  LargeEntries(const LargeEntries&) = delete;
  LargeEntries& operator=(const LargeEntries&) = delete;

  // From now on entries of a tier of `bytes` in so many shards are judged; until then nothing is large. Once.
  void Open(uint64_t bytes, uint32_t shards);
  // The tier is of that size from now on.
  void SetCapacity(uint64_t bytes);
  uint64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  // Nobody can find the shards of a cache but in its printable options. 1 if they do not say.
  static uint32_t ShardsIn(std::string_view printable_options);

  // More than a quarter of a shard: two of them, or one and much else, meet in most of the shards.
  bool IsLarge(size_t charge) const {
    const uint64_t min = block_min_.load(std::memory_order_relaxed);
    return charge > min && charge <= BlocksMax();
  }
  bool IsLargeReservation(size_t charge) const { return charge >= reservation_min_.load(std::memory_order_relaxed); }

  size_t listed() const { return listed_.load(std::memory_order_relaxed); }
  uint64_t listed_bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Of what is listed, and reserved.
  uint64_t bytes() const { return listed_bytes() + reserved(); }
  uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }

  // Null: it is not listed. Else a reference of the caller's.
  Handle* Find(const BlockKey& key);
  // Lists an object instead of what may be listed under its key; takes one reference over. May evict others. False, and
  // nothing is taken: no memory. REQUIRES: IsLarge(charge).
  bool Put(const BlockKey& key, Handle* handle, size_t charge);
  bool Erase(const BlockKey& key);
  bool Erase(const Handle* handle);
  void Clear();
  // Of those that are listed; `visit` must not call back.
  void ForEach(const std::function<void(const BlockKey&, Handle*, size_t charge)>& visit);

  void Reserve(uint64_t bytes);
  void Unreserve(uint64_t bytes);

 private:
  struct Entry {
    BlockKey key;
    Handle* handle;
    size_t charge;
    std::atomic<bool> recent{true};  // since the clock's hand came by; relaxed, as `hit`
    std::atomic<bool> hit{false};
  };
  struct Stripe {
    std::atomic<uint32_t> count{0};  // entries; changes under the mutex, read without: a look-up beside may miss
    std::shared_mutex mutex;
    std::vector<std::unique_ptr<Entry>> entries;  // guarded by mutex
  };
  static constexpr size_t kStripes = 64;

  Stripe& StripeOf(const BlockKey& key);
  uint64_t BlocksMax() const;
  void SetCapacityLocked(uint64_t bytes);
  template <typename Is>
  std::unique_ptr<Entry> TakeFrom(Stripe* stripe, const Is& is);
  void Drop(std::unique_ptr<Entry> entry, bool offer);
  bool EvictOneLocked();
  void Rebalance();

  Owner* const owner_;
  // UINT64_MAX: nothing is large. Set by Open and SetCapacity.
  std::atomic<uint64_t> block_min_{UINT64_MAX}, reservation_min_{UINT64_MAX};
  std::atomic<uint64_t> capacity_{0};
  std::atomic<size_t> listed_{0};
  std::atomic<uint64_t> bytes_{0}, reserved_{0};  // relaxed: figures
  std::array<Stripe, kStripes> stripes_;

  std::mutex resize_mutex_;   // orders ResizeShards and the clock
  uint32_t shards_ = 1;       // guarded by resize_mutex_
  uint64_t shards_have_ = 0;  // guarded by resize_mutex_
  size_t hand_ = 0;           // guarded by resize_mutex_: the stripe that the clock is at
};

}  // namespace mezz
