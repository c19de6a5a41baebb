// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/types.h"
#include "rocksdb/cache.h"

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

// An object outside of LRUCache, alive as long as somebody refers to it. RocksDB 7.8 has no such handles, so these are
// our own: bit 0 of the pointer tells them from LRUCache's, which come from malloc.
struct StandaloneV7 {
  void* object;
  rocksdb::Cache::DeleterFn deleter;  // null: nothing is to be done, as for what an iterator reads without filling
  size_t charge;
  std::atomic<uint32_t> refs{1};  // acq_rel when it falls: the last one deletes what the others used
  BlockKey key;
  const rocksdb::Cache::CacheItemHelper* helper = nullptr;  // of what is listed as large
  bool reserved = false;                                    // counted as such

  size_t bytes() const { return charge + sizeof(StandaloneV7); }
  rocksdb::Cache::Handle* handle() {
    return reinterpret_cast<rocksdb::Cache::Handle*>(reinterpret_cast<uintptr_t>(this) | kTag);
  }
  // Null: a handle of LRUCache's.
  static StandaloneV7* Of(rocksdb::Cache::Handle* handle) {
    const auto bits = reinterpret_cast<uintptr_t>(handle);
    return (bits & kTag) == 0 ? nullptr : reinterpret_cast<StandaloneV7*>(bits - kTag);
  }
  // Deletes the object and this. REQUIRES: no reference is left.
  void Delete();

 private:
  static constexpr uintptr_t kTag = 1;
};

}  // namespace mezz
