// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "rocksdb/cache.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz {

// Keeps an LRUCache from losing blocks while those in use take more than it has. It frees such blocks as they are
// released, and tells its eviction callback of none (findings/lru_release_skips_callback.sh). So while it holds too
// much it gets a larger capacity, under which what is released is listed; and every kCallsOfCheck calls its own again,
// which evicts what is listed, and tells.
//
//   over_: false --Check: more is in use than the capacity--> true --Check: no more--> false. One thread at a time
//   checks (checking_, exchange, acq_rel); the others leave it to that one. All else is relaxed: advice and figures.
//
// Thread-safe, once Watch was called. Meanwhile the cache may hold kCallsOfCheck blocks more than what is in use.
class LruOverflow {
 public:
  static constexpr unsigned kCallsOfCheck = 16;

  // Nothing is done before, nor while the cache's limit is strict. `lru` outlives this, and gets its capacity and the
  // strictness of its limit from nobody else.
  void Watch(rocksdb::Cache* lru);
  // The cache has that capacity from now on.
  void SetCapacity(uint64_t bytes);
  // The limit is strict from now on, or no longer. REQUIRES: as Check.
  void SetStrict(bool strict);

  // After an insertion. Cheap.
  bool DueAfterInsert();
  // After a release. One load while nothing overflows.
  bool DueAfterRelease() { return over_.load(std::memory_order_relaxed) && CountedDue(); }
  // REQUIRES: the caller's window on the MoveGate, for what is evicted.
  void Check();

 private:
  bool CountedDue() { return calls_.fetch_add(1, std::memory_order_relaxed) % kCallsOfCheck == 0; }

  rocksdb::Cache* lru_ = nullptr;  // set before the cache is in use
  std::atomic<uint64_t> capacity_{0};
  std::atomic<bool> over_{false};
  std::atomic<bool> checking_{false};
  std::atomic<unsigned> calls_{0};  // while over_
};

}  // namespace mezz
