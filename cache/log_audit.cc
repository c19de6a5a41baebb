// SPDX-License-Identifier: Apache-2.0
#include "cache/log_audit.h"

#include <fmt/format.h>

#include <string_view>

namespace mezz {

void LogAudit::AddList(std::span<const SegmentId> list, State state) {
  all_ += list.size();
  for (const SegmentId id : list) NoteListed(id, state);
}

void LogAudit::NoteListed(SegmentId id, State state) {
  ++listed_[Raw(id)];
  if (parts_.table.state(id) != state) violations_.push_back(fmt::format("segment {} is in the wrong list", Raw(id)));
}

void LogAudit::Check(const Dictionaries* dictionaries) {
  const auto note = [this](SegmentId id, State state) { NoteListed(id, state); };
  for (const LogLevel& level : parts_.levels) level.Audit(note, &violations_);
  for (uint32_t i = 0; i < parts_.segments; ++i) CheckSegment(SegmentId{i});
  CheckDictionaries(dictionaries);
  CheckShares();
  CheckCounts();
}

void LogAudit::CheckSegment(SegmentId id) {
  const State state = parts_.table.state(id);
  const SegmentTable::Segment& segment = parts_.table[id];
  uint32_t& listed = listed_[Raw(id)];
  const auto violated = [&](std::string_view what) {
    violations_.push_back(fmt::format("segment {} {}", Raw(id), what));
  };
  if (parts_.table.writers(id) != 0) violated("has a writer who never left");
  if (parts_.members.IsWithdrawn(id) && state == State::kFree) violated("is withdrawn and free");
  const bool writable = state == State::kFree || state == State::kOpen || state == State::kParked;
  if (parts_.members.IsReady(id) ? state == State::kUnready : writable)
    violated("is ready or not, against what was provided");
  for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) {
    if ((segment.dictionaries.load(std::memory_order_relaxed) >> slot & 1) == 0) continue;
    ++dictionary_holds_[slot];
    if (!parts_.table.HoldsRecords(id)) violated("keeps a dictionary for no record");
  }
  if (segment.tail.load(std::memory_order_relaxed) > parts_.segment_bytes()) violated("is filled past its end");

  if (state == State::kUnready) ++unready_;
  if (state == State::kQuarantined) ++quarantined_;
  if (state == State::kUnready || state == State::kTombstones || state == State::kQuarantined) ++listed;
  if (state == State::kOpen) {
    for (unsigned lane = 0; lane < parts_.lanes.count(); ++lane) listed += parts_.lanes.open(lane) == id ? 1 : 0;
  }
  if (state == State::kOpen || state == State::kSealed)
    ++held_[static_cast<size_t>(parts_.LevelOf(id))][Raw(parts_.ShareOf(id))];
  // A victim of an unfinished reclaim is sealed and in no list: at most one of each level.
  const bool victim = state == State::kSealed && listed == 0;
  if (listed != 1 && !victim) violated(fmt::format("is listed {} times", listed));
}

void LogAudit::CheckDictionaries(const Dictionaries* dictionaries) {
  for (unsigned slot = 0; dictionaries != nullptr && slot < Dictionaries::kSlots; ++slot) {
    if (dictionaries->holds(slot) != dictionary_holds_[slot])
      violations_.push_back(fmt::format("dictionary slot {} is kept by {} segments and has {} holds", slot,
                                        dictionary_holds_[slot], dictionaries->holds(slot)));
  }
}

void LogAudit::CheckShares() {
  for (const Level level : {Level::kFast, Level::kSlow}) {
    for (unsigned number = 0; number < kSharesMax; ++number) {
      const uint32_t counted = parts_.shares.held(ShareId{static_cast<uint8_t>(number)}, level);
      const uint32_t found = held_[static_cast<size_t>(level)][number];
      if (counted != found)
        violations_.push_back(fmt::format("share {} holds {} segments, {} counted", number, found, counted));
    }
  }
}

void LogAudit::CheckCounts() {
  uint32_t unready = 0, quarantined = 0;
  for (const LogLevel& level : parts_.levels) {
    unready += level.unready();
    quarantined += level.quarantined();
    all_ += level.sealed() + level.unused() - level.unready();
  }
  if (unready_ != unready) violations_.push_back(fmt::format("{} segments are unready, {} counted", unready_, unready));
  if (quarantined_ != quarantined)
    violations_.push_back(fmt::format("{} segments are quarantined, {} counted", quarantined_, quarantined));
  if (all_ + quarantined > parts_.segments) violations_.push_back("more segments than the medium holds");
}

}  // namespace mezz
