// SPDX-License-Identifier: Apache-2.0
#include "cache/index_slots.h"

#include <algorithm>
#include <cassert>
#include <mutex>

namespace mezz {

// Replaces the slot's word by `next`, if it names `record`, whatever its heat. True: it did.
bool IndexSlots::Exchange(Slot& slot, IndexWord record, IndexWord next, std::memory_order order) {
  uint64_t expected = record.raw();
  while (IndexWord(expected).SameRecord(record)) {
    if (slot.compare_exchange_weak(expected, next.raw(), order, std::memory_order_acquire)) return true;
  }
  return false;
}

bool IndexSlots::Remove(Slot& slot, IndexWord record) {
  assert(!record.empty());
  Note(record.tag());
  if (!Exchange(slot, record, IndexWord(), std::memory_order_seq_cst)) return false;
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

IndexWord IndexSlots::SetDram(const KeyHash& hash, bool dram) {
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

IndexSlots::Entry IndexSlots::FindLine(const KeyHash& hash, uint64_t line) const {
  Entry found;
  VisitTag(hash, LoadState(std::memory_order_acquire), std::memory_order_acquire, [&](Slot& slot, IndexWord word) {
    if (word.line() == line) found = {NumberOf(slot), word};
    return word.line() == line;
  });
  return found;
}

void IndexSlots::Cool(Entry entry) {
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

IndexSlots::Outcome IndexSlots::Move(Entry entry, uint64_t line, unsigned heat_cost) {
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

IndexSlots::Outcome IndexSlots::Drop(Entry entry) {
  Note(entry.word.tag());
  uint64_t expected = entry.word.raw();
  if (!slots_[entry.slot].compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed))
    return Outcome::kChanged;
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return Outcome::kDone;
}

IndexSlots::Outcome IndexSlots::RemoveRecord(Entry entry) {
  return Remove(slots_[entry.slot], entry.word) ? Outcome::kDone : Outcome::kChanged;
}

bool IndexSlots::RemoveLine(const KeyHash& hash, uint64_t line) {
  for (;;) {
    const State state = StateToChange(hash);
    const bool removed = VisitTag(hash, state, std::memory_order_seq_cst, [&](Slot& slot, IndexWord word) {
      return word.line() == line && Remove(slot, word);
    });
    if (removed || growth_ == nullptr || !Moved(hash, state, LoadState(std::memory_order_seq_cst))) return removed;
  }
}

bool IndexSlots::TakeShape(const Shape& shape) {
  assert(counted() == 0);
  if (!IndexBuckets::TakeShape(shape)) return false;
  restored_ = true;
  keeps_shape_.store(true, std::memory_order_release);
  return true;
}

void IndexSlots::Clear() {
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

bool IndexSlots::StartRefill() {
  assert(notes_ == nullptr || !notes_->is_open());
  notes_ = std::make_unique<TagNotes>();
  if (!notes_->ok()) notes_.reset();
  return notes_ != nullptr;
}

void IndexSlots::EndRefill() {
  if (notes_ != nullptr) notes_->Close();
  LetGrow();
}

// Whether a word has this tag. A thread that takes the last such word out of its slot has noted the tag before, or it
// splits.
bool IndexSlots::HasTag(const KeyHash& hash, State state) const {
  return VisitTag(hash, state, std::memory_order_seq_cst, [](Slot&, IndexWord) { return true; });
}

IndexSlots::Refilled IndexSlots::PublishOldest(const KeyHash& hash, IndexWord oldest) {
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

IndexSlots::Refilled IndexSlots::RestoreAt(uint64_t slot, IndexWord oldest) {
  assert(notes_ != nullptr && slot < slots() && !oldest.empty());
  Slot* const bucket = BucketAt(slot);
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

}  // namespace mezz
