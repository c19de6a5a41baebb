// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cache/types.h"

namespace mezz {

// Measures the cost of a miss: the time from the look-up that misses to the Insert of the block that the thread then
// read. Each thread remembers its latest miss, of whatever cache. So nothing else is timed: neither an Insert without a
// look-up (a flush or compaction that warms the cache), nor a look-up without an Insert (fill_cache=false).
//
// RocksDB's MultiGet looks up all blocks of a batch, reads them together, and inserts them in that order. So the last
// block's time is divided by the number of blocks that the thread has inserted since that look-up.
class MissTimer {
 public:
  // `cache` tells the caches of one process apart, and is not dereferenced.
  static void OnMiss(const void* cache, const BlockKey& key, uint64_t now_ns) {
    latest_ = {.cache = cache, .key = key, .since_ns = now_ns, .inserts = 0};
  }
  // Returns nanoseconds if this is the block of the latest miss. Only then `now` is called.
  template <typename Now>
  static std::optional<uint64_t> OnInsert(const void* cache, const BlockKey& key, Now now) {
    if (latest_.cache != cache) return std::nullopt;
    ++latest_.inserts;
    if (!(latest_.key == key)) return std::nullopt;
    latest_.cache = nullptr;
    const uint64_t now_ns = now();
    return now_ns < latest_.since_ns ? 0 : (now_ns - latest_.since_ns) / latest_.inserts;
  }

 private:
  struct Miss {
    const void* cache = nullptr;  // null if there is none, or if its Insert has come
    BlockKey key;
    uint64_t since_ns = 0;
    uint32_t inserts = 0;  // by this thread since
  };
  static thread_local Miss latest_;
};

inline thread_local constinit MissTimer::Miss MissTimer::latest_;

}  // namespace mezz
