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

// One index word: where a record lies and how it fares.
//
//   63          39 38                          3   2    1  0
//   [   tag 25   ][  line 36 (64-byte units)   ][dram][heat ]
//
// 0 is the empty word: line 0 holds the superblock, never a record. `dram`: the DRAM tier holds the block too, as far
// as we were told; in a segment of an earlier life, as long as there is no heat: held it when that life ended. `heat`:
// hits since the record was written or last spared, saturating at 3.
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
  // The same record, whatever its heat.
  constexpr bool SameRecord(IndexWord other) const { return (raw_ ^ other.raw_) < 8; }

 private:
  uint64_t raw_ = 0;
};

// What the index knows a key by: of each of its two choices of a bucket all bits, and the tag its word carries.
struct KeyHash {
  uint64_t choice[2];
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
// One that takes the records of every key; Prefetch: its header will be read soon, if the word still stands then.
template <typename T>
concept AnyRecordReader = RecordReader<T> && requires(T& reader, IndexWord word) {
  reader.Prefetch(word);
};

// Key -> location of its record in 8 bytes of DRAM a block: an array of buckets of sixteen words (two adjacent cache
// lines, which the CPU fetches together), two buckets a key. The index alone never knows a key: operations that
// are about a key are given a RecordReader, which compares it in the record.
//
// The index owns its words: every exchange, and every retry of one, is in this class. A slot is one atomic word:
//
//   empty --Publish--> word --Publish: another record of the key-------------> word of the key's new record
//     ^                 |  \--Publish into full buckets: the coldest gives way-> word of another key (displaced)
//     |                 |  \--Move: reclaim copied the record------------------> the same with another line, less heat
//     |                 |  \--Touch, Cool, SetDram-----------------------------> the same record, other heat or dram
//     |                 |
//     +-----------------+-- Erase, Drop, RemoveRecord, Clear; Split, into a slot of the new bucket; any operation that
//                           finds a damaged record
//
// Order. Publish and Move exchange with release, after the record was drained to the medium: who loads a word with
// acquire and pins its segment sees the record. Publish and its scan for a second word of the key, Erase and Clear are
// seq_cst: of two threads that publish one key in two slots at least one sees the other's word. Touch, Cool and SetDram
// publish nothing: relaxed.
//
// "It changed meanwhile" is never "no". But for Split, a word never moves between slots, so what an operation looks for
// stays in the slot where it was seen or is gone; an operation that finds a slot changed under it reads that slot
// again, until it has an answer for one value of it. That ends: each round means that another thread finished an
// operation there. Only Drop reports the change (kChanged) instead, because its caller must judge anew.
//
// Growth, where it was asked for: buckets form groups, which get one bucket more each, one group after the other, and
// then the next (BucketGroups). Memory is reserved for the most, and taken as buckets come into use. One word says how
// far that is:
//
//   state: [added 6 | splitting 1 | next group 57]
//     quiet(a, g) --Split: seq_cst--> splitting(a, g) --Split: seq_cst--> quiet(a, g + 1), after the last (a + 1, 0)
//
//   Split takes each word of the group that goes, one at a time, out of its slot (CAS) and puts it into one of the new
//   bucket (CAS). Meanwhile, some instructions long, the word is in no slot. So whoever did not find a key looks at the
//   state afterwards, and answers only if the key's buckets are where he looked, and neither group is being split: a
//   word out of its slot was taken after `splitting` was stored, and put back before the next state was (all of it
//   seq_cst). Who finds a key asks no more.
//     Find              looks again: where the word was, where it will be, in turn. A bounded number of times, without
//                       waiting: then it is a miss.
//     Publish, Erase, RemoveLine
//                       wait for the group (Split's mutex), and begin anew. A word that Publish put into a group that
//                       was split meanwhile may be where nobody looks: it is removed first, unless Split has put it
//                       where it belongs. Until then others may find it, and after it the older record once more:
//                       all of that before Publish returns.
//     Clear             waits, and begins anew.
//     SetDram, FindLine answer "no": a forgotten bit. FindLine's only caller that must not miss is reclaim, which Split
//                       excludes.
//     RemoveRecord, Drop, Move, Touch, Cool
//                       find another word in the slot, or none: kChanged. The walks (VisitPinned) may meet a word
//                       twice.
//
// Refilling, while others use it: who recovers an earlier life's records publishes the youngest first, each only where
// its key has no word. That would bring an older record back whose key has no word any more, because it was erased, or
// put and displaced. So as long as a refill goes on, every operation notes the tag (TagNotes) before it publishes a
// key, erases it, or takes a word out; PublishOldest passes noted tags over. It looks, and publishes, under the mutex
// of the tag's stripe, so a note comes either before, or after the older word is there to be found and replaced or
// removed. RestoreAt need not look: of a snapshot's words each is of another key. It knows the slot, not the key, so
// the index keeps its shape meanwhile.
//
// Thread-safe; lock-free but for the wait above, and the notes of a refill; allocates nothing after construction but
// for a refill. In a child made by fork() the index is empty, nothing is being split, and nothing refilled.
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

  // kGrows: to four times as many words.
  enum class Size : uint8_t { kFixed, kGrows };

  // Room for at least `blocks` words at the load two choices reach without displacing noticeably.
  Index(uint64_t blocks, uint64_t hash_seed, Size size = Size::kFixed);
  static uint64_t BytesFor(uint64_t blocks, Size size) {
    return GroupsFor(blocks, size) * MembersAtFirst(size) * kSlotsPerBucket * sizeof(Slot);
  }
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  bool ok() const { return slots_ != nullptr; }  // false: the memory was not to be had

  KeyHash Hash(const BlockKey& key) const;
  void Prefetch(const KeyHash& hash) const {
    const State state = LoadState(std::memory_order_relaxed);
    for (unsigned choice = 0; choice < 2; ++choice) {
      __builtin_prefetch(Bucket(hash, choice, state));
      __builtin_prefetch(Bucket(hash, choice, state) + kSlotsPerBucket / 2);
    }
  }

  // The reader's key, with the pin of its record, which is the caller's now. False: no word of the key stayed in the
  // index throughout the call; or a bucket of the key was split for so long that it was not waited for.
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
  IndexWord Touch(Entry entry, unsigned heat) {
    const IndexWord touched = entry.word.with(/*dram=*/false, heat);
    if (touched.raw() != entry.word.raw()) {
      uint64_t expected = entry.word.raw();
      slots_[entry.slot].compare_exchange_strong(expected, touched.raw(), std::memory_order_relaxed,
                                                 std::memory_order_relaxed);
    }
    return touched;
  }
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
  // Removes the entry's word, whatever its heat. kChanged: it names another record, or none, or a split took it along.
  Outcome RemoveRecord(Entry entry);
  // Removes the word of the key's record at `line`, wherever a split has put it. False: there is none.
  bool RemoveLine(const KeyHash& hash, uint64_t line);

  // There are more words than its buckets should hold, and it may grow.
  bool WantsToGrow() const;
  // Splits one group. Returns how many words found no room in the new bucket, and are gone. `reader` takes records of
  // every key, `key_of(word)` is the key of a pinned one. One thread at a time, and none that calls FindLine, Move,
  // Drop or Cool meanwhile. REQUIRES: WantsToGrow() said so.
  template <AnyRecordReader Reader, typename KeyOf>
  unsigned Split(Reader& reader, KeyOf&& key_of);

  // Which buckets there are: the words of an index fit, slot by slot, into another of its shape and hash seed.
  struct Shape {
    uint64_t groups = 0, members = 0, growth = 0;
  };
  Shape shape() const { return {groups_, members_, LoadState(std::memory_order_acquire).raw}; }
  // Takes the shape, as far as it is one of growth, and keeps it, whatever is published, until LetGrow, EndRefill or
  // Clear; false: it cannot. REQUIRES: nobody else uses the index, which is empty.
  bool TakeShape(const Shape& shape);
  void LetGrow() { keeps_shape_.store(false, std::memory_order_release); }

  // Empties every slot: what was published before the call is gone after it. Ends a refill.
  void Clear();

  // From now until EndRefill, PublishOldest and RestoreAt may be called, by any number of threads. REQUIRES: nobody
  // else uses the index, and no refill goes on. False: no memory.
  bool StartRefill();
  enum class Refilled : uint8_t { kPublished, kPassedOver, kFull, kOver };
  // Publishes the word of a record that is older than any other of its key that was published or erased since
  // StartRefill: where a key with this tag was, or has a word in these buckets (one record in a million is passed over
  // for a stranger's sake), or where there is no room, nothing is done. REQUIRES: as Publish.
  Refilled PublishOldest(const KeyHash& hash, IndexWord oldest);
  // The same for the word that an index of this shape had in `slot`, of a key whose only one it was; in another slot of
  // the bucket where this one is taken. Reclaim finds words by the records' headers: where another record stands than
  // the one that the word is of, it leaves the word behind, and who comes upon that in vain removes it. REQUIRES: the
  // index keeps the shape; the record's segment is not reclaimed before this returns.
  Refilled RestoreAt(uint64_t slot, IndexWord oldest);
  // Once it has returned, nothing is published by PublishOldest or RestoreAt any more.
  void EndRefill();
  // Removes every word for which `doomed(word)`, a pure function of its line. Returns how many.
  template <typename Doomed>
  uint64_t RemoveIf(Doomed&& doomed);

  uint64_t slots() const { return BucketsIn(LoadState(std::memory_order_acquire)) * kSlotsPerBucket; }
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

  static constexpr unsigned MembersAtFirst(Size size) { return size == Size::kGrows ? BucketGroups::kMembersMin : 1; }
  static uint64_t GroupsFor(uint64_t blocks, Size size);
  // How far growth has come: see above.
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
  // Maps a uniform 64-bit hash onto the groups without a division (Lemire, "Fast random integer generation in an
  // interval"). The bits above the tag choose the member.
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
  // What was looked up in the buckets of `then` must be looked up anew.
  bool Moved(const KeyHash& hash, State then, State now) const;
  State StateToChange(const KeyHash& hash);
  static bool PutInSplit(Slot* to, IndexWord word);
  void AdviseHugePages(State before, State after);
  uint64_t NumberOf(const Slot& slot) const { return static_cast<uint64_t>(&slot - slots_); }
  // Calls visit(slot, word) for each word of this tag, loaded with `order`, until it returns true; returns that.
  template <typename Visit>
  bool VisitTag(const KeyHash& hash, State state, std::memory_order order, Visit&& visit) const;
  template <RecordReader Reader, typename Goes>
  unsigned SplitSlot(Slot& slot, Slot* to, Reader& reader, Goes&& goes);
  template <RecordReader Reader>
  Entry FindIn(const KeyHash& hash, State state, Reader& reader);
  template <RecordReader Reader, typename OnRemoved>
  bool EraseIn(const KeyHash& hash, State state, const Slot* but, Reader& reader, OnRemoved&& on_removed);
  // The word of `slot`, pinned, if it is of the reader's key, else the empty word; `word` was seen there. Removes it if
  // it is damaged.
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
  const unsigned members_;  // of a group, at first
  const uint64_t groups_;
  uint64_t mapped_bytes_ = 0;
  void* memory_ = nullptr;           // own mapping, huge pages where the kernel gives them
  Slot* slots_ = nullptr;            // in it
  Slot* growth_ = nullptr;           // State, in it too, so that it is wiped in a child; null: it does not grow
  mutable Mutex split_mutex_;        // held over a Split; by PublishOldest, so that none is under way
  std::unique_ptr<TagNotes> notes_;  // null: never refilled
  bool restored_ = false;            // words may be, from a snapshot; written before anybody else uses the index
  // false --TakeShape--> true --LetGrow: release store--> false: after the last word was restored, before a Split.
  Atomic<bool> keeps_shape_{false};
  // Words that went in less words that went out, each counted after its exchange. Relaxed: publishes nothing.
  alignas(kLineBytes) Atomic<int64_t> blocks_{0};
};

}  // namespace mezz

#include "cache/index_inl.h"  // the templates
