// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_faults.h"

#include <mutex>

#include "cache/base/if_memory.h"
#include "cache/log_rules.h"

namespace mezz {

void SegmentFaults::NoteBusError(uint64_t offset) {
  bus_errors_.fetch_add(1, std::memory_order_relaxed);
  const SegmentId id = parts_.SegmentAt(offset);
  if (Raw(id) >= parts_.segments) {
    if (faults_ != nullptr) faults_->Note();
    return;
  }
  Count(id);
  if (faults_ != nullptr && !faults_->have_limit()) return;
  parts_.table[id].faults.store(kUnreadable, std::memory_order_relaxed);
  condemned_.store(true, std::memory_order_release);
}

void SegmentFaults::Note(SegmentId id) {
  if (parts_.table[id].faults.load(std::memory_order_relaxed) >= kUnreadable) return;  // told of as it was found
  Count(id);
  if (faults_ != nullptr && !faults_->have_limit()) return;
  const uint32_t before = parts_.table[id].faults.fetch_add(1, std::memory_order_relaxed);
  if (before + 1 == log_rules::kFaultsOfSegmentMax) condemned_.store(true, std::memory_order_release);
}

void SegmentFaults::Count(SegmentId id) {
  if (faults_ == nullptr) return;
  faults_->Note();
  const size_t member = parts_.members.Of(id);
  if (member_faults_max_ != 0 && parts_.members.NoteFault(member, member_faults_max_)) LeaveOut(1u << member);
}

void SegmentFaults::BeginWithout(uint32_t members) {
  parts_.members.BeginWithout(members);
  NoteLost(members);
}

void SegmentFaults::NoteLost(uint32_t members) {
  for (size_t member = 0; member < parts_.members.count(); ++member) {
    if ((members >> member & 1) == 0) continue;
    parts_.level(parts_.LevelOfMember(member)).NoteLost(parts_.members.limit(member));
  }
}

void SegmentFaults::LeaveOut(uint32_t members) {
  const uint32_t newly = parts_.members.LeaveOut(members);
  NoteLost(newly);
  for (size_t member = 0; member < parts_.members.count(); ++member) {
    if ((newly >> member & 1) == 0) continue;
    for (uint32_t id = parts_.members.begin(member); id < parts_.members.end(member); ++id)
      parts_.table[SegmentId{id}].faults.store(kUnreadable, std::memory_order_relaxed);
  }
  condemned_.store(true, std::memory_order_release);
}

std::vector<SegmentId> SegmentFaults::TakeCondemned() {
  const std::lock_guard lock(parts_.mutex);
  std::vector<SegmentId> taken;
  if (!condemned_.exchange(false, std::memory_order_acquire)) return taken;
  bool left = false;
  for (uint32_t i = 0; i < parts_.segments; ++i) {
    const SegmentId id{i};
    if (!IsCondemned(id)) continue;
    parts_.lanes.SealIf([id](unsigned, SegmentId open) { return open == id; });
    left |= parts_.table.state(id) == State::kAwaiting && !parts_.members.IsOut(id);  // once it is adopted
    if (parts_.table.state(id) != State::kSealed) continue;  // LogSpace::CollectLocked sees to it, or did
    const bool may_take = parts_.table.writers(id) == 0;
    const bool memory = may_take && IfThereIsMemory([&] { taken.reserve(taken.size() + 1); });
    if (memory && parts_.LevelHolding(id).TakeFromQueue(id)) {  // else it is the victim
      taken.push_back(id);
    } else {
      left = true;
    }
  }
  if (parts_.members.out() != 0) QuarantineUnusedLocked();
  if (left) condemned_.store(true, std::memory_order_release);
  return taken;
}

void SegmentFaults::QuarantineUnusedLocked() {
  const auto take = [this](SegmentId id, State from) {
    if (!parts_.members.IsOut(id)) return false;
    if (from != State::kFree) parts_.table.Change(id, from, State::kFree);
    space_.QuarantineLocked(id);
    return true;
  };
  for (LogLevel& level : parts_.levels) level.RemoveUnused(take);
  awaiting_.GiveUpIfLocked([this](SegmentId id) { return parts_.members.IsOut(id); });
  for (uint32_t i = 0; i < parts_.segments; ++i) {
    const SegmentId id{i};
    if (parts_.table.state(id) == State::kUnready && take(id, State::kUnready)) parts_.LevelHolding(id).NoteReady();
  }
  space_.CollectLocked();
}

}  // namespace mezz
