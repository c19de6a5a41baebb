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

// The entries that are too large for one shard of the DRAM tier. They are kept beside its shards.
//
// A stock cache divides its capacity among shards, and an entry's key decides its shard. A filter larger than a shard
// does not stay in it. Large reservations (those of a WriteBufferManager, for example) fill whole shards, because some
// get more of them than others by chance. So a large entry belongs to no shard: it is a standalone object, and all
// shards shrink alike to make room for it. Blocks, which are found by their key, are listed here and evicted by a
// clock, as in the shards. Reservations belong to whoever made them, and are only counted.
//
// Blocks take at most three quarters of the capacity. Reservations take what they need, but the shards keep an eighth.
//
// Thread-safe. A look-up costs one load if nothing is listed, and two if nothing is listed in its key's stripe. While
// `Owner` is called, no lock is held except the mutex that orders resizes and evictions.
class LargeEntries {
 public:
  using Handle = rocksdb::Cache::Handle;

  class Owner {
   public:
    // Takes another reference to a listed object, beside the list's own.
    virtual void RefLarge(Handle* handle) = 0;
    // Drops the list's reference. With `offer` the object is being evicted, so it may be demoted.
    virtual void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) = 0;
    // The shards have so many bytes from now on.
    virtual void ResizeShards(uint64_t bytes) = 0;

   protected:
    ~Owner() = default;
  };

  explicit LargeEntries(Owner* owner) : owner_(owner) {}
  LargeEntries(const LargeEntries&) = delete;
  LargeEntries& operator=(const LargeEntries&) = delete;

  // The tier has `bytes` in so many shards. Until this is called, nothing counts as large. Call it once.
  void Open(uint64_t bytes, uint32_t shards);
  // The tier has so many bytes from now on.
  void SetCapacity(uint64_t bytes);
  uint64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  // The number of shards, as a cache's printable options say it, which is the only place that tells it. 1 if they do
  // not.
  static uint32_t ShardsIn(std::string_view printable_options);

  // True if the charge is more than a quarter of a shard. Of such entries, many a shard would get two, or one and much
  // else.
  bool IsLarge(size_t charge) const {
    const uint64_t min = block_min_.load(std::memory_order_relaxed);
    return charge > min && charge <= BlocksMax();
  }
  bool IsLargeReservation(size_t charge) const { return charge >= reservation_min_.load(std::memory_order_relaxed); }

  size_t listed() const { return listed_.load(std::memory_order_relaxed); }
  uint64_t listed_bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The bytes of what is listed and of what is reserved.
  uint64_t bytes() const { return listed_bytes() + reserved(); }
  uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }

  // Returns a reference, which the caller must release; null if the key is not listed.
  Handle* Find(const BlockKey& key);
  // Lists an object, in place of what was listed under its key, and takes over one reference. May evict others. Returns
  // false, and takes nothing, if there is no memory. REQUIRES: IsLarge(charge).
  bool Put(const BlockKey& key, Handle* handle, size_t charge);
  bool Erase(const BlockKey& key);
  bool Erase(const Handle* handle);
  void Clear();
  // Calls visit for each listed object; `visit` must not call back.
  void ForEach(const std::function<void(const BlockKey&, Handle*, size_t charge)>& visit);

  void Reserve(uint64_t bytes);
  void Unreserve(uint64_t bytes);

 private:
  struct Entry {
    BlockKey key;
    Handle* handle;
    size_t charge;
    std::atomic<bool> recent{true};  // used since the clock's hand came by; relaxed, as `hit`
    std::atomic<bool> hit{false};
  };
  struct Stripe {
    std::atomic<uint32_t> count{
        0};  // entries; changes under the mutex, is read without it: a concurrent look-up may miss
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
  // UINT64_MAX means that nothing is large. Set by Open and SetCapacity.
  std::atomic<uint64_t> block_min_{UINT64_MAX}, reservation_min_{UINT64_MAX};
  std::atomic<uint64_t> capacity_{0};
  std::atomic<size_t> listed_{0};
  std::atomic<uint64_t> bytes_{0}, reserved_{0};  // relaxed, because they are figures only
  std::array<Stripe, kStripes> stripes_;

  std::mutex resize_mutex_;   // orders ResizeShards and the clock
  uint32_t shards_ = 1;       // guarded by resize_mutex_
  uint64_t shards_have_ = 0;  // guarded by resize_mutex_
  size_t hand_ = 0;           // guarded by resize_mutex_: the stripe that the clock is at
};

}  // namespace mezz
