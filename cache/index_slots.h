// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cache/base/atomic.h"
#include "cache/index_buckets.h"
#include "cache/index_word.h"
#include "cache/tag_notes.h"
#include "cache/types.h"

namespace mezz {

// The slots of an index and what becomes of the words in them. Here is what needs no record; Index has what does. A
// slot is one atomic word, exchanged here and in Index alone:
//
//   empty --Publish--> word --Publish: another record of the key-------------> word of the key's new record
//     ^                 |  \--Publish, Split: the coldest of full buckets goes-> word of another key (displaced)
//     |                 |  \--Move: reclaim copied the record------------------> the same with another line, less heat
//     |                 |  \--Touch, Cool, SetDram-----------------------------> the same record, other heat or dram
//     |                 |
//     +-----------------+-- Erase, Drop, RemoveRecord, Clear; Recover, Restore: the coldest of full buckets; Split,
//     which
//                           moves it into a slot of another bucket; any operation that finds a damaged record
//
// Order. Publish and Move exchange with release, after the record was drained to the medium. So a thread that loads a
// word with acquire and pins its segment sees the record. Publish with its scan for a second word of the key, Erase and
// Clear are seq_cst: of two threads that publish one key in two slots at least one sees the other's word. Touch, Cool
// and SetDram are relaxed, as they publish nothing.
//
// A slot that changed meanwhile never counts as "not found". Except by Split, a word never moves between slots: it
// stays in the slot where it was seen, or it is gone. An operation that finds a slot changed reads it again, until it
// has an answer for one value of it. That ends, because each round means that another thread finished an operation
// there. Only Drop reports the change (kChanged) instead, because its caller must judge anew.
//
// Refill, while others use the index. A recovery publishes an earlier life's records, the youngest first, each only if
// its key has no word. That alone would bring back an older record whose key has no word any more, because it was
// erased, or was put and displaced. So during a refill every operation notes the tag (TagNotes) before it publishes a
// key, erases it, or takes a word out; PublishOldest passes noted tags over. It looks and publishes under the mutex of
// the tag's stripe. So a note comes either before that, or after the older word is there to be found and replaced or
// removed. RestoreAt need not look for the key, as each of a snapshot's words is of another key. It knows the slot and
// not the key, so the index keeps its shape meanwhile.
//
// Thread-safe. Allocates nothing after construction, except for a refill.
class IndexSlots : public IndexBuckets {
 public:
  // A slot and a word that was seen in it; another may be there now. As a bool: whether there was a word.
  struct Entry {
    uint64_t slot = 0;
    IndexWord word;
    explicit operator bool() const { return !word.empty(); }
  };
  enum class Outcome : uint8_t { kDone, kChanged };

  // Sets the heat of the entry's record, if its slot still has it, and notes that the DRAM tier does not hold the
  // block. Returns the word as it should be. A lost race with another hit costs one count of heat.
  IndexWord Touch(Entry entry, unsigned heat) {
    const IndexWord touched = entry.word.with(/*dram=*/false, heat);
    if (touched.raw() != entry.word.raw()) {
      uint64_t expected = entry.word.raw();
      slots_[entry.slot].compare_exchange_strong(expected, touched.raw(), std::memory_order_relaxed,
                                                 std::memory_order_relaxed);
    }
    return touched;
  }
  // Sets the dram bit of a word with this tag, and returns it; the empty word if there is none. To save a read of the
  // medium it compares only the 25-bit tag: in one look-up of a million in a full index it takes another key in the
  // same two buckets for this one.
  IndexWord SetDram(const KeyHash& hash, bool dram);

  // The entry whose word points to `line`. For reclaim, which starts from the record and holds its segment.
  Entry FindLine(const KeyHash& hash, uint64_t line) const;
  // Takes one heat from the entry's record, if its slot still has it and it has any.
  void Cool(Entry entry);
  // Makes the entry's word point to `line`, where a copy of the record lies, and takes `heat_cost` of its heat.
  // kChanged: the record was replaced or erased, and the copy is wasted.
  Outcome Move(Entry entry, uint64_t line, unsigned heat_cost = 1);
  // Removes the entry's word. kChanged: the word is not as it was seen, because it was hit, replaced or erased since.
  Outcome Drop(Entry entry);
  // Removes the entry's word, whatever its heat. kChanged: the slot names another record or none, or a split moved the
  // word.
  Outcome RemoveRecord(Entry entry);
  // Removes the word of the key's record at `line`, wherever a split has put it. False: there is none.
  bool RemoveLine(const KeyHash& hash, uint64_t line);

  // Whether the index has more words than its buckets should hold, and may grow.
  bool WantsToGrow() const { return IsCrowded(counted()) && !keeps_shape_.load(std::memory_order_acquire); }

  // Grows the index to this shape, and keeps it so, whatever is published, until LetGrow, EndRefill or Clear. False:
  // this index cannot take the shape. REQUIRES: the index is empty, and nobody else uses it.
  bool TakeShape(const Shape& shape);
  void LetGrow() { keeps_shape_.store(false, std::memory_order_release); }

  // Empties every slot: all words that were published before the call are gone after it. Ends a refill.
  void Clear();

  // Starts a refill: until EndRefill any number of threads may call PublishOldest and RestoreAt. False: there was no
  // memory. REQUIRES: nobody else uses the index, and no refill goes on.
  bool StartRefill();
  enum class Refilled : uint8_t { kPublished, kPassedOver, kFull, kOver };
  // Publishes the word of a record that is older than any other of its key that was published or erased since
  // StartRefill. Does nothing if a key with this tag was published or erased, if one has a word in these buckets, or if
  // there is no room. One record in a million is passed over because another key has its tag. REQUIRES: as Publish.
  Refilled PublishOldest(const KeyHash& hash, IndexWord oldest);
  // The same for the only word of its key that an index of this shape had in `slot`. If the slot is taken, the word
  // goes into another slot of the bucket. If the medium holds another record at the word's place, reclaim, which finds
  // words by the headers of records, leaves the word behind; an operation that meets it in vain removes it. REQUIRES:
  // the index keeps the shape, and the record's segment is not reclaimed before this returns.
  Refilled RestoreAt(uint64_t slot, IndexWord oldest);
  // Ends the refill: once this has returned, PublishOldest and RestoreAt publish nothing any more.
  void EndRefill();

  // Removes every word for which `doomed(word)`, a pure function of its line. Returns how many. REQUIRES: no Split runs
  // meanwhile.
  template <typename Doomed>
  uint64_t RemoveIf(Doomed&& doomed) {
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

  Entry At(uint64_t slot) const { return {slot, IndexWord(slots_[slot].load(std::memory_order_acquire))}; }
  // The number of words; a few off while others change the index.
  uint64_t blocks() const { return static_cast<uint64_t>(std::max<int64_t>(0, counted())); }
  // The count behind blocks(). While nobody changes the index it is exact, so it is never below 0 then.
  int64_t counted() const { return blocks_.load(std::memory_order_relaxed); }

 protected:
  IndexSlots(uint64_t blocks, uint64_t hash_seed, Size size) : IndexBuckets(blocks, hash_seed, size) {}

  bool Exchange(Slot& slot, IndexWord record, IndexWord next, std::memory_order order);
  void Note(uint32_t tag) {
    if (notes_ != nullptr) [[unlikely]]
      notes_->Note(tag);
  }
  bool HasTag(const KeyHash& hash, State state) const;
  Slot* BucketAt(uint64_t slot) { return slots_ + slot / kSlotsPerBucket * kSlotsPerBucket; }
  bool Remove(Slot& slot, IndexWord record);

  std::unique_ptr<TagNotes> notes_;  // null: never refilled
  bool restored_ = false;            // words may come from a snapshot; written before anybody else uses the index
  // false --TakeShape--> true --LetGrow: release store--> false: after the last word was restored, before a Split.
  Atomic<bool> keeps_shape_{false};
  // The words that went in less those that went out, each counted after its exchange. Relaxed: it publishes nothing.
  alignas(kLineBytes) Atomic<int64_t> blocks_{0};
};

}  // namespace mezz
