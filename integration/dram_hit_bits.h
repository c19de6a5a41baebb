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
#include <optional>

namespace mezz {

// Which blocks of the DRAM tier were hit since they entered it, for DRAM tiers that do not tell: 7.8's
// LRUCache, and AutoHyperClockCache, which hands a "hit" flag to its eviction callback, but sets it only on the slow
// path of a look-up (seen in RocksDB 8.10 to 11.8: AutoHyperClockTable::Lookup returns from its naive search, which
// finds nearly everything, before the flag is set).
//
// The table has a bit for each block, chosen by the hash of the key (BlockHash). It has between half and all of
// kBitsPerBlock bits for each block that the tier holds. So one block in 24 to 48 shares its bit with another. If such
// a block was not hit, it can pass for hit; if it was, the other's eviction clears its bit until it is hit again. A hit
// reads one word, and writes it only the first time.
//
// The table grows with the tier and never shrinks. The address space for the largest tier that this machine could hold
// is reserved at the start, so that growing costs a hit nothing. Growing forgets, once, which blocks were hit.
//
//   bit: 0 --Set: or--> 1 --Take, when the block is evicted: and--> 0. Relaxed: it publishes nothing.
//
// The live curve wants to see each hit of some blocks: the "watched" ones, those with the lowest hashes. The bits of
// watched blocks lie in a second table, and are never set in the table that hits read. So the test that each hit makes
// anyway sends every hit of a watched block, and the first hit of any other, to the slow path. The number of watched
// blocks does not change which blocks share a bit.
class DramHitBits {
 public:
  // Watches all blocks with a hash up to `watched_hash_max`, and at most one in kPlaces more; nullopt watches none.
  // Throws std::bad_alloc.
  explicit DramHitBits(uint64_t blocks, std::optional<uint64_t> watched_hash_max = std::nullopt)
      : watched_(WatchedFor(watched_hash_max)) {
    const auto words = WordsFor(blocks);
    reserved_words_ = std::max(words, WordsFor(MachineBytes() / kBlockBytesMin));
    if (!Reserve()) {
      reserved_words_ = words;
      if (!Reserve()) throw std::bad_alloc();
    }
    mask_.store(words - 1, std::memory_order_relaxed);
  }
  ~DramHitBits() { munmap(table_, TotalWords(reserved_words_, watched_) * sizeof(uint64_t)); }
  DramHitBits(const DramHitBits&) = delete;
  DramHitBits& operator=(const DramHitBits&) = delete;

  void Grow(uint64_t blocks) {
    const uint64_t wanted = std::min(WordsFor(blocks), reserved_words_) - 1;
    uint64_t mask = mask_.load(std::memory_order_relaxed);
    while (mask < wanted && !mask_.compare_exchange_weak(mask, wanted, std::memory_order_relaxed)) {
    }
  }

  // True if a hit of this block has nothing to do here, because its bit is set and it is not watched.
  bool IsSettled(uint64_t hash) const {
    const uint64_t word = table_[hash & mask_.load(std::memory_order_relaxed)].load(std::memory_order_relaxed);
    return (word >> PlaceOf(hash) & 1) != 0;
  }
  bool IsWatched(uint64_t hash) const { return PlaceOf(hash) < watched_; }

  void Set(uint64_t hash) {
    const Bit bit = BitOf(hash);
    if ((bit.word->load(std::memory_order_relaxed) & bit.mask) == 0)
      bit.word->fetch_or(bit.mask, std::memory_order_relaxed);
  }
  bool Has(uint64_t hash) const {
    const Bit bit = BitOf(hash);
    return (bit.word->load(std::memory_order_relaxed) & bit.mask) != 0;
  }
  bool Take(uint64_t hash) {
    const Bit bit = BitOf(hash);
    if ((bit.word->load(std::memory_order_relaxed) & bit.mask) == 0) return false;
    return (bit.word->fetch_and(~bit.mask, std::memory_order_relaxed) & bit.mask) != 0;
  }
  // The bytes that bits for so many blocks take.
  static uint64_t BytesFor(uint64_t blocks, std::optional<uint64_t> watched_hash_max = std::nullopt) {
    return TotalWords(WordsFor(blocks), WatchedFor(watched_hash_max)) * sizeof(uint64_t);
  }
  size_t dram_bytes() const {
    return TotalWords(mask_.load(std::memory_order_relaxed) + 1, watched_) * sizeof(uint64_t);
  }

  static constexpr unsigned kPlaces = 64;  // in a word

 private:
  static constexpr uint64_t kBitsPerBlock = 48;
  static constexpr uint64_t kBlockBytesMin = 1024;  // the address space is reserved for a machine full of these
  struct Bit {
    std::atomic<uint64_t>* word;
    uint64_t mask;
  };
  // The hash's low bits choose the word, and its highest the place in it. So the watched blocks are those in the lowest
  // places.
  static unsigned PlaceOf(uint64_t hash) { return static_cast<unsigned>(hash >> 58); }
  static_assert(UINT64_MAX >> 58 == kPlaces - 1);
  static unsigned WatchedFor(std::optional<uint64_t> hash_max) { return hash_max ? PlaceOf(*hash_max) + 1 : 0; }
  // How many bits of the second table belong to each word of the first.
  static uint64_t BitsApart(unsigned watched) { return watched == 0 ? 0 : std::bit_ceil(watched); }

  Bit BitOf(uint64_t hash) const {
    const uint64_t word = hash & mask_.load(std::memory_order_relaxed);
    if (!IsWatched(hash)) return {&table_[word], uint64_t{1} << PlaceOf(hash)};
    const uint64_t apart = word * BitsApart(watched_) + PlaceOf(hash);
    return {&table_[reserved_words_ + apart / 64], uint64_t{1} << apart % 64};
  }
  static uint64_t WordsFor(uint64_t blocks) {
    return std::bit_floor(std::max<uint64_t>(1, blocks * kBitsPerBlock / 64));
  }
  // The words of both tables.
  static uint64_t TotalWords(uint64_t words, unsigned watched) {
    return words + (words * BitsApart(watched) + 63) / 64;
  }
  static uint64_t MachineBytes() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  // Fresh pages are zero, so no bit is set.
  bool Reserve() {
    void* const memory = mmap(nullptr, TotalWords(reserved_words_, watched_) * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    table_ = static_cast<std::atomic<uint64_t>*>(memory);
    return true;
  }

  std::atomic<uint64_t>* table_ = nullptr;  // the reserved_words_ that hits read, then the words of the watched
  std::atomic<uint64_t> mask_{0};           // words in use, less one. Grows by CAS; relaxed: it publishes nothing
  uint64_t reserved_words_ = 0;
  const unsigned watched_;  // the number of lowest places that are watched
};

}  // namespace mezz
