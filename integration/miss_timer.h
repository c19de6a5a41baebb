// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cache/types.h"

namespace mezz {

// How long a thread takes from a look-up that misses to the Insert of the block that it read instead: what a miss
// costs. Each thread remembers its latest miss, of whatever cache, so that nothing else is timed: no Insert without a
// look-up (warm-up by flush or compaction), no look-up without an Insert (fill_cache=false).
//
// RocksDB's MultiGet looks all blocks of a batch up, reads them together, and inserts them in that order: the last
// block's time is shared among all that the thread inserted since its look-up.
class MissTimer {
 public:
  // `cache` tells caches of one process apart; not looked at.
  static void OnMiss(const void* cache, const BlockKey& key, uint64_t now_ns) {
    latest_ = {.cache = cache, .key = key, .since_ns = now_ns, .inserts = 0};
  }
  // Nanoseconds, if this is the block of the latest miss. `now` is asked for the time in that case only.
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
    const void* cache = nullptr;  // null: none, or it was matched
    BlockKey key;
    uint64_t since_ns = 0;
    uint32_t inserts = 0;  // of this thread since
  };
  static thread_local Miss latest_;
};

inline thread_local constinit MissTimer::Miss MissTimer::latest_;

}  // namespace mezz
