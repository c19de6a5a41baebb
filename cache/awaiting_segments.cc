// SPDX-License-Identifier: Apache-2.0
#include "cache/awaiting_segments.h"

#include <algorithm>
#include <cassert>
#include <mutex>

namespace mezz {

void AwaitingSegments::Await(std::span<const SegmentFill> fills, bool keep) {
  const std::lock_guard lock(parts_.mutex);
  assert(!parts_.members.HasReady() && awaiting_.empty());
  awaiting_.reserve(fills.size());
  for (const SegmentFill& fill : fills) {
    parts_.table[fill.segment].sequence.store(fill.sequence, std::memory_order_relaxed);
    parts_.table.Change(fill.segment, State::kUnready, State::kAwaiting);
    if (keep) parts_.table.Add(fill.segment, SegmentTable::kPin, std::memory_order_relaxed);
    awaiting_.push_back(fill.segment);
    parts_.LevelHolding(fill.segment).NoteReady();
  }
  keeps_ = keep;
}

void AwaitingSegments::LetGo() {
  const std::lock_guard lock(parts_.mutex);
  keeps_ = false;
}

void AwaitingSegments::Order() {
  const std::lock_guard lock(parts_.mutex);
  assert(keeps_);
  std::ranges::sort(awaiting_, {}, [this](SegmentId id) { return parts_.SequenceOf(id); });
}

bool AwaitingSegments::Pin(SegmentId id) {
  if (parts_.table.Add(id, SegmentTable::kPin, std::memory_order_acquire) == State::kAwaiting) return true;
  if (parts_.table.Subtract(id, SegmentTable::kPin)) space_.CollectDrained();
  return false;
}

bool AwaitingSegments::Has(SegmentId id) const {
  const std::lock_guard lock(parts_.mutex);
  return parts_.table.state(id) == State::kAwaiting;
}

bool AwaitingSegments::HasAny() const {
  const std::lock_guard lock(parts_.mutex);
  return !awaiting_.empty();
}

bool AwaitingSegments::HasAnyLocked(Level level) const {
  return std::ranges::any_of(awaiting_, [&](SegmentId id) { return parts_.LevelOf(id) == level; });
}

bool AwaitingSegments::Adopt(const SegmentFill& fill) {
  const std::lock_guard lock(parts_.mutex);
  const SegmentId id = fill.segment;
  assert(parts_.table.pins(id) > 0 && fill.tail >= parts_.FirstRecord(id));
  if (parts_.table.state(id) != State::kAwaiting) return false;
  const bool has_records = fill.tail != parts_.FirstRecord(id);
  const uint64_t tag = has_records ? headers_.ReadOwner(id).tag : 0;
  const ShareId share = parts_.shares.Find(tag);
  if (!has_records || parts_.shares.IsFull(share, parts_.LevelOf(id))) {  // the youngest came first
    std::erase(awaiting_, id);
    GiveUpLocked(id);
    return false;
  }
  SegmentTable::Segment& s = parts_.table[id];
  s.sequence.store(fill.sequence, std::memory_order_relaxed);  // by its own header, whatever Await was told
  s.tail.store(fill.tail - parts_.BeginOf(id), std::memory_order_relaxed);
  s.dead.store(fill.dead, std::memory_order_relaxed);
  s.adopted = true;
  parts_.table.Add(id, SegmentTable::kWriter, std::memory_order_relaxed);
  parts_.GiveToLocked(id, share, tag);
  parts_.table.Change(id, State::kAwaiting, State::kSealed);
  // It is the last one, but for those that other threads have not come to yet.
  awaiting_.erase(std::find(awaiting_.rbegin(), awaiting_.rend(), id).base() - 1);
  parts_.LevelHolding(id).Queue(id, fill.generation, LogLevel::At::kBegin);
  return true;
}

bool AwaitingSegments::GiveUpOldest(bool pinned_too, Level level) {
  const std::lock_guard lock(parts_.mutex);
  if (keeps_ && !pinned_too) return false;
  const auto oldest = std::ranges::find_if(awaiting_, [&](SegmentId id) {
    return parts_.LevelOf(id) == level && parts_.level(level).MayTake(id, pinned_too) &&
           (pinned_too || parts_.shares.count() == 0 || !IsReservedLocked(id));
  });
  if (oldest == awaiting_.end()) return false;
  const SegmentId id = *oldest;
  awaiting_.erase(oldest);
  GiveUpLocked(id);
  space_.CollectLocked();
  return true;
}

void AwaitingSegments::GiveUpAll() {
  const std::lock_guard lock(parts_.mutex);
  GiveUpIfLocked([](SegmentId) { return true; });
  space_.CollectLocked();
}

// Gives up a segment unread. If it holds the record of a dictionary that is in use, that is written anew.
void AwaitingSegments::GiveUpLocked(SegmentId id) {
  dictionaries_.LosePlaceInLocked(id);
  space_.DrainLocked(id, State::kAwaiting);
}

// Whether the segment's share has no more than its reserve, awaiting ones included.
bool AwaitingSegments::IsReservedLocked(SegmentId id) const {
  const ShareId share = parts_.ShareOf(id);
  if (share == kNoShare) return false;
  const Level level = parts_.LevelOf(id);
  const auto is_its = [&](SegmentId other) { return parts_.LevelOf(other) == level && parts_.ShareOf(other) == share; };
  return parts_.shares.held(share, level) + std::ranges::count_if(awaiting_, is_its) <=
         parts_.shares.reserved(share, level);
}

}  // namespace mezz
