// SPDX-License-Identifier: Apache-2.0
#include "cache/index.h"

#include <sys/mman.h>

#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mezz {
namespace {

// The words per slot up to which inserting into the emptier of two buckets of sixteen displaces less than 1 % of the
// words, under random churn too (tests/unit/cache/index_test.cc). Two buckets of eight would displace 7 % there, and
// three 2 %.
constexpr double kLoadMax = 0.86;

constexpr uint64_t kHugePageBytes = 2 << 20;

// The words per slot above which a growing index grows. It is less than kLoadMax, as groups that are not split yet take
// a larger share.
constexpr double kGrowAbove = 0.81;

}  // namespace

uint64_t Index::GroupsFor(uint64_t blocks, Size size) {
  const uint64_t buckets = static_cast<uint64_t>(static_cast<double>(blocks) / kLoadMax) / kSlotsPerBucket + 1;
  return (buckets + MembersAtFirst(size) - 1) / MembersAtFirst(size);
}

Index::Index(uint64_t blocks, uint64_t hash_seed, Size size)
    : hash_seed_(hash_seed), members_(MembersAtFirst(size)), groups_(GroupsFor(blocks, size)) {
  constexpr uint64_t kBucketBytes = kSlotsPerBucket * sizeof(Slot);
  const bool grows = size == Size::kGrows;
  const uint64_t bytes_max = (grows ? groups_ * BucketGroups::kMembersMax + 1 : groups_) * kBucketBytes;
  mapped_bytes_ = bytes_max < kHugePageBytes ? bytes_max : RoundUp(bytes_max, kHugePageBytes);
  const int reserve = grows ? MAP_NORESERVE : 0;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, mapped_bytes_, grows ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);  // a wish: fewer TLB misses at hits
  // A child shares the medium but not the parent's later changes of it: it must find nothing
  // (docs/reference/limitations.md).
  madvise(memory, mapped_bytes_, MADV_WIPEONFORK);
  memory_ = memory;
  slots_ = static_cast<Slot*>(memory);  // zero pages are empty words, and the first state
  if (!grows) return;
  growth_ = slots_;
  slots_ += kSlotsPerBucket;
  AdviseHugePages(State{}, State{});
}

// Asks for huge pages, where a whole one is in use. One that is partly unused would take up to 2 MiB without words,
// which is several times the index of a small tier. The kernel need not comply.
void Index::AdviseHugePages(State before, State after) {
  const auto memory = reinterpret_cast<uintptr_t>(memory_);
  const auto end = [&](State state) {
    return reinterpret_cast<uintptr_t>(slots_ + BucketsIn(state) * kSlotsPerBucket) / kHugePageBytes * kHugePageBytes;
  };
  const bool first = after.raw == 0;
  const uintptr_t from = first ? RoundUp(memory, kHugePageBytes) : end(before);
  if (end(after) > from && from >= memory)
    madvise(static_cast<char*>(memory_) + (from - memory), end(after) - from, MADV_HUGEPAGE);
}

Index::~Index() {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
}

KeyHash Index::Hash(const BlockKey& key) const {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.words, BlockKey::kBytes, hash_seed_);
  return {{hash.low64, hash.high64}, static_cast<uint32_t>(hash.low64 & ((1u << IndexWord::kTagBits) - 1))};
}

bool Index::InSplit(const KeyHash& hash, State state) const {
  if (!state.splitting()) return false;
  return GroupOf(hash.choice[0]) == state.next() || GroupOf(hash.choice[1]) == state.next();
}

bool Index::Moved(const KeyHash& hash, State then, State now) const {
  if (then.raw == now.raw && !now.splitting()) return false;
  if (InSplit(hash, now)) return true;
  return NumberOfBucket(hash.choice[0], then) != NumberOfBucket(hash.choice[0], now) ||
         NumberOfBucket(hash.choice[1], then) != NumberOfBucket(hash.choice[1], now);
}

// Waits for a state in which no group of the key is being split. A split may begin right after it.
Index::State Index::StateToChange(const KeyHash& hash) {
  for (;;) {
    const State state = LoadState(std::memory_order_seq_cst);
    if (!InSplit(hash, state)) return state;
    const std::lock_guard split_is_over(split_mutex_);
  }
}

bool Index::WantsToGrow() const {
  const State state = LoadState(std::memory_order_relaxed);
  if (growth_ == nullptr || members_ + state.added() == BucketGroups::kMembersMax) return false;
  if (keeps_shape_.load(std::memory_order_acquire)) return false;
  const auto slots = static_cast<double>(BucketsIn(state) * kSlotsPerBucket);
  return static_cast<double>(counted()) > (state.raw == 0 ? kLoadMax : kGrowAbove) * slots;
}

// Puts a word into a slot of the new bucket, which nobody else writes to before the split is over.
bool Index::PutInSplit(Slot* to, IndexWord word) {
  for (size_t i = 0; i < kSlotsPerBucket; ++i) {
    uint64_t expected = 0;
    if (to[i].compare_exchange_strong(expected, word.raw(), std::memory_order_seq_cst, std::memory_order_relaxed))
      return true;
  }
  return false;
}

// Replaces the slot's word by `next`, if it names `record`, whatever its heat. True: it did.
bool Index::Exchange(Slot& slot, IndexWord record, IndexWord next, std::memory_order order) {
  uint64_t expected = record.raw();
  while (IndexWord(expected).SameRecord(record)) {
    if (slot.compare_exchange_weak(expected, next.raw(), order, std::memory_order_acquire)) return true;
  }
  return false;
}

bool Index::Remove(Slot& slot, IndexWord record) {
  assert(!record.empty());
  Note(record.tag());
  if (!Exchange(slot, record, IndexWord(), std::memory_order_seq_cst)) return false;
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

IndexWord Index::SetDram(const KeyHash& hash, bool dram) {
  IndexWord set;
  VisitTag(hash, LoadState(std::memory_order_acquire), std::memory_order_acquire, [&](Slot& slot, IndexWord word) {
    uint64_t expected = word.raw();
    while (!word.empty() && word.tag() == hash.tag) {
      const IndexWord changed = word.with(dram, word.heat());
      if (slot.compare_exchange_weak(expected, changed.raw(), std::memory_order_relaxed, std::memory_order_relaxed)) {
        set = changed;
        return true;
      }
      word = IndexWord(expected);
    }
    return false;
  });
  return set;
}

Index::Entry Index::FindLine(const KeyHash& hash, uint64_t line) const {
  Entry found;
  VisitTag(hash, LoadState(std::memory_order_acquire), std::memory_order_acquire, [&](Slot& slot, IndexWord word) {
    if (word.line() == line) found = {NumberOf(slot), word};
    return word.line() == line;
  });
  return found;
}

void Index::Cool(Entry entry) {
  IndexWord seen = entry.word;
  while (seen.SameRecord(entry.word) && seen.heat() > 0) {
    uint64_t expected = seen.raw();
    const IndexWord cooled = seen.with(seen.dram(), seen.heat() - 1);
    assert(!cooled.empty());
    if (slots_[entry.slot].compare_exchange_weak(expected, cooled.raw(), std::memory_order_relaxed,
                                                 std::memory_order_relaxed))
      return;
    seen = IndexWord(expected);
  }
}

Index::Outcome Index::Move(Entry entry, uint64_t line, unsigned heat_cost) {
  Slot& slot = slots_[entry.slot];
  IndexWord seen = entry.word;
  while (seen.SameRecord(entry.word)) {
    uint64_t expected = seen.raw();
    const unsigned heat = seen.heat() - std::min(seen.heat(), heat_cost);
    const IndexWord moved = IndexWord::Make(seen.tag(), line, seen.dram(), heat);
    if (slot.compare_exchange_weak(expected, moved.raw(), std::memory_order_seq_cst, std::memory_order_acquire))
      return Outcome::kDone;
    seen = IndexWord(expected);
  }
  return Outcome::kChanged;
}

Index::Outcome Index::Drop(Entry entry) {
  Note(entry.word.tag());
  uint64_t expected = entry.word.raw();
  if (!slots_[entry.slot].compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed))
    return Outcome::kChanged;
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return Outcome::kDone;
}

Index::Outcome Index::RemoveRecord(Entry entry) {
  return Remove(slots_[entry.slot], entry.word) ? Outcome::kDone : Outcome::kChanged;
}

bool Index::RemoveLine(const KeyHash& hash, uint64_t line) {
  for (;;) {
    const State state = StateToChange(hash);
    const bool removed = VisitTag(hash, state, std::memory_order_seq_cst, [&](Slot& slot, IndexWord word) {
      return word.line() == line && Remove(slot, word);
    });
    if (removed || growth_ == nullptr || !Moved(hash, state, LoadState(std::memory_order_seq_cst))) return removed;
  }
}

bool Index::TakeShape(const Shape& shape) {
  assert(counted() == 0);
  if (shape.groups != groups_ || shape.members != members_) return false;
  const State state{shape.growth};
  const unsigned most = growth_ != nullptr ? BucketGroups::kMembersMax - members_ : 0;
  if (state.splitting() || state.next() >= groups_ || state.added() + (state.next() != 0 ? 1u : 0u) > most)
    return false;
  if (growth_ != nullptr) growth_->store(state.raw, std::memory_order_release);
  if (state.raw != 0) AdviseHugePages(State{}, state);
  restored_ = true;
  keeps_shape_.store(true, std::memory_order_release);
  return true;
}

void Index::Clear() {
  EndRefill();
  for (;;) {
    const State then = LoadState(std::memory_order_seq_cst);
    for (uint64_t i = 0; i < BucketsIn(then) * kSlotsPerBucket; ++i) {
      if (slots_[i].load(std::memory_order_seq_cst) == 0) continue;
      if (slots_[i].exchange(0, std::memory_order_seq_cst) != 0) blocks_.fetch_sub(1, std::memory_order_relaxed);
    }
    const State now = LoadState(std::memory_order_seq_cst);
    if (now.raw == then.raw && !now.splitting()) return;
    if (now.splitting()) const std::lock_guard split_is_over(split_mutex_);
  }
}

bool Index::StartRefill() {
  assert(notes_ == nullptr || !notes_->is_open());
  notes_ = std::make_unique<TagNotes>();
  if (!notes_->ok()) notes_.reset();
  return notes_ != nullptr;
}

void Index::EndRefill() {
  if (notes_ != nullptr) notes_->Close();
  LetGrow();
}

// Whether a word has this tag. A thread that takes the last such word out of its slot has noted the tag before, or it
// splits.
bool Index::HasTag(const KeyHash& hash, State state) const {
  return VisitTag(hash, state, std::memory_order_seq_cst, [](Slot&, IndexWord) { return true; });
}

Index::Refilled Index::PublishOldest(const KeyHash& hash, IndexWord oldest) {
  assert(notes_ != nullptr && !oldest.empty() && oldest.tag() == hash.tag);
  const std::unique_lock no_split = growth_ != nullptr ? std::unique_lock(split_mutex_) : std::unique_lock<Mutex>();
  Refilled refilled = Refilled::kPassedOver;
  const auto publish = [&] {
    const State state = LoadState(std::memory_order_relaxed);
    assert(!state.splitting());
    if (HasTag(hash, state)) return;
    refilled = Refilled::kFull;
    while (Slot* const empty = EmptySlot(hash, state)) {
      uint64_t expected = 0;
      if (!empty->compare_exchange_strong(expected, oldest.raw(), std::memory_order_seq_cst, std::memory_order_relaxed))
        continue;
      blocks_.fetch_add(1, std::memory_order_relaxed);
      refilled = Refilled::kPublished;
      return;
    }
  };
  return notes_->IfUnnoted(hash.tag, publish) == TagNotes::Seen::kClosed ? Refilled::kOver : refilled;
}

Index::Refilled Index::RestoreAt(uint64_t slot, IndexWord oldest) {
  assert(notes_ != nullptr && slot < slots() && !oldest.empty());
  Slot* const bucket = slots_ + slot / kSlotsPerBucket * kSlotsPerBucket;
  bool has_room = false;
  const auto restore = [&] {
    for (size_t i = 0; i < kSlotsPerBucket && !has_room; ++i) {
      uint64_t expected = 0;
      has_room = bucket[(slot + i) % kSlotsPerBucket].compare_exchange_strong(
          expected, oldest.raw(), std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    if (has_room) blocks_.fetch_add(1, std::memory_order_relaxed);
  };
  switch (notes_->IfUnnoted(oldest.tag(), restore)) {
    case TagNotes::Seen::kClosed:
      return Refilled::kOver;
    case TagNotes::Seen::kNoted:
      return Refilled::kPassedOver;
    case TagNotes::Seen::kUnnoted:
      break;
  }
  return has_room ? Refilled::kPublished : Refilled::kFull;
}

uint64_t Index::blocks() const { return static_cast<uint64_t>(std::max<int64_t>(0, counted())); }

Index::Slot* Index::EmptySlot(const KeyHash& hash, State state) const {
  Slot* first_empty[2] = {nullptr, nullptr};
  unsigned empties[2] = {0, 0};
  for (unsigned choice = 0; choice < 2; ++choice) {
    Slot* bucket = Bucket(hash, choice, state);
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      if (bucket[i].load(std::memory_order_relaxed) != 0) continue;
      if (empties[choice]++ == 0) first_empty[choice] = &bucket[i];
    }
  }
  return first_empty[empties[1] > empties[0] ? 1 : 0];
}

}  // namespace mezz
