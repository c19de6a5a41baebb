// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cache/base/atomic.h"
#include "cache/bucket_groups.h"
#include "cache/tag_notes.h"
#include "cache/tag_scan.h"
#include "cache/types.h"

namespace mezz {

// One word of the index: where a record lies, and its heat.
//
//   63          39 38                          3   2    1  0
//   [   tag 25   ][  line 36 (64-byte units)   ][dram][heat ]
//
// 0 is the empty word: line 0 holds the superblock, never a record.
// `dram`: the DRAM tier holds the block too, as far as the tier was told. In a segment of an earlier life, while there
// is no heat, it means that the DRAM tier held the block when that life ended.
// `heat`: hits since the record was written or last spared, 3 at most.
class IndexWord {
 public:
  static constexpr unsigned kHeatMax = 3;
  static constexpr unsigned kTagBits = TagNotes::kTagBits;
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
  // Whether both words name the same record, whatever its heat.
  constexpr bool SameRecord(IndexWord other) const { return (raw_ ^ other.raw_) < 8; }

 private:
  uint64_t raw_ = 0;
};

// What the index knows of a key: a hash for each of its two buckets, and the tag that its word carries.
struct KeyHash {
  uint64_t choice[2];
  uint32_t tag;
};

// What a RecordReader found the record of a word to be.
enum class Verdict : uint8_t { kThisKey, kAnotherKey, kDamaged };

// Reads records for the index, which knows only words. A reader stands for one key.
//   Pin     keeps the record's bytes as they are until Unpin. False: its segment holds no records any more. The word's
//           slot must show that by now, as words leave the index before their segment goes (SegmentLog).
//   Judge   REQUIRES: the record is pinned, and its word was seen in its slot after that.
template <typename T>
concept RecordReader = requires(T& reader, IndexWord word) {
  { reader.Pin(word) } -> std::same_as<bool>;
  reader.Unpin(word);
  { reader.Judge(word) } -> std::same_as<Verdict>;
};
// A reader that accepts the records of every key. Prefetch: the record's header will be read soon, if its word is still
// there.
template <typename T>
concept AnyRecordReader = RecordReader<T> && requires(T& reader, IndexWord word) {
  reader.Prefetch(word);
};

// Maps a key to the location of its record, in 8 bytes of DRAM a block. It is an array of buckets of sixteen words (two
// adjacent cache lines, which the CPU fetches together), and a key has two buckets. The index does not store keys:
// operations on a key take a RecordReader, which compares the key with the one in the record.
//
// The index owns its words: every exchange, and every retry of one, is in this class. A slot is one atomic word:
//
//   empty --Publish--> word --Publish: another record of the key-------------> word of the key's new record
//     ^                 |  \--Publish into full buckets: the coldest gives way-> word of another key (displaced)
//     |                 |  \--Move: reclaim copied the record------------------> the same with another line, less heat
//     |                 |  \--Touch, Cool, SetDram-----------------------------> the same record, other heat or dram
//     |                 |
//     +-----------------+-- Erase, Drop, RemoveRecord, Clear; Split, which moves it into a slot of the new bucket; any
//                           operation that finds a damaged record
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
// Growth (Size::kGrows). Buckets form groups. Each group gets one more bucket, one group after the other; then each
// gets the next (BucketGroups). Memory is reserved for the largest size, and taken as buckets come into use. One word
// tells how far the growth is:
//
//   state: [added 6 | splitting 1 | next group 57]
//     quiet(a, g) --Split: seq_cst--> splitting(a, g) --Split: seq_cst--> quiet(a, g + 1), after the last (a + 1, 0)
//
//   Split takes each word that must move out of its slot (CAS), one at a time, and puts it into a slot of the new
//   bucket (CAS). For some instructions the word is in no slot. So an operation that did not find a key looks at the
//   state afterwards. It answers only if the key's buckets are where it looked and neither group is being split. This
//   suffices, because a word was taken out of its slot after `splitting` was stored, and put back before the next state
//   was (all of it seq_cst). An operation that finds a key need not look.
//     Find              looks again, where the word was and where it will be, in turn. It does so a bounded number of
//                       times, without waiting, and then reports a miss.
//     Publish, Erase, RemoveLine
//                       wait for the group (Split's mutex), and begin anew. A word that Publish put into a group that
//                       was split meanwhile may be where nobody looks. It is removed first, unless Split has put it
//                       where it belongs. Until then others may find it, and after that the older record once more;
//                       all of this ends before Publish returns.
//     Clear             waits, and begins anew.
//     SetDram, FindLine answer "no". For SetDram that costs a forgotten bit. The only caller of FindLine that must not
//                       miss is reclaim, and no Split runs during one.
//     RemoveRecord, Drop, Move, Touch, Cool
//                       find another word in the slot, or none: kChanged. Walks (VisitPinned) may meet a word twice.
//
// Refill, while others use the index. A recovery publishes an earlier life's records, the youngest first, each only if
// its key has no word. That alone would bring back an older record whose key has no word any more, because it was
// erased, or was put and displaced. So during a refill every operation notes the tag (TagNotes) before it publishes a
// key, erases it, or takes a word out; PublishOldest passes noted tags over. It looks and publishes under the mutex of
// the tag's stripe. So a note comes either before that, or after the older word is there to be found and replaced or
// removed. RestoreAt need not look for the key, as each of a snapshot's words is of another key. It knows the slot and
// not the key, so the index keeps its shape meanwhile.
//
// Thread-safe. Lock-free, except for the wait above and the notes of a refill. Allocates nothing after construction,
// except for a refill. In a child made by fork() the index is empty, nothing is being split, and nothing refilled.
class Index {
 public:
  static constexpr size_t kSlotsPerBucket = tag_scan::kWords;

  // A slot and a word that was seen in it; another may be there now. As a bool: whether there was a word.
  struct Entry {
    uint64_t slot = 0;
    IndexWord word;
    explicit operator bool() const { return !word.empty(); }
  };
  enum class Published : uint8_t { kInserted, kReplaced, kDisplaced };
  enum class Outcome : uint8_t { kDone, kChanged };

  // kGrows: the index grows to up to four times as many words.
  enum class Size : uint8_t { kFixed, kGrows };

  // Has room for at least `blocks` words, at the load that two choices of a bucket reach without noticeable
  // displacement.
  Index(uint64_t blocks, uint64_t hash_seed, Size size = Size::kFixed);
  static uint64_t BytesFor(uint64_t blocks, Size size) {
    return GroupsFor(blocks, size) * MembersAtFirst(size) * kSlotsPerBucket * sizeof(Slot);
  }
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  bool ok() const { return slots_ != nullptr; }  // false: there was no memory

  KeyHash Hash(const BlockKey& key) const;
  void Prefetch(const KeyHash& hash) const {
    const State state = LoadState(std::memory_order_relaxed);
    for (unsigned choice = 0; choice < 2; ++choice) {
      __builtin_prefetch(Bucket(hash, choice, state));
      __builtin_prefetch(Bucket(hash, choice, state) + kSlotsPerBucket / 2);
    }
  }

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
  bool WantsToGrow() const;
  // Splits one group. Returns how many words found no room in the new bucket, and are gone. `reader` accepts records of
  // every key; `key_of(word)` is the key of a pinned one. REQUIRES: WantsToGrow() was true; one thread at a time
  // splits, and none calls FindLine, Move, Drop or Cool meanwhile.
  template <AnyRecordReader Reader, typename KeyOf>
  unsigned Split(Reader& reader, KeyOf&& key_of);

  // The numbers of groups and buckets. The words of an index fit, slot by slot, into another one of the same shape and
  // hash seed.
  struct Shape {
    uint64_t groups = 0, members = 0, growth = 0;
  };
  Shape shape() const { return {groups_, members_, LoadState(std::memory_order_acquire).raw}; }
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
  // Removes every word for which `doomed(word)`, a pure function of its line. Returns how many.
  template <typename Doomed>
  uint64_t RemoveIf(Doomed&& doomed);

  uint64_t slots() const { return BucketsIn(LoadState(std::memory_order_acquire)) * kSlotsPerBucket; }
  Entry At(uint64_t slot) const { return {slot, IndexWord(slots_[slot].load(std::memory_order_acquire))}; }
  // Calls visit(word) for the word of `slot` if it has one, while its record is pinned and current.
  template <RecordReader Reader, typename Visit>
  void VisitPinned(uint64_t slot, Reader& reader, Visit&& visit);

  uint64_t blocks() const;  // the number of words; a few off while others change the index
  // The count behind blocks(). While nobody changes the index it is exact, so it is never below 0 then.
  int64_t counted() const { return blocks_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return slots() * sizeof(Slot); }

 private:
  using Slot = Atomic<uint64_t>;

  static constexpr unsigned MembersAtFirst(Size size) { return size == Size::kGrows ? BucketGroups::kMembersMin : 1; }
  static uint64_t GroupsFor(uint64_t blocks, Size size);
  // How far the growth has come: see above.
  struct State {
    static constexpr unsigned kAddedShift = 58;
    static constexpr uint64_t kSplitting = uint64_t{1} << 57;
    uint64_t raw = 0;
    unsigned added() const { return static_cast<unsigned>(raw >> kAddedShift); }
    bool splitting() const { return (raw & kSplitting) != 0; }
    uint64_t next() const { return raw & (kSplitting - 1); }
  };
  State LoadState(std::memory_order order) const { return growth_ == nullptr ? State{} : State{growth_->load(order)}; }
  uint64_t BucketsIn(State state) const {
    return groups_ * (members_ + state.added()) + state.next() + (state.splitting() ? 1 : 0);
  }
  // The state that ends this split.
  State After(State splitting) const {
    assert(splitting.splitting());
    const bool last = splitting.next() + 1 == groups_;
    return State{last ? uint64_t{splitting.added() + 1} << State::kAddedShift
                      : (splitting.raw & ~State::kSplitting) + 1};
  }
  // Maps a uniform 64-bit hash to a group without a division (Lemire, "Fast random integer generation in an interval").
  // The bits above the tag choose the member.
  uint64_t GroupOf(uint64_t choice) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(choice) * groups_ >> 64);
  }
  uint64_t NumberOfBucket(uint64_t choice, State state) const {
    const uint64_t group = GroupOf(choice);
    if (growth_ == nullptr) return group;
    const unsigned members = members_ + state.added() + (group < state.next() ? 1 : 0);
    return group + groups_ * BucketGroups::MemberOf(choice >> IndexWord::kTagBits, members);
  }
  Slot* Bucket(const KeyHash& hash, unsigned choice, State state) const {
    return slots_ + NumberOfBucket(hash.choice[choice], state) * kSlotsPerBucket;
  }
  bool InSplit(const KeyHash& hash, State state) const;
  // Whether a look-up in the buckets of the state `then` must be repeated, because the state is `now`.
  bool Moved(const KeyHash& hash, State then, State now) const;
  State StateToChange(const KeyHash& hash);
  static bool PutInSplit(Slot* to, IndexWord word);
  void AdviseHugePages(State before, State after);
  uint64_t NumberOf(const Slot& slot) const { return static_cast<uint64_t>(&slot - slots_); }
  // Calls visit(slot, word) for each word of this tag, loaded with `order`, until it returns true. Returns whether it
  // did.
  template <typename Visit>
  bool VisitTag(const KeyHash& hash, State state, std::memory_order order, Visit&& visit) const;
  template <RecordReader Reader, typename Goes>
  unsigned SplitSlot(Slot& slot, Slot* to, Reader& reader, Goes&& goes);
  template <RecordReader Reader>
  Entry FindIn(const KeyHash& hash, State state, Reader& reader);
  template <RecordReader Reader, typename OnRemoved>
  bool EraseIn(const KeyHash& hash, State state, const Slot* but, Reader& reader, OnRemoved&& on_removed);
  // The word of `slot`, pinned, if it is of the reader's key, else the empty word. Removes a word whose record is
  // damaged. `word` was seen in the slot.
  template <RecordReader Reader>
  IndexWord PinIfOfKey(Slot& slot, IndexWord word, Reader& reader);
  bool Exchange(Slot& slot, IndexWord record, IndexWord next, std::memory_order order);
  void Note(uint32_t tag) {
    if (notes_ != nullptr) [[unlikely]]
      notes_->Note(tag);
  }
  bool HasTag(const KeyHash& hash, State state) const;
  bool Remove(Slot& slot, IndexWord record);
  template <RecordReader Reader>
  Slot* Replace(const KeyHash& hash, State state, IndexWord fresh, Reader& reader);
  template <typename Age>
  Slot* Insert(const KeyHash& hash, State state, IndexWord fresh, Age&& age, bool* displaced);
  template <typename Age>
  Slot* Coldest(const KeyHash& hash, State state, Age&& age, IndexWord* word) const;
  Slot* EmptySlot(const KeyHash& hash, State state) const;

  const uint64_t hash_seed_;
  const unsigned members_;  // the buckets of a group at first
  const uint64_t groups_;
  uint64_t mapped_bytes_ = 0;
  void* memory_ = nullptr;           // a mapping of its own, with huge pages where the kernel gives them
  Slot* slots_ = nullptr;            // in memory_
  Slot* growth_ = nullptr;           // State; in memory_, so that a forked child has it wiped; null: it does not grow
  mutable Mutex split_mutex_;        // held by Split, and by PublishOldest, so that no Split runs meanwhile
  std::unique_ptr<TagNotes> notes_;  // null: never refilled
  bool restored_ = false;            // words may come from a snapshot; written before anybody else uses the index
  // false --TakeShape--> true --LetGrow: release store--> false: after the last word was restored, before a Split.
  Atomic<bool> keeps_shape_{false};
  // The words that went in less those that went out, each counted after its exchange. Relaxed: it publishes nothing.
  alignas(kLineBytes) Atomic<int64_t> blocks_{0};
};

}  // namespace mezz

#include "cache/index_inl.h"  // the templates
