// SPDX-License-Identifier: Apache-2.0
#include "cache/lanes.h"

#include <algorithm>
#include <atomic>

#include "cache/layout.h"
#include "cache/log_rules.h"

namespace mezz {

Lanes::Lanes(SegmentTable* table, std::array<LogLevel, kLevels>* levels)
    : table_(table),
      levels_(*levels),
      has_slow_(levels_[1].size() != 0),
      of_rest_(WritersMax(levels_[0].size(), has_slow_) + 1),
      rest_(std::make_unique<OwnLine[]>(of_rest_)),
      others_(std::make_unique<OtherWord[]>(OfShares(has_slow_))) {}

// A position has room for so many lanes.
unsigned Lanes::WritersMax(uint32_t fast_segments, bool has_slow) {
  static_assert(log_rules::kWriterLanesMax + 1 <= layout::kLanesMax);
  const auto most = static_cast<unsigned>(layout::kLanesMax - 1 - (has_slow ? kSlowPlaces : 0));
  return std::min(log_rules::WriterLanes(fast_segments), most);
}

unsigned Lanes::UsedWriters() const { return std::min(writers_max(), log_rules::WriterLanes(levels_[0].usable())); }

void Lanes::Seal(unsigned lane) {
  const std::optional<SegmentId> open = this->open(lane);
  if (!open) return;
  At(lane).store(kNone, std::memory_order_relaxed);
  table_->Change(*open, SegmentTable::State::kOpen, SegmentTable::State::kSealed);
  levels_[static_cast<size_t>(LevelOf(lane))].Queue(*open, GenerationOf(lane));
}

unsigned Lanes::OfThisThread(unsigned writers) const {
  static std::atomic<unsigned> next{0};
  static thread_local const unsigned mine = next.fetch_add(1, std::memory_order_relaxed);
  const unsigned groups = near_.groups;
  if (groups == 0 || writers < groups) return mine % writers;
  // Each group of processors has every groups-th lane.
  const unsigned group = near_.OfThisThread().group, lanes_of_group = (writers - group + groups - 1) / groups;
  return group + groups * (mine % lanes_of_group);
}

uint64_t Lanes::DramBytesFor(uint32_t segments, bool has_slow) {
  return (log_rules::WriterLanes(segments) + 1) * sizeof(OwnLine) + OfShares(has_slow) * sizeof(OtherWord);
}

}  // namespace mezz
