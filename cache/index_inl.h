// SPDX-License-Identifier: Apache-2.0
// The operations of Index that ask a RecordReader. Included by index.h alone.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "cache/index.h"

namespace mezz {

template <typename Visit>
bool Index::VisitTag(const KeyHash& hash, std::memory_order order, Visit&& visit) const {
  for (unsigned choice = 0; choice < 2; ++choice) {
    Slot* bucket = Bucket(hash, choice);
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      const IndexWord word(bucket[i].load(order));
      if (word.tag() == hash.tag && !word.empty() && visit(bucket[i], word)) return true;
    }
    if (hash.bucket[0] == hash.bucket[1]) break;
  }
  return false;
}

template <RecordReader Reader>
IndexWord Index::PinIfOfKey(Slot& slot, IndexWord word, Reader& reader) {
  // Words leave the index before their segment does, so a pin that fails shows in the slot at once. The same word may
  // come back for a new record at the same place; for ever it would mean that this order is broken.
  constexpr int kFailedPinsMax = 1000;
  int failed_pins = 0;
  const uint32_t tag = word.tag();
  while (!word.empty() && word.tag() == tag) {
    MEZZ_TEST_POINT("index.word_seen");
    const bool pinned = reader.Pin(word);
    const IndexWord now(slot.load(std::memory_order_acquire));
    if (!pinned) {
      const bool broken = now.SameRecord(word) && ++failed_pins == kFailedPinsMax;
      assert(!broken);
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
  // Both buckets at once: which of them has the key is a coin toss to the branch predictor too.
  uint32_t candidates = tag_scan::Find(Bucket(hash, 0), IndexWord::kTagShift, hash.tag) |
                        tag_scan::Find(Bucket(hash, 1), IndexWord::kTagShift, hash.tag) << kSlotsPerBucket;
  for (; candidates != 0; candidates &= candidates - 1) {
    const unsigned candidate = static_cast<unsigned>(std::countr_zero(candidates));
    Slot& slot = Bucket(hash, candidate / kSlotsPerBucket)[candidate % kSlotsPerBucket];
    const IndexWord word = PinIfOfKey(slot, IndexWord(slot.load(std::memory_order_acquire)), reader);
    if (!word.empty()) return {NumberOf(slot), word};
  }
  return {};
}

template <RecordReader Reader, typename Age>
Index::Published Index::Publish(const KeyHash& hash, IndexWord fresh, Reader& reader, Age&& age) {
  assert(!fresh.empty() && fresh.tag() == hash.tag);
  bool displaced = false;
  Slot* mine = Replace(hash, fresh, reader);
  const bool replaced = mine != nullptr;
  if (!replaced) mine = Insert(hash, fresh, std::forward<Age>(age), &displaced);
  MEZZ_TEST_POINT("index.published");
  // Another thread may have put the key into another slot meanwhile. Each publishes before it looks (both seq_cst), so
  // at least one sees the other; if both do, the block is forgotten.
  VisitTag(hash, std::memory_order_seq_cst, [&](Slot& slot, IndexWord seen) {
    if (&slot == mine) return false;
    for (IndexWord word; !(word = PinIfOfKey(slot, seen, reader)).empty();) {
      const bool removed = Remove(slot, word);
      reader.Unpin(word);
      if (removed) break;
    }
    return false;
  });
  return replaced ? Published::kReplaced : displaced ? Published::kDisplaced : Published::kInserted;
}

template <RecordReader Reader>
Index::Slot* Index::Replace(const KeyHash& hash, IndexWord fresh, Reader& reader) {
  Slot* replaced = nullptr;
  VisitTag(hash, std::memory_order_acquire, [&](Slot& slot, IndexWord seen) {
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
Index::Slot* Index::Insert(const KeyHash& hash, IndexWord fresh, Age&& age, bool* displaced) {
  for (;;) {
    uint64_t expected = 0;
    if (Slot* empty = EmptySlot(hash)) {
      if (!empty->compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst, std::memory_order_relaxed))
        continue;
      blocks_.fetch_add(1, std::memory_order_relaxed);
      return empty;
    }
    IndexWord coldest_word;
    Slot* const coldest = Coldest(hash, age, &coldest_word);
    if (coldest == nullptr) continue;  // a slot came free
    expected = coldest_word.raw();
    *displaced =
        coldest->compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst, std::memory_order_relaxed);
    if (*displaced) return coldest;
  }
}

template <typename Age>
Index::Slot* Index::Coldest(const KeyHash& hash, Age&& age, IndexWord* word) const {
  constexpr unsigned kAgeBits = 62;
  Slot* coldest = nullptr;
  uint64_t coldest_rank = UINT64_MAX;
  for (unsigned choice = 0; choice < 2; ++choice) {
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      Slot* const candidate = Bucket(hash, choice) + i;
      const IndexWord seen(candidate->load(std::memory_order_acquire));
      if (seen.empty()) continue;  // freed meanwhile: the next round takes it
      const uint64_t rank = uint64_t{seen.heat()} << kAgeBits | (age(seen) & ((uint64_t{1} << kAgeBits) - 1));
      if (rank < coldest_rank) coldest = candidate, *word = seen, coldest_rank = rank;
    }
  }
  return coldest;
}

template <RecordReader Reader, typename OnRemoved>
bool Index::Erase(const KeyHash& hash, Reader& reader, OnRemoved&& on_removed) {
  bool erased = false;
  VisitTag(hash, std::memory_order_seq_cst, [&](Slot& slot, IndexWord seen) {
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

template <typename Doomed>
uint64_t Index::RemoveIf(Doomed&& doomed) {
  uint64_t removed = 0;
  for (uint64_t i = 0; i < slots(); ++i) {
    // A word that is replaced meanwhile is judged too.
    for (IndexWord word = At(i).word; !word.empty() && doomed(word); word = At(i).word) {
      if (!Remove(slots_[i], word)) continue;
      ++removed;
      break;
    }
  }
  return removed;
}

template <RecordReader Reader, typename Visit>
void Index::VisitPinned(uint64_t slot, Reader& reader, Visit&& visit) {
  const IndexWord word = PinIfOfKey(slots_[slot], At(slot).word, reader);
  if (word.empty()) return;
  visit(word);
  reader.Unpin(word);
}

}  // namespace mezz
