// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "cache/base/atomic.h"
#include "cache/bucket_groups.h"
#include "cache/index_word.h"
#include "cache/tag_scan.h"
#include "cache/types.h"

namespace mezz {

// The memory of an index, and where a key's words may lie in it. It is an array of buckets of sixteen words (two
// adjacent cache lines, which the CPU fetches together), and a key has two buckets.
//
// Growth (Size::kGrows). Buckets form groups. Each group gets one more bucket, one group after the other; then each
// gets the next (BucketGroups). Memory is reserved for the largest size, and taken as buckets come into use. One word
// tells how far the growth is:
//
//   state: [added 6 | splitting 1 | next group 57]
//     quiet(a, g) --Split: seq_cst--> splitting(a, g) --Split: seq_cst--> quiet(a, g + 1), after the last (a + 1, 0)
//
// Thread-safe. Allocates nothing after construction. In a child made by fork() it is empty, and nothing is being split.
class IndexBuckets {
 public:
  static constexpr size_t kSlotsPerBucket = tag_scan::kWords;

  // kGrows: the index grows to up to four times as many words.
  enum class Size : uint8_t { kFixed, kGrows };

  static uint64_t BytesFor(uint64_t blocks, Size size) {
    return GroupsFor(blocks, size) * MembersAtFirst(size) * kSlotsPerBucket * sizeof(Slot);
  }
  IndexBuckets(const IndexBuckets&) = delete;
  IndexBuckets& operator=(const IndexBuckets&) = delete;

  bool ok() const { return slots_ != nullptr; }  // false: there was no memory

  KeyHash Hash(const BlockKey& key) const;
  void Prefetch(const KeyHash& hash) const {
    const State state = LoadState(std::memory_order_relaxed);
    for (unsigned choice = 0; choice < 2; ++choice) {
      __builtin_prefetch(Bucket(hash, choice, state));
      __builtin_prefetch(Bucket(hash, choice, state) + kSlotsPerBucket / 2);
    }
  }
  uint64_t slots() const { return BucketsIn(LoadState(std::memory_order_acquire)) * kSlotsPerBucket; }
  uint64_t bytes() const { return slots() * sizeof(Slot); }

  // The numbers of groups and buckets. The words of an index fit, slot by slot, into another one of the same shape and
  // hash seed.
  struct Shape {
    uint64_t groups = 0, members = 0, growth = 0;
  };
  Shape shape() const { return {groups_, members_, LoadState(std::memory_order_acquire).raw}; }

 protected:
  using Slot = Atomic<uint64_t>;
  struct State {
    static constexpr unsigned kAddedShift = 58;
    static constexpr uint64_t kSplitting = uint64_t{1} << 57;
    uint64_t raw = 0;
    unsigned added() const { return static_cast<unsigned>(raw >> kAddedShift); }
    bool splitting() const { return (raw & kSplitting) != 0; }
    uint64_t next() const { return raw & (kSplitting - 1); }
  };

  // Has room for at least `blocks` words, at the load that two choices of a bucket reach without noticeable
  // displacement.
  IndexBuckets(uint64_t blocks, uint64_t hash_seed, Size size);
  ~IndexBuckets();

  static constexpr unsigned MembersAtFirst(Size size) { return size == Size::kGrows ? BucketGroups::kMembersMin : 1; }
  static uint64_t GroupsFor(uint64_t blocks, Size size);
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
  // Whether a bucket of the key is being split.
  bool InSplit(const KeyHash& hash, State state) const;
  // Whether a look-up in the buckets of the state `then` must be repeated, because the state is `now`.
  bool Moved(const KeyHash& hash, State then, State now) const;
  // Waits for a state in which no bucket of the key is being split. A split may begin right after it.
  State StateToChange(const KeyHash& hash);
  void AdviseHugePages(State before, State after);
  uint64_t NumberOf(const Slot& slot) const { return static_cast<uint64_t>(&slot - slots_); }
  // Calls visit(slot, word) for each word of this tag, loaded with `order`, until it returns true. Returns whether it
  // did.
  template <typename Visit>
  bool VisitTag(const KeyHash& hash, State state, std::memory_order order, Visit&& visit) const {
    for (unsigned choice = 0; choice < 2; ++choice) {
      Slot* bucket = Bucket(hash, choice, state);
      for (size_t i = 0; i < kSlotsPerBucket; ++i) {
        const IndexWord word(bucket[i].load(order));
        if (word.tag() == hash.tag && !word.empty() && visit(bucket[i], word)) return true;
      }
      if (bucket == Bucket(hash, 1, state)) break;
    }
    return false;
  }
  // An empty slot of the emptier bucket; null: there is none.
  Slot* EmptySlot(const KeyHash& hash, State state) const;
  // Whether the buckets should hold fewer than `words`, and may become more.
  bool IsCrowded(int64_t words) const;
  // IndexSlots::TakeShape, of empty buckets.
  bool TakeShape(const Shape& shape);

  const uint64_t hash_seed_;
  const unsigned members_;  // the buckets of a group at first
  const uint64_t groups_;
  uint64_t mapped_bytes_ = 0;
  void* memory_ = nullptr;     // a mapping of its own, with huge pages where the kernel gives them
  Slot* slots_ = nullptr;      // in memory_
  Slot* growth_ = nullptr;     // State; in memory_, so that a forked child has it wiped; null: it does not grow
  mutable Mutex split_mutex_;  // held by Split, and by PublishOldest, so that no Split runs meanwhile
};

}  // namespace mezz
