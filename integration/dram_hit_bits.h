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
// A bit for each block, by hash of the key (BlockHash), in a table of half to all of kBitsPerBlock x the blocks that
// the tier holds. So one in 24 to 48 shares its bit with another: not hit, it then passes for hit; hit, it loses its
// bit to the other's eviction, unless it is hit again. A hit reads one word, and writes it only the first time.
// Grows with the tier, within memory that is reserved, and not used, for the largest tier this machine could hold: so a
// hit costs nothing for it. Growing forgets, once, what was hit. Never shrinks.
//   bit: 0 --Set: or--> 1 --Take, when the block is evicted: and--> 0. Relaxed: it publishes nothing.
//
// The test that each hit makes anyway also tells whose hits somebody wants to see: those of the blocks with the lowest
// hashes, "watched". Their bits stand in a table of their own, and in the one that hits read they are never set: so
// each hit of theirs goes where else only a block's first does, and no other pays for it. A bit is shared by the same
// blocks however many are watched.
class DramHitBits {
 public:
  // At least all with a hash up to `watched_hash_max` are watched, at most so many more as one in kPlaces; nullopt:
  // none.
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

  // A hit of this block has nothing to do here: its bit is set, and it is not watched.
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
  // What bits for so many blocks take.
  static uint64_t BytesFor(uint64_t blocks, std::optional<uint64_t> watched_hash_max = std::nullopt) {
    return TotalWords(WordsFor(blocks), WatchedFor(watched_hash_max)) * sizeof(uint64_t);
  }
  size_t dram_bytes() const {
    return TotalWords(mask_.load(std::memory_order_relaxed) + 1, watched_) * sizeof(uint64_t);
  }

  static constexpr unsigned kPlaces = 64;  // in a word

 private:
  static constexpr uint64_t kBitsPerBlock = 48;
  static constexpr uint64_t kBlockBytesMin = 1024;  // what the reserve is for
  struct Bit {
    std::atomic<uint64_t>* word;
    uint64_t mask;
  };
  // The word by the hash's low bits, the place by its highest: so the watched are those in the lowest places.
  static unsigned PlaceOf(uint64_t hash) { return static_cast<unsigned>(hash >> 58); }
  static_assert(UINT64_MAX >> 58 == kPlaces - 1);
  static unsigned WatchedFor(std::optional<uint64_t> hash_max) { return hash_max ? PlaceOf(*hash_max) + 1 : 0; }
  // Of the watched, what each word of the table has in the other.
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
  // With those of the watched.
  static uint64_t TotalWords(uint64_t words, unsigned watched) {
    return words + (words * BitsApart(watched) + 63) / 64;
  }
  static uint64_t MachineBytes() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  // Zero pages are words without a bit.
  bool Reserve() {
    void* const memory = mmap(nullptr, TotalWords(reserved_words_, watched_) * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    table_ = static_cast<std::atomic<uint64_t>*>(memory);
    return true;
  }

  std::atomic<uint64_t>* table_ = nullptr;  // reserved_words_ that hits read, and behind them those of the watched
  std::atomic<uint64_t> mask_{0};           // words in use, less one. Grows by CAS; relaxed: it publishes nothing
  uint64_t reserved_words_ = 0;
  const unsigned watched_;  // places, the lowest
};

}  // namespace mezz
