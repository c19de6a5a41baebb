// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cache/types.h"

namespace mezz {

// One index word: where a record lies and how it fares.
//
//   63          39 38                          3   2    1  0
//   [   tag 25   ][  line 36 (64-byte units)   ][dram][heat ]
//
// 0 is the empty word: line 0 holds the superblock, never a record. `dram`: the DRAM tier holds the block too, as far
// as we were told. `heat`: hits since the record was written or last spared, saturating at 3.
class IndexWord {
 public:
  static constexpr unsigned kHeatMax = 3;
  static constexpr unsigned kTagBits = 25;

  constexpr IndexWord() = default;
  constexpr explicit IndexWord(uint64_t raw) : raw_(raw) {}
  static constexpr IndexWord Make(uint32_t tag, uint64_t line, bool dram, unsigned heat) {
    return IndexWord(uint64_t{tag} << 39 | line << 3 | uint64_t{dram} << 2 | heat);
  }

  constexpr uint64_t raw() const { return raw_; }
  constexpr bool empty() const { return raw_ == 0; }
  constexpr uint32_t tag() const { return static_cast<uint32_t>(raw_ >> 39); }
  constexpr uint64_t line() const { return raw_ >> 3 & ((uint64_t{1} << 36) - 1); }
  constexpr bool dram() const { return (raw_ & 4) != 0; }
  constexpr unsigned heat() const { return raw_ & 3; }
  constexpr IndexWord with(bool dram, unsigned heat) const {
    return IndexWord((raw_ & ~uint64_t{7}) | uint64_t{dram} << 2 | heat);
  }
  // The same record, whatever its heat.
  constexpr bool SameRecord(IndexWord other) const { return (raw_ ^ other.raw_) < 8; }

 private:
  uint64_t raw_ = 0;
};

// Where a key may be: two buckets, and the tag its word carries.
struct KeyHash {
  uint64_t bucket[2];
  uint32_t tag;
};

// Key -> location of its record in 8 bytes of DRAM a block: a fixed array of buckets of sixteen words (two adjacent
// cache lines, which the CPU fetches together), two buckets a key. The index alone never knows a key; whoever finds a
// word must compare the key in the record.
//
// Each slot is one atomic word:
//
//   empty --Insert: CAS, release--> word --Update: CAS (heat, dram)--> word'
//     ^                              |  \--Replace: CAS, release--> word of another record of the same key
//     +---- Remove: CAS -------------+---Insert into full buckets: CAS, release--> word of another key (displaced)
//
// Whoever loads a word with acquire sees the record it points to: the release happens after the record was drained to
// the medium. A word never moves between slots, so a reader that finds a slot changed reads that slot again.
// Insert-then-scan in two threads that put the same key at once needs a total order: Insert and the scan after it use
// seq_cst (SettleDuplicates in scm_tier.cc).
class Index {
 public:
  static constexpr size_t kSlotsPerBucket = 16;
  using Slot = std::atomic<uint64_t>;

  // Room for at least `blocks` words at the load two choices reach without displacing noticeably.
  Index(uint64_t blocks, uint64_t hash_seed);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  bool ok() const { return slots_ != nullptr; }  // false: the memory was not to be had

  KeyHash Hash(const BlockKey& key) const;
  void Prefetch(const KeyHash& hash) const {
    for (unsigned choice = 0; choice < 2; ++choice) {
      __builtin_prefetch(Bucket(hash, choice));
      __builtin_prefetch(Bucket(hash, choice) + kSlotsPerBucket / 2);
    }
  }

  // Calls visit(slot, word) for each word of this tag until it returns true; returns that. Slots are loaded with
  // kOrder.
  template <std::memory_order kOrder = std::memory_order_acquire, typename Visit>
  bool FindTag(const KeyHash& hash, Visit&& visit) const {
    for (unsigned choice = 0; choice < 2; ++choice) {
      Slot* bucket = Bucket(hash, choice);
      for (size_t i = 0; i < kSlotsPerBucket; ++i) {
        const IndexWord word(bucket[i].load(kOrder));
        if (word.tag() == hash.tag && !word.empty() && visit(bucket[i], word)) return true;
      }
      if (hash.bucket[0] == hash.bucket[1]) break;
    }
    return false;
  }

  // The slot whose word points to this record, or null.
  Slot* FindRecord(const KeyHash& hash, uint64_t line, IndexWord* word) const;

  // Puts `word` into an empty slot of the emptier bucket. Where both are full, `age(word)` ranks the words there and
  // the coldest, oldest one gives way; it is returned, else the empty word. `*slot` is where the word went.
  template <typename Age>
  IndexWord Insert(const KeyHash& hash, IndexWord word, Age&& age, Slot** slot);

  uint64_t slots() const { return buckets_ * kSlotsPerBucket; }
  Slot& slot(uint64_t i) { return slots_[i]; }
  uint64_t bytes() const { return slots() * sizeof(Slot); }

 private:
  Slot* Bucket(const KeyHash& hash, unsigned choice) const { return slots_ + hash.bucket[choice] * kSlotsPerBucket; }
  Slot* EmptySlot(const KeyHash& hash) const;

  const uint64_t hash_seed_;
  uint64_t buckets_ = 0;
  uint64_t mapped_bytes_ = 0;
  Slot* slots_ = nullptr;  // own mapping, huge pages where the kernel gives them
};

template <typename Age>
IndexWord Index::Insert(const KeyHash& hash, IndexWord word, Age&& age, Slot** slot) {
  for (;;) {
    if (Slot* empty = EmptySlot(hash)) {
      uint64_t expected = 0;
      *slot = empty;
      if (empty->compare_exchange_strong(expected, word.raw(), std::memory_order_seq_cst, std::memory_order_relaxed))
        return IndexWord();
      continue;
    }
    Slot* coldest = nullptr;
    IndexWord coldest_word;
    uint64_t coldest_rank = UINT64_MAX;
    for (unsigned choice = 0; choice < 2; ++choice) {
      for (size_t i = 0; i < kSlotsPerBucket; ++i) {
        Slot* candidate = Bucket(hash, choice) + i;
        const IndexWord seen(candidate->load(std::memory_order_acquire));
        if (seen.empty()) continue;  // freed meanwhile: the next round takes it
        const uint64_t rank = uint64_t{seen.heat()} << 62 | (age(seen) & ((uint64_t{1} << 62) - 1));
        if (rank < coldest_rank) coldest = candidate, coldest_word = seen, coldest_rank = rank;
      }
    }
    if (coldest == nullptr) continue;
    uint64_t expected = coldest_word.raw();
    *slot = coldest;
    if (coldest->compare_exchange_strong(expected, word.raw(), std::memory_order_seq_cst, std::memory_order_relaxed))
      return coldest_word;
  }
}

}  // namespace mezz
