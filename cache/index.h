// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "cache/base/atomic.h"
#include "cache/tag_scan.h"
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
  static constexpr unsigned kTagShift = 64 - kTagBits;
  static constexpr unsigned kLineBits = 36;

  constexpr IndexWord() = default;
  constexpr explicit IndexWord(uint64_t raw) : raw_(raw) {}
  static constexpr IndexWord Make(uint32_t tag, uint64_t line, bool dram, unsigned heat) {
    assert(tag < 1u << kTagBits && line < uint64_t{1} << kLineBits && heat <= kHeatMax);
    return IndexWord(uint64_t{tag} << kTagShift | line << 3 | uint64_t{dram} << 2 | heat);
  }

  constexpr uint64_t raw() const { return raw_; }
  constexpr bool empty() const { return raw_ == 0; }
  constexpr uint32_t tag() const { return static_cast<uint32_t>(raw_ >> kTagShift); }
  constexpr uint64_t line() const { return raw_ >> 3 & ((uint64_t{1} << kLineBits) - 1); }
  constexpr bool dram() const { return (raw_ & 4) != 0; }
  constexpr unsigned heat() const { return raw_ & 3; }
  constexpr IndexWord with(bool dram, unsigned heat) const {
    assert(heat <= kHeatMax);
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

// What the record of a word turned out to be.
enum class Verdict : uint8_t { kThisKey, kAnotherKey, kDamaged };

// Who knows records, for the index, which knows only words. A reader stands for one key.
//   Pin     keeps the record's bytes as they are until Unpin. False: its segment holds no records any more, which the
//           word's slot must show by now (SegmentLog's order: words go before segments do).
//   Judge   REQUIRES: pinned, and the word was current after it was.
template <typename T>
concept RecordReader = requires(T& reader, IndexWord word) {
  { reader.Pin(word) } -> std::same_as<bool>;
  reader.Unpin(word);
  { reader.Judge(word) } -> std::same_as<Verdict>;
};

// Key -> location of its record in 8 bytes of DRAM a block: a fixed array of buckets of sixteen words (two adjacent
// cache lines, which the CPU fetches together), two buckets a key. The index alone never knows a key: operations that
// are about a key are given a RecordReader, which compares it in the record.
//
// The index owns its words: every exchange, and every retry of one, is in this class. A slot is one atomic word:
//
//   empty --Publish--> word --Publish: another record of the key-------------> word of the key's new record
//     ^                 |  \--Publish into full buckets: the coldest gives way-> word of another key (displaced)
//     |                 |  \--Move: reclaim copied the record------------------> the same with another line, less heat
//     |                 |  \--Touch, Cool, SetDram-----------------------------> the same record, other heat or dram
//     bit
//     +-- Erase, Drop, RemoveRecord, Clear; any operation that finds a damaged record
//
// Order. Publish and Move exchange with release, after the record was drained to the medium: who loads a word with
// acquire and pins its segment sees the record. Publish and its scan for a second word of the key, Erase and Clear are
// seq_cst: of two threads that publish one key in two slots at least one sees the other's word. Touch, Cool and SetDram
// publish nothing: relaxed.
//
// "It changed meanwhile" is never "no". A word never moves between slots, so what an operation looks for stays in the
// slot where it was seen or is gone; an operation that finds a slot changed under it reads that slot again, until it
// has an answer for one value of it. That ends: each round means that another thread finished an operation there.
// Only Drop reports the change (kChanged) instead, because its caller must judge anew.
//
// Thread-safe, lock-free, allocates nothing after construction. In a child made by fork() the index is empty.
class Index {
 public:
  static constexpr size_t kSlotsPerBucket = tag_scan::kWords;

  // A slot, and a word that was seen in it; false: none was. Says nothing about what is there now.
  struct Entry {
    uint64_t slot = 0;
    IndexWord word;
    explicit operator bool() const { return !word.empty(); }
  };
  enum class Published : uint8_t { kInserted, kReplaced, kDisplaced };
  enum class Outcome : uint8_t { kDone, kChanged };

  // Room for at least `blocks` words at the load two choices reach without displacing noticeably.
  Index(uint64_t blocks, uint64_t hash_seed);
  static uint64_t BytesFor(uint64_t blocks) { return BucketsFor(blocks) * kSlotsPerBucket * sizeof(Slot); }
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

  // The reader's key, with the pin of its record, which is the caller's now. False: no word of the key stayed in the
  // index throughout the call.
  template <RecordReader Reader>
  Entry Find(const KeyHash& hash, Reader& reader);

  // Makes `fresh` the only word of the reader's key: in the slot of its record if it has one, else in an empty slot of
  // the emptier bucket, else in that of the coldest word there, oldest by `age(word)` first. What two threads publish
  // for one key at once may end as either record, or none. REQUIRES: the record of `fresh` is pinned.
  template <RecordReader Reader, typename Age>
  Published Publish(const KeyHash& hash, IndexWord fresh, Reader& reader, Age&& age);

  // Removes every word of the reader's key; the last one's word, while `on_removed` runs, is pinned. True: there was
  // one, and it was this call that removed it.
  template <RecordReader Reader, typename OnRemoved>
  bool Erase(const KeyHash& hash, Reader& reader, OnRemoved&& on_removed);

  // Sets the heat of the entry's record, if its slot still has it, and that the DRAM tier does not hold it. Returns the
  // word as it should be. A lost race with another hit costs one count of heat.
  IndexWord Touch(Entry entry, unsigned heat);
  // Sets the dram bit of a word with this tag: to spare the medium a read, a stranger with the same 25-bit tag in the
  // same two buckets (one in a million look-ups of a full index) is taken for the key. False: there is none.
  bool SetDram(const KeyHash& hash, bool dram);

  // For reclaim, which comes from the record and holds its segment. The entry whose word points to `line`.
  Entry FindLine(const KeyHash& hash, uint64_t line) const;
  // One heat less for the entry's record, if its slot still has it; never below none.
  void Cool(Entry entry);
  // The record now also lies at `line`, which cost it `heat_cost` of its heat. kChanged: it was replaced or erased, the
  // copy is waste.
  Outcome Move(Entry entry, uint64_t line, unsigned heat_cost = 1);
  // Removes the entry's word. kChanged: it is not as it was seen: hit, replaced or erased since.
  Outcome Drop(Entry entry);
  // Removes the entry's word, whatever its heat. kChanged: it names another record, or none.
  Outcome RemoveRecord(Entry entry);

  // Empties every slot: what was published before the call is gone after it.
  void Clear();
  // Removes every word for which `doomed(word)`, a pure function of its line. Returns how many.
  template <typename Doomed>
  uint64_t RemoveIf(Doomed&& doomed);

  uint64_t slots() const { return buckets_ * kSlotsPerBucket; }
  Entry At(uint64_t slot) const { return {slot, IndexWord(slots_[slot].load(std::memory_order_acquire))}; }
  // Calls visit(word) for the word of `slot` if it has one, while its record is pinned and current.
  template <RecordReader Reader, typename Visit>
  void VisitPinned(uint64_t slot, Reader& reader, Visit&& visit);

  uint64_t blocks() const;  // words in it; a few off while others change it
  // What blocks() is made from. While nobody changes the index it is exact, so never below 0.
  int64_t counted() const { return blocks_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return slots() * sizeof(Slot); }

 private:
  using Slot = Atomic<uint64_t>;

  static uint64_t BucketsFor(uint64_t blocks);
  Slot* Bucket(const KeyHash& hash, unsigned choice) const { return slots_ + hash.bucket[choice] * kSlotsPerBucket; }
  uint64_t NumberOf(const Slot& slot) const { return static_cast<uint64_t>(&slot - slots_); }
  // Calls visit(slot, word) for each word of this tag, loaded with `order`, until it returns true; returns that.
  template <typename Visit>
  bool VisitTag(const KeyHash& hash, std::memory_order order, Visit&& visit) const;
  // The word of `slot`, pinned, if it is of the reader's key, else the empty word; `word` was seen there. Removes it if
  // it is damaged.
  template <RecordReader Reader>
  IndexWord PinIfOfKey(Slot& slot, IndexWord word, Reader& reader);
  bool Exchange(Slot& slot, IndexWord record, IndexWord next, std::memory_order order);
  bool Remove(Slot& slot, IndexWord record);
  template <RecordReader Reader>
  Slot* Replace(const KeyHash& hash, IndexWord fresh, Reader& reader);
  template <typename Age>
  Slot* Insert(const KeyHash& hash, IndexWord fresh, Age&& age, bool* displaced);
  template <typename Age>
  Slot* Coldest(const KeyHash& hash, Age&& age, IndexWord* word) const;
  Slot* EmptySlot(const KeyHash& hash) const;

  const uint64_t hash_seed_;
  const uint64_t buckets_;
  uint64_t mapped_bytes_ = 0;
  Slot* slots_ = nullptr;  // own mapping, huge pages where the kernel gives them
  // Words that went in less words that went out, each counted after its exchange. Relaxed: publishes nothing.
  alignas(kLineBytes) Atomic<int64_t> blocks_{0};
};

}  // namespace mezz

#include "cache/index_inl.h"  // the templates
