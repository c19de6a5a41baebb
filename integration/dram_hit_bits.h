// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "admission/ghost.h"
#include "cache/types.h"

namespace mezz {

// Which blocks of the DRAM tier were hit since they entered it, for DRAM tiers that do not tell: 7.8's
// LRUCache, and AutoHyperClockCache, which hands a "hit" flag to its eviction callback, but sets it only on the slow
// path of a look-up (seen in RocksDB 8.10 to 11.8: AutoHyperClockTable::Lookup returns from its naive search, which
// finds nearly everything, before the flag is set).
//
// One bit for each of kBitsPerBlock x the blocks the tier holds, by hash of the key: at most one block in kBitsPerBlock
// that was not hit passes for hit. A hit reads one word, and writes it only the first time.
//   bit: 0 --Set: or--> 1 --Take, when the block is evicted: and--> 0. Relaxed: it publishes nothing.
class DramHitBits {
 public:
  explicit DramHitBits(uint64_t blocks)
      : words_(std::bit_ceil(blocks * kBitsPerBlock / 64 + 1)), table_(new std::atomic<uint64_t>[words_]()) {}

  void Set(const BlockKey& key) {
    const Bit bit = BitOf(key);
    if ((bit.word->load(std::memory_order_relaxed) & bit.mask) == 0)
      bit.word->fetch_or(bit.mask, std::memory_order_relaxed);
  }
  bool Take(const BlockKey& key) {
    const Bit bit = BitOf(key);
    if ((bit.word->load(std::memory_order_relaxed) & bit.mask) == 0) return false;
    return (bit.word->fetch_and(~bit.mask, std::memory_order_relaxed) & bit.mask) != 0;
  }
  size_t dram_bytes() const { return words_ * sizeof(uint64_t); }

 private:
  static constexpr uint64_t kBitsPerBlock = 16;
  struct Bit {
    std::atomic<uint64_t>* word;
    uint64_t mask;
  };
  Bit BitOf(const BlockKey& key) const {
    uint64_t hash = HashOf(key);
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
    hash ^= hash >> 32;
    return {&table_[hash >> 6 & (words_ - 1)], uint64_t{1} << (hash & 63)};
  }

  const uint64_t words_;
  const std::unique_ptr<std::atomic<uint64_t>[]> table_;
};

}  // namespace mezz
