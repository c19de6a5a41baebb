// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "cache/index_slots.h"
#include "cache/index_word.h"
#include "cache/tag_scan.h"
#include "cache/types.h"

namespace mezz {

// Maps a key to the location of its record, in 8 bytes of DRAM a block. The index does not store keys: operations on a
// key take a RecordReader, which compares the key with the one in the record.
//
// Splits (Size::kGrows). Split takes each word that must move out of its slot (CAS), one at a time, and puts it into a
// slot of one of its key's buckets after the split (CAS). For some instructions the word is in no slot. So an operation
// that did not find a key looks at the state of the growth afterwards (IndexBuckets). It answers only if the key's
// buckets are where it looked and neither group is being split. This suffices, because a word was taken out of its slot
// after `splitting` was stored, and put back before the next state was (all of it seq_cst). An operation that finds a
// key need not look.
//   Find              looks again, where the word was and where it will be, in turn. It does so a bounded number of
//                     times, without waiting, and then reports a miss.
//   Publish, Erase, RemoveLine, Recover
//                     wait for the group (Split's mutex), and begin anew. A word that Publish put into a group that
//                     was split meanwhile may be where nobody looks. It is removed first, unless Split has put it
//                     where it belongs, where the next round replaces it. Until then others may find it, and after
//                     that the older record once more; all of this ends before Publish returns.
//   Clear             waits, and begins anew.
//   SetDram, FindLine answer "no". For SetDram that costs a forgotten bit. The only caller of FindLine that must not
//                     miss is reclaim, and no Split runs during one.
//   RemoveRecord, Drop, Move, Touch, Cool
//                     find another word in the slot, or none: kChanged.
//   VisitPinned       of all slots in turn meets a word that moves meanwhile once, twice or not at all.
//
// Thread-safe. Lock-free, except for the wait above and the notes of a refill. Allocates nothing after construction,
// except for a refill. In a child made by fork() the index is empty, nothing is being split, and nothing refilled.
class Index : public IndexSlots {
 public:
  enum class Published : uint8_t { kInserted, kReplaced, kDisplaced };

  // Has room for at least `blocks` words, at the load that two choices of a bucket reach without noticeable
  // displacement.
  Index(uint64_t blocks, uint64_t hash_seed, Size size = Size::kFixed) : IndexSlots(blocks, hash_seed, size) {}

  // Finds the entry of the reader's key and pins its record; the pin belongs to the caller. The entry is false if no
  // word of the key stayed in the index throughout the call, or if a bucket of the key was being split for too long.
  template <RecordReader Reader>
  Entry Find(const KeyHash& hash, Reader& reader);

  // Makes `fresh` the only word of the reader's key. It takes the slot of the key's present word, else an empty slot of
  // the emptier bucket, else that of the coldest word there, the oldest by `age(word)` first. If two threads publish
  // one key at once, either record stays, or none. REQUIRES: the record of `fresh` is pinned.
  template <RecordReader Reader, typename Age>
  Published Publish(const KeyHash& hash, IndexWord fresh, Reader& reader, Age&& age);
  // An age of words that make place only for others of this age. If all words there are such, and the fresh one is not,
  // that is displaced itself.
  static constexpr uint64_t kKept = UINT64_MAX;

  // Removes every word of the reader's key, and calls `on_removed` with the last one, whose record is pinned meanwhile.
  // True: there was a word, and this call removed it.
  template <RecordReader Reader, typename OnRemoved>
  bool Erase(const KeyHash& hash, Reader& reader, OnRemoved&& on_removed);

  // Splits one group. A word that must move finds its place as Publish finds one. Returns how many words are gone,
  // because their buckets were full. `reader` accepts records of every key; `key_of(word)` is the key of a pinned one.
  // REQUIRES: WantsToGrow() was true; one thread at a time splits, and none calls FindLine, Move, Drop or Cool
  // meanwhile.
  template <AnyRecordReader Reader, typename KeyOf, typename Age>
  unsigned Split(Reader& reader, KeyOf&& key_of, Age&& age);

  // As PublishOldest and RestoreAt. But if there is no room for a word that is kept (kKept), the coldest word that is
  // not makes room. Adds how many did to *displaced.
  template <typename Age>
  Refilled Recover(const KeyHash& hash, IndexWord oldest, Age&& age, uint64_t* displaced) {
    const auto buckets = [&] { return BucketsOf(hash, StateToChange(hash)); };
    return Refill(
        oldest, [&] { return PublishOldest(hash, oldest); }, buckets, age, displaced);
  }
  template <typename Age>
  Refilled Restore(uint64_t slot, IndexWord oldest, Age&& age, uint64_t* displaced) {
    const auto buckets = [&] { return Buckets{BucketAt(slot), BucketAt(slot)}; };
    return Refill(
        oldest, [&] { return RestoreAt(slot, oldest); }, buckets, age, displaced);
  }

  // Calls visit(word) for the word of `slot` if it has one, while its record is pinned and current.
  template <RecordReader Reader, typename Visit>
  void VisitPinned(uint64_t slot, Reader& reader, Visit&& visit);

 private:
  template <RecordReader Reader, typename Goes, typename Put>
  unsigned SplitSlot(Slot& slot, Reader& reader, Goes&& goes, Put&& put);
  template <RecordReader Reader>
  Entry FindIn(const KeyHash& hash, State state, Reader& reader);
  template <RecordReader Reader, typename OnRemoved>
  bool EraseIn(const KeyHash& hash, State state, const Slot* but, Reader& reader, OnRemoved&& on_removed);
  // The word of `slot`, pinned, if it is of the reader's key, else the empty word. Removes a word whose record is
  // damaged. `word` was seen in the slot.
  template <RecordReader Reader>
  IndexWord PinIfOfKey(Slot& slot, IndexWord word, Reader& reader);
  template <RecordReader Reader>
  Slot* Replace(const KeyHash& hash, State state, IndexWord fresh, Reader& reader);
  template <typename Age>
  Slot* Insert(const KeyHash& hash, State state, IndexWord fresh, Age&& age, bool* displaced);
  using Buckets = std::array<Slot*, 2>;
  Buckets BucketsOf(const KeyHash& hash, State state) const { return {Bucket(hash, 0, state), Bucket(hash, 1, state)}; }
  // The coldest word of full buckets. Without a slot: a bucket has an empty one.
  struct Coldest {
    Slot* slot = nullptr;
    IndexWord word;
    bool is_kept = false;
  };
  template <typename Age>
  static Coldest ColdestOf(const Buckets& buckets, Age&& age);
  template <typename Attempt, typename FullBuckets, typename Age>
  Refilled Refill(IndexWord oldest, Attempt&& attempt, FullBuckets&& buckets, Age&& age, uint64_t* displaced);
};

template <RecordReader Reader>
IndexWord Index::PinIfOfKey(Slot& slot, IndexWord word, Reader& reader) {
  // Words leave the index before their segment goes, so after a failed pin the slot shows another word. The same word
  // may come back for a new record at the same place. If it keeps coming back, this order is broken, or it is a
  // restored word that was left behind.
  constexpr int kFailedPinsMax = 1000;
  int failed_pins = 0;
  const uint32_t tag = word.tag();
  while (!word.empty() && word.tag() == tag) {
    MEZZ_TEST_POINT("index.word_seen");
    const bool pinned = reader.Pin(word);
    const IndexWord now(slot.load(std::memory_order_acquire));
    if (!pinned) {
      const bool broken = now.SameRecord(word) && ++failed_pins == kFailedPinsMax;
      assert(!broken || restored_);
      if (broken && restored_) Remove(slot, now);
      if (broken) return IndexWord();
    } else if (now.SameRecord(word)) {
      switch (reader.Judge(now)) {
        case Verdict::kThisKey:
          return now;
        case Verdict::kDamaged:
          Remove(slot, now);
          break;
        case Verdict::kAnotherKey:
          break;
      }
      reader.Unpin(now);
      return IndexWord();
    } else {
      reader.Unpin(word);
    }
    word = now;  // moved, replaced or erased: judge what is there
  }
  return IndexWord();
}

template <RecordReader Reader>
Index::Entry Index::Find(const KeyHash& hash, Reader& reader) {
  // A word is in no slot for some instructions only, unless the thread that splits is interrupted just then.
  constexpr int kLooksMax = 64;
  State state = LoadState(std::memory_order_acquire);
  bool ahead = false;  // looks where the word will be; that it is not there yet proves nothing
  for (int look = 1;; ++look) {
    if (const Entry found = FindIn(hash, state, reader)) return found;
    if (growth_ == nullptr) return {};
    const State now = LoadState(std::memory_order_acquire);
    if ((!ahead && !Moved(hash, state, now)) || look == kLooksMax) return {};
    ahead = !ahead && InSplit(hash, now);
    state = ahead ? After(now) : now;
  }
}

template <RecordReader Reader>
Index::Entry Index::FindIn(const KeyHash& hash, State state, Reader& reader) {
  // Looks into both buckets at once, as the branch predictor cannot know which of them has the key. The order is before
  // the next look at the state, which may change.
  Slot* const buckets[2] = {Bucket(hash, 0, state), Bucket(hash, 1, state)};
  const std::memory_order order = growth_ == nullptr ? std::memory_order_relaxed : std::memory_order_acquire;
  uint32_t candidates = tag_scan::Find(buckets[0], IndexWord::kTagShift, hash.tag, order);
  if (buckets[0] != buckets[1])
    candidates |= tag_scan::Find(buckets[1], IndexWord::kTagShift, hash.tag, order) << kSlotsPerBucket;
  for (; candidates != 0; candidates &= candidates - 1) {
    const unsigned candidate = static_cast<unsigned>(std::countr_zero(candidates));
    Slot& slot = buckets[candidate / kSlotsPerBucket][candidate % kSlotsPerBucket];
    const IndexWord word = PinIfOfKey(slot, IndexWord(slot.load(std::memory_order_acquire)), reader);
    if (!word.empty()) return {NumberOf(slot), word};
  }
  return {};
}

template <RecordReader Reader, typename Age>
Index::Published Index::Publish(const KeyHash& hash, IndexWord fresh, Reader& reader, Age&& age) {
  assert(!fresh.empty() && fresh.tag() == hash.tag);
  bool displaced = false, replaced = false;
  Note(hash.tag);
  for (;;) {
    const State state = StateToChange(hash);
    Slot* mine = Replace(hash, state, fresh, reader);
    replaced |= mine != nullptr;
    if (mine == nullptr) mine = Insert(hash, state, fresh, age, &displaced);
    MEZZ_TEST_POINT("index.published");
    // Another thread may have put the key into another slot meanwhile. Each publishes before it looks (both seq_cst),
    // so at least one sees the other. If both do, the block is forgotten. So it is if this one was displaced itself.
    EraseIn(hash, state, mine, reader, [](IndexWord) {});
    if (growth_ == nullptr || !Moved(hash, state, LoadState(std::memory_order_seq_cst))) break;
    if (mine != nullptr) Remove(*mine, fresh);
  }
  return replaced ? Published::kReplaced : displaced ? Published::kDisplaced : Published::kInserted;
}

template <RecordReader Reader>
Index::Slot* Index::Replace(const KeyHash& hash, State state, IndexWord fresh, Reader& reader) {
  Slot* replaced = nullptr;
  VisitTag(hash, state, std::memory_order_acquire, [&](Slot& slot, IndexWord seen) {
    for (IndexWord word; !(word = PinIfOfKey(slot, seen, reader)).empty();) {
      MEZZ_TEST_POINT("index.before_replace");
      const bool done = Exchange(slot, word, fresh, std::memory_order_seq_cst);
      reader.Unpin(word);
      if (done) replaced = &slot;
      if (done) return true;
    }
    return false;
  });
  return replaced;
}

template <typename Age>
Index::Slot* Index::Insert(const KeyHash& hash, State state, IndexWord fresh, Age&& age, bool* displaced) {
  for (;;) {
    uint64_t expected = 0;
    if (Slot* empty = EmptySlot(hash, state)) {
      if (!empty->compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst, std::memory_order_relaxed))
        continue;
      blocks_.fetch_add(1, std::memory_order_relaxed);
      return empty;
    }
    const Coldest coldest = ColdestOf(BucketsOf(hash, state), age);
    if (coldest.slot == nullptr) continue;  // it came free
    if (coldest.is_kept && static_cast<uint64_t>(age(fresh)) != kKept) {
      *displaced = true;
      return nullptr;
    }
    Note(coldest.word.tag());
    expected = coldest.word.raw();
    *displaced = coldest.slot->compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst,
                                                       std::memory_order_relaxed);
    if (*displaced) return coldest.slot;
  }
}

template <typename Age>
Index::Coldest Index::ColdestOf(const Buckets& buckets, Age&& age) {
  constexpr unsigned kAgeBits = 62;
  Coldest coldest;
  uint64_t coldest_rank = UINT64_MAX;
  for (Slot* const bucket : buckets) {
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      Slot* const candidate = bucket + i;
      const IndexWord seen(candidate->load(std::memory_order_acquire));
      if (seen.empty()) return {};
      const auto old = static_cast<uint64_t>(age(seen));
      const uint64_t heat = old == kKept ? IndexWord::kHeatMax : seen.heat();
      const uint64_t rank = heat << kAgeBits | (old & ((uint64_t{1} << kAgeBits) - 1));
      if (coldest.slot == nullptr || rank < coldest_rank)
        coldest = {candidate, seen, old == kKept}, coldest_rank = rank;
    }
  }
  return coldest;
}

template <typename Attempt, typename FullBuckets, typename Age>
Index::Refilled Index::Refill(IndexWord oldest, Attempt&& attempt, FullBuckets&& buckets, Age&& age,
                              uint64_t* displaced) {
  constexpr int kTriesMax = 16;  // in vain, if other threads took the room each time
  Refilled refilled = attempt();
  for (int tries = 0; refilled == Refilled::kFull && tries < kTriesMax; ++tries) {
    if (static_cast<uint64_t>(age(oldest)) != kKept) break;
    const Coldest coldest = ColdestOf(buckets(), age);
    if (coldest.is_kept) break;
    if (coldest.slot != nullptr && Remove(*coldest.slot, coldest.word)) ++*displaced;
    refilled = attempt();
  }
  return refilled;
}

template <RecordReader Reader, typename OnRemoved>
bool Index::Erase(const KeyHash& hash, Reader& reader, OnRemoved&& on_removed) {
  bool erased = false;
  Note(hash.tag);
  for (;;) {
    const State state = StateToChange(hash);
    erased |= EraseIn(hash, state, /*but=*/nullptr, reader, on_removed);
    if (growth_ == nullptr || !Moved(hash, state, LoadState(std::memory_order_seq_cst))) return erased;
  }
}

// Removes every word of the key from its buckets, except the one in the slot `but`.
template <RecordReader Reader, typename OnRemoved>
bool Index::EraseIn(const KeyHash& hash, State state, const Slot* but, Reader& reader, OnRemoved&& on_removed) {
  bool erased = false;
  VisitTag(hash, state, std::memory_order_seq_cst, [&](Slot& slot, IndexWord seen) {
    if (&slot == but) return false;
    for (IndexWord word; !(word = PinIfOfKey(slot, seen, reader)).empty();) {
      MEZZ_TEST_POINT("index.before_erase");
      const bool removed = Remove(slot, word);
      if (removed) on_removed(word);
      reader.Unpin(word);
      erased |= removed;
      if (removed) break;
    }
    return false;
  });
  return erased;
}

template <AnyRecordReader Reader, typename KeyOf, typename Age>
unsigned Index::Split(Reader& reader, KeyOf&& key_of, Age&& age) {
  const std::lock_guard lock(split_mutex_);
  const State then = LoadState(std::memory_order_relaxed);
  const unsigned members = members_ + then.added();
  assert(growth_ != nullptr && !then.splitting() && members < BucketGroups::kMembersMax && then.next() < groups_);
  const uint64_t group = then.next();
  const State splitting{then.raw | State::kSplitting}, after = After(splitting);
  const uint64_t added = group + groups_ * members;
#ifndef MEZZ_MODEL_CHECK  // which would take these loads for steps
  for (uint64_t bucket = group; bucket < added; bucket += groups_) {
    for (uint64_t slot = bucket * kSlotsPerBucket; slot < (bucket + 1) * kSlotsPerBucket; ++slot) {
      if (const Entry entry{slot, IndexWord(slots_[slot].load(std::memory_order_relaxed))}) reader.Prefetch(entry.word);
    }
  }
#endif
  growth_->store(splitting.raw, std::memory_order_seq_cst);
  MEZZ_TEST_POINT("index.splitting");
  unsigned forgotten = 0;
  KeyHash hash;  // of the word that `goes` judged last
  const auto put = [&](IndexWord word) {
    bool displaced = false;
    if (Insert(hash, after, word, age, &displaced) == nullptr) Note(word.tag());
    return !displaced;
  };
  for (uint64_t from = group; from < added; from += groups_) {
    const auto goes = [&](IndexWord word) {
      hash = Hash(key_of(word));
      return NumberOfBucket(hash.choice[0], after) != from && NumberOfBucket(hash.choice[1], after) != from;
    };
    for (size_t i = 0; i < kSlotsPerBucket; ++i)
      forgotten += SplitSlot(slots_[from * kSlotsPerBucket + i], reader, goes, put);
  }
  growth_->store(after.raw, std::memory_order_seq_cst);
  AdviseHugePages(then, after);
  return forgotten;
}

// Puts the word of `slot` elsewhere if it goes. Returns 1 if it, or another one for it, is gone, else 0.
template <RecordReader Reader, typename Goes, typename Put>
unsigned Index::SplitSlot(Slot& slot, Reader& reader, Goes&& goes, Put&& put) {
  for (;;) {
    const IndexWord seen(slot.load(std::memory_order_seq_cst));
    const IndexWord word = PinIfOfKey(slot, seen, reader);
    if (word.empty()) {
      const IndexWord now(slot.load(std::memory_order_seq_cst));
      if (now.empty()) return 0;
      if (now.raw() == seen.raw() && Remove(slot, now)) return 0;  // it cannot be pinned: PinIfOfKey says why
      continue;                                                    // another key's by now
    }
    uint64_t expected = word.raw();
    const bool stays = !goes(word);
    const bool taken =
        !stays && slot.compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed);
    MEZZ_TEST_POINT("index.out_of_its_slot");
    if (taken) blocks_.fetch_sub(1, std::memory_order_relaxed);
    const bool forgotten = taken && !put(word);
    reader.Unpin(word);
    if (taken || stays) return forgotten ? 1 : 0;
  }
}

template <RecordReader Reader, typename Visit>
void Index::VisitPinned(uint64_t slot, Reader& reader, Visit&& visit) {
  const IndexWord word = PinIfOfKey(slots_[slot], At(slot).word, reader);
  if (word.empty()) return;
  visit(word);
  reader.Unpin(word);
}

}  // namespace mezz
