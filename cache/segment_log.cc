// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_log.h"

#include <cassert>
#include <mutex>

#include "cache/log_audit.h"
#include "cache/log_rules.h"

namespace mezz {

SegmentLog::SegmentLog(const Medium& medium, uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t format_id,
                       Counters* counters, const ForkGuard& guard, Dictionaries* dictionaries, uint64_t slow_begin)
    : parts_(medium, capacity_bytes, segment_bytes, slow_begin, counters),
      headers_(&parts_, format_id),
      owners_(&parts_, &headers_),
      sequences_(&parts_.mutex),
      kept_dictionaries_(&parts_, dictionaries),
      space_(&parts_, &kept_dictionaries_, guard),
      awaiting_(&parts_, &headers_, &kept_dictionaries_, &space_),
      faults_(&parts_, &space_, &awaiting_),
      tombstones_(&parts_, &sequences_, &headers_, &space_) {}

void SegmentLog::Provide(uint32_t segments, size_t member) {
  const std::lock_guard lock(parts_.mutex);
  if (!space_.ProvideLocked(segments, member)) return;
  if (parts_.members.out() != 0) faults_.QuarantineUnusedLocked();
  space_.ParkSurplusLocked();
}

std::vector<SegmentLog::Fill> SegmentLog::Fills() const {
  const std::lock_guard lock(parts_.mutex);
  std::vector<Fill> fills;
  std::vector<bool> listed(parts_.segments);
  const auto add = [&](SegmentId id, Generation generation) {
    const Segment& s = segment(id);
    listed[Raw(id)] = true;
    fills.push_back({.segment = id,
                     .sequence = Sequence(id),
                     .tail = Tail(id),
                     .generation = generation,
                     .dead = s.dead.load(std::memory_order_relaxed),
                     .dictionaries = static_cast<uint8_t>(s.dictionaries.load(std::memory_order_relaxed))});
  };
  for (const Level level : {Level::kSlow, Level::kFast}) parts_.level(level).ForEachSealed(add);
  for (uint32_t i = 0; i < parts_.segments; ++i) {
    // A victim that reclaim has not finished: in no queue.
    if (state(SegmentId{i}) == State::kSealed && !listed[i]) add(SegmentId{i}, Generation::kYoung);
  }
  return fills;
}

std::optional<SegmentLog::Reservation> SegmentLog::Reserve(unsigned lane, uint64_t bytes) {
  assert(bytes % kLineBytes == 0 && bytes > 0);
  const std::optional<SegmentId> open = parts_.lanes.open(lane);
  if (!open) return std::nullopt;
  const SegmentId id = *open;
  Segment& s = segment(id);
  constexpr uint64_t kEntered = SegmentTable::kWriter | SegmentTable::kPin;
  if (parts_.table.Add(id, kEntered, std::memory_order_acquire) == State::kOpen) {
    uint64_t tail = s.tail.load(std::memory_order_relaxed);
    while (tail + bytes <= segment_bytes()) {
      if (s.tail.compare_exchange_weak(tail, tail + bytes, std::memory_order_release, std::memory_order_relaxed))
        return Reservation{id, {parts_.BeginOf(id) + tail, static_cast<uint32_t>(Sequence(id))}};
    }
  }
  Subtract(id, kEntered);
  return std::nullopt;
}

bool SegmentLog::Advance(unsigned lane, uint64_t bytes, For whom) {
  const std::lock_guard lock(parts_.mutex);
  const std::optional<SegmentId> open = parts_.lanes.open(lane);
  if (open) {
    const Segment& s = segment(*open);
    if (s.tail.load(std::memory_order_relaxed) + bytes <= segment_bytes()) return true;  // another thread advanced it
  }
  const size_t kept_for_reclaim = whom == For::kReclaim ? 0 : 1;
  const ShareId share = parts_.lanes.ShareOf(lane);
  if (!parts_.shares.IsAdded(share)) return false;  // since LaneOf: the caller asks again
  const Level at = parts_.lanes.LevelOf(lane);
  LogLevel& level = parts_.level(at);
  const bool is_full = whom == For::kWriter && parts_.shares.IsFull(share, at);
  if (level.free() <= kept_for_reclaim || is_full) {
    // Of a small tier, or beside reserves, all that might go may be open, or hold tombstones: then what is open is what
    // reclaim can take.
    const auto may_go = [&](unsigned other, SegmentId) {
      const ShareId of = parts_.lanes.ShareOf(other);
      return parts_.lanes.LevelOf(other) == at &&
             (of == share || (!is_full && (parts_.shares.count() == 0 || parts_.shares.MayLose(of, at))));
    };
    if (whom == For::kWriter && !level.HasVictimFor(share)) parts_.lanes.SealIf(may_go);
    return false;
  }
  const auto sequence = sequences_.TakeLocked();
  if (!sequence) return false;
  parts_.lanes.Seal(lane);
  const SegmentId id = level.TakeFree(parts_.lanes.NearThisThread());
  headers_.OpenLocked(id, *sequence, parts_.lanes.GenerationOf(lane), share, State::kOpen);
  parts_.lanes.Open(lane, id);
  return true;
}

void SegmentLog::NoteDead(SegmentId id, uint64_t bytes) {
  assert(pins(id) > 0);
  const uint64_t before = segment(id).dead.fetch_add(bytes, std::memory_order_relaxed);
  assert(before + bytes <= segment_bytes());
  if (before >= log_rules::SparseBytes(segment_bytes()) || before + bytes < log_rules::SparseBytes(segment_bytes()))
    return;
  const std::lock_guard lock(parts_.mutex);
  if (const auto generation = parts_.LevelHolding(id).TakeWhole(id)) parts_.LevelHolding(id).Queue(id, *generation);
  // It is open, and is queued as sparse when it is sealed; or it is the victim already.
}

// The mutex keeps each lane's segment the same meanwhile; its tail may grow. Each lane has a place of its own: the sum
// of the lines tells which of two positions is the later one.
LogPosition SegmentLog::Position() const {
  const std::lock_guard lock(parts_.mutex);
  LogPosition position{.next_sequence = sequences_.NextLocked(), .open = {}};
  parts_.lanes.ForEachPlace([&](unsigned place, unsigned lane) {
    const std::optional<SegmentId> open = parts_.lanes.open(lane);
    if (!open) return;
    const Segment& s = segment(*open);
    position.open[place] = {.sequence = static_cast<uint32_t>(s.sequence.load(std::memory_order_relaxed)),
                            .line = static_cast<uint32_t>(s.tail.load(std::memory_order_acquire) / kLineBytes)};
  });
  return position;
}

bool SegmentLog::SealOpen(Level level) {
  const std::lock_guard lock(parts_.mutex);
  return parts_.lanes.SealIf([&](unsigned lane, SegmentId) { return parts_.lanes.LevelOf(lane) == level; });
}

uint64_t SegmentLog::SealAll() {
  const std::lock_guard lock(parts_.mutex);
  parts_.lanes.SealIf([](unsigned, SegmentId) { return true; });
  return sequences_.NextLocked();
}

void SegmentLog::SealBelow(uint64_t sequence) {
  const std::lock_guard lock(parts_.mutex);
  parts_.lanes.SealIf([&](unsigned, SegmentId open) { return Sequence(open) < sequence; });
}

SegmentLog::Victim SegmentLog::TakeVictim(bool pinned_too, ShareId needs, Level at) {
  const std::lock_guard lock(parts_.mutex);
  Victim victim = parts_.level(at).TakeVictim(pinned_too, needs, young_percent_.load(std::memory_order_relaxed));
  victim.draining = space_.CountDrainingLocked(at);
  return victim;
}

bool SegmentLog::HasSealed(Level level) const {
  const std::lock_guard lock(parts_.mutex);
  return parts_.level(level).sealed() != 0 || awaiting_.HasAnyLocked(level);
}

uint32_t SegmentLog::PinnedSegments() const {
  uint32_t pinned = 0;
  for (uint32_t id = 0; id < parts_.segments; ++id) pinned += pins(SegmentId{id}) != 0 ? 1 : 0;
  return pinned;
}

void SegmentLog::StartDraining(std::span<const SegmentId> ids) {
  const std::lock_guard lock(parts_.mutex);
  for (const SegmentId id : ids) {
    parts_.shares.NoteHeld(segment(id).share.load(std::memory_order_relaxed), LevelOf(id), -1);
    space_.DrainLocked(id, State::kSealed);
  }
  space_.CollectLocked();
}

void SegmentLog::Requeue(SegmentId id) {
  const std::lock_guard lock(parts_.mutex);
  parts_.LevelHolding(id).Queue(id, Generation::kProven);
}

SegmentLog::Victim SegmentLog::TakeWithdrawn(Level level) {
  const std::lock_guard lock(parts_.mutex);
  return parts_.level(level).TakeWithdrawn();
}

uint64_t SegmentLog::DramBytesFor(uint32_t segments, bool has_slow) {
  return sizeof(SegmentLog) + segments * (sizeof(Segment) + 7 * sizeof(SegmentId)) +
         Lanes::DramBytesFor(segments, has_slow);
}

void SegmentLog::Audit(std::vector<std::string>* violations) const {
  const std::lock_guard lock(parts_.mutex);
  LogAudit audit(parts_, violations);
  audit.AddList(space_.DrainingLocked(), State::kDraining);
  audit.AddList(awaiting_.ListLocked(), State::kAwaiting);
  audit.AddCount(tombstones_.CountLocked());
  audit.Check(kept_dictionaries_.dictionaries());
}

}  // namespace mezz
