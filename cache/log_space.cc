// SPDX-License-Identifier: Apache-2.0
#include "cache/log_space.h"

#include <algorithm>
#include <cassert>
#include <mutex>

#include "cache/options.h"

namespace mezz {

LogSpace::LogSpace(LogParts* parts, KeptDictionaries* dictionaries, const ForkGuard& guard)
    : parts_(*parts), dictionaries_(*dictionaries), guard_(guard), limit_(parts_.segments) {
  draining_.reserve(parts_.segments);
  SetUsableLocked();
}

bool LogSpace::ProvideLocked(uint32_t segments, size_t member) {
  LogMembers& members = parts_.members;
  assert(segments <= members.end(member) - members.begin(member));
  const uint32_t from = members.ready_end(member), end = members.begin(member) + segments;
  if (end <= from) return false;
  parts_.LevelHolding(SegmentId{from}).Provide(from, end);
  members.SetReadyEnd(member, end);
  return true;
}

bool LogSpace::IsProvided(SegmentId id) const {
  const std::lock_guard lock(parts_.mutex);
  return parts_.members.IsReady(id);
}

uint32_t LogSpace::LimitTo(uint32_t count) {
  const std::lock_guard lock(parts_.mutex);
  assert(!parts_.has_slow() || count == 0 || count >= 2 * log_rules::kSegmentsOfLevelMin);
  limit_ = count;
  SplitLimitLocked();
  return ToReclaimLocked(Level::kFast) + ToReclaimLocked(Level::kSlow);
}

// Gives each level its part of the limit, and all of it to one if the other has too little to be used.
void LogSpace::SplitLimitLocked() {
  const uint64_t of_fast = parts_.levels[0].present(), of_slow = parts_.levels[1].present();
  uint32_t fast = limit_;
  if (of_fast < log_rules::kSegmentsOfLevelMin && of_slow > of_fast) {
    fast = 0;
  } else if (of_slow >= log_rules::kSegmentsOfLevelMin && limit_ != 0) {
    fast = std::clamp(static_cast<uint32_t>(limit_ * of_fast / (of_fast + of_slow)), log_rules::kSegmentsOfLevelMin,
                      limit_ - log_rules::kSegmentsOfLevelMin);
  }
  parts_.levels[0].LimitTo(fast);
  parts_.levels[1].LimitTo(limit_ - fast);
  SetUsableLocked();
  ParkSurplusLocked();
}

// Shares have percent of what is usable, and with less of it there are fewer lanes.
void LogSpace::SetUsableLocked() {
  for (const Level level : {Level::kFast, Level::kSlow}) parts_.shares.SetUsable(usable_segments(level), level);
  Lanes& lanes = parts_.lanes;
  for (unsigned lane = lanes.UsedWriters(); lane < lanes.writers_max(); ++lane) lanes.Seal(lane);
}

void LogSpace::ParkSurplusLocked() {
  for (LogLevel& level : parts_.levels) {
    level.Unpark();
    // What writers and reclaim need to go on meanwhile; in the end as many are free anyway.
    level.Park(std::min(parts_.lanes.of_rest(), level.limit() / 4));
  }
}

// How many segments of the level must still be reclaimed, without those that drain already.
uint32_t LogSpace::ToReclaimLocked(Level level) const {
  return parts_.level(level).ToReclaim(CountDrainingLocked(level));
}

bool LogSpace::MustShrink(Level level) const {
  const std::lock_guard lock(parts_.mutex);
  return ToReclaimLocked(level) != 0;
}

void LogSpace::LimitMember(size_t member, uint32_t count) {
  const std::lock_guard lock(parts_.mutex);
  parts_.members.LimitTo(member, count);
  parts_.level(parts_.LevelOfMember(member)).FollowMembers();
  parts_.lanes.SealIf([this](unsigned, SegmentId open) { return IsWithdrawn(open); });
  SplitLimitLocked();
}

bool LogSpace::HasWithdrawn(Level level) const {
  const std::lock_guard lock(parts_.mutex);
  return parts_.level(level).HasWithdrawn();
}

uint32_t LogSpace::PresentOf(size_t member, uint32_t count) const {
  const std::lock_guard lock(parts_.mutex);
  const uint32_t begin = parts_.members.begin(member);
  uint32_t present = 0;
  for (SegmentId id{begin}; Raw(id) < begin + count; id = SegmentId{Raw(id) + 1})
    present += parts_.table.state(id) != State::kQuarantined && !parts_.table.IsCondemned(id) ? 1 : 0;
  return present;
}

void LogSpace::Quarantine(SegmentId id) {
  const std::lock_guard lock(parts_.mutex);
  assert(!parts_.members.HasReady() && parts_.table.state(id) == State::kUnready);
  parts_.LevelHolding(id).NoteReady();
  parts_.table.Change(id, State::kUnready, State::kFree);
  QuarantineLocked(id);
}

void LogSpace::QuarantineLocked(SegmentId id) {
  parts_.table.Change(id, State::kFree, State::kQuarantined);
  parts_.LevelHolding(id).NoteQuarantined(id);
  SetUsableLocked();
  if (faults_ != nullptr && parts_.segments - quarantined_segments() < kSegmentsMin) faults_->Close();
}

void LogSpace::CollectDrained() {
  if (!guard_.InParent()) return;
  const std::lock_guard lock(parts_.mutex);
  CollectLocked();
}

void LogSpace::CollectLocked() {
  std::erase_if(draining_, [this](SegmentId id) {
    if (!parts_.table.FreeIfDrained(id)) return false;
    dictionaries_.ReleaseLocked(id);
    if (parts_.table.IsCondemned(id)) {
      QuarantineLocked(id);
      return true;
    }
    if (!parts_.members.IsReady(id)) {
      parts_.table.Change(id, State::kFree, State::kUnready);
      parts_.LevelHolding(id).NoteUnready();
      return true;
    }
    parts_.LevelHolding(id).AddFree(id);
    return true;
  });
  ParkSurplusLocked();  // what was quarantined is no surplus any more
}

uint32_t LogSpace::CountDrainingLocked(Level level) const {
  const auto lies_there = [&](SegmentId id) { return parts_.LevelOf(id) == level && !IsWithdrawn(id); };
  return static_cast<uint32_t>(std::ranges::count_if(draining_, lies_there));
}

uint32_t LogSpace::draining_segments() const {
  const std::lock_guard lock(parts_.mutex);
  return static_cast<uint32_t>(draining_.size());
}

}  // namespace mezz
