// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

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
// Grows with the tier, within memory that is reserved, and not used, for the largest tier this machine could hold: so a
// hit costs nothing for it. Growing forgets, once, what was hit. Never shrinks.
//   bit: 0 --Set: or--> 1 --Take, when the block is evicted: and--> 0. Relaxed: it publishes nothing.
class DramHitBits {
 public:
  explicit DramHitBits(uint64_t blocks) {
    const auto words = WordsFor(blocks);
    reserved_words_ = std::max(words, WordsFor(MachineBytes() / kBlockBytesMin));
    table_ = Reserve(reserved_words_);
    if (table_ == nullptr) table_ = Reserve(reserved_words_ = words);
    if (table_ == nullptr) throw std::bad_alloc();
    mask_.store(words - 1, std::memory_order_relaxed);
  }
  ~DramHitBits() { munmap(table_, reserved_words_ * sizeof(uint64_t)); }
  DramHitBits(const DramHitBits&) = delete;
  DramHitBits& operator=(const DramHitBits&) = delete;

  void Grow(uint64_t blocks) {
    const uint64_t wanted = std::min(WordsFor(blocks), reserved_words_) - 1;
    uint64_t mask = mask_.load(std::memory_order_relaxed);
    while (mask < wanted && !mask_.compare_exchange_weak(mask, wanted, std::memory_order_relaxed)) {
    }
  }

  void Set(const BlockKey& key) {
    const Bit bit = BitOf(key);
    if ((bit.word->load(std::memory_order_relaxed) & bit.mask) == 0)
      bit.word->fetch_or(bit.mask, std::memory_order_relaxed);
  }
  bool Has(const BlockKey& key) const {
    const Bit bit = BitOf(key);
    return (bit.word->load(std::memory_order_relaxed) & bit.mask) != 0;
  }
  bool Take(const BlockKey& key) {
    const Bit bit = BitOf(key);
    if ((bit.word->load(std::memory_order_relaxed) & bit.mask) == 0) return false;
    return (bit.word->fetch_and(~bit.mask, std::memory_order_relaxed) & bit.mask) != 0;
  }
  // What bits for so many blocks take.
  static uint64_t BytesFor(uint64_t blocks) { return WordsFor(blocks) * sizeof(uint64_t); }
  size_t dram_bytes() const { return (mask_.load(std::memory_order_relaxed) + 1) * sizeof(uint64_t); }

 private:
  static constexpr uint64_t kBitsPerBlock = 16;
  static constexpr uint64_t kBlockBytesMin = 1024;  // what the reserve is for
  struct Bit {
    std::atomic<uint64_t>* word;
    uint64_t mask;
  };
  Bit BitOf(const BlockKey& key) const {
    uint64_t hash = HashOf(key);
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
    hash ^= hash >> 32;
    return {&table_[hash >> 6 & mask_.load(std::memory_order_relaxed)], uint64_t{1} << (hash & 63)};
  }
  static uint64_t WordsFor(uint64_t blocks) {
    return std::bit_ceil((blocks * kBitsPerBlock + 63) / 64 + (blocks == 0));
  }
  static uint64_t MachineBytes() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  // Zero pages are words without a bit.
  static std::atomic<uint64_t>* Reserve(uint64_t words) {
    void* const memory = mmap(nullptr, words * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<uint64_t>*>(memory);
  }

  std::atomic<uint64_t>* table_ = nullptr;
  uint64_t reserved_words_ = 0;
  std::atomic<uint64_t> mask_{0};  // words in use, less one. Grows by CAS; relaxed: it publishes nothing
};

}  // namespace mezz
