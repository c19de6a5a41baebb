// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/log_rules.h"
#include "workloads/sim/trace.h"

namespace mezz::sim {

struct ScmModelOptions {
  // Bytes, or blocks where exact_capacity is set and every record is 1 unit.
  uint64_t capacity = 0;
  uint64_t segment = 0;  // units a segment holds
  // Every unit of `capacity` holds a record: space comes free record by record as reclaim walks, no free segment is
  // kept, no header is charged. Else as the live tier: whole free segments, a reserve of them, headers.
  bool exact_capacity = true;
  // Lanes that writers may have; one thread writes into one of them, but each wants a free segment ready. Live tier
  // only; 0: as many as it would open on this machine.
  uint32_t writer_lanes = 0;
  // Of the segments, for the young; and of a proven segment's records, those that must be hot for it to be queued
  // again, 0: never. The policy's.
  unsigned young_percent = kYoungPercentDefault;
  unsigned requeue_percent = 0;
};

struct ScmCounts {
  uint64_t writes = 0;  // records, second chances included
  uint64_t written_units = 0;
  uint64_t second_chances = 0;
  uint64_t dropped = 0;
  uint64_t spare_refused = 0;  // the policy spared it; credit or space said no
  uint64_t refused = 0;        // Put found no room
  uint64_t reclaimed_segments = 0;
  uint64_t requeued_segments = 0;
};

// The SCM tier without bytes: records in segments filled by appending; two queues of sealed segments, young and proven,
// and the choice between them as SegmentLog::TakeVictim's; reclaim in small steps with survivors on credit as
// Reclaimer's. Pins and the index's displacements are left out. Bytes never matter, so a record is its block's number.
//
// `spare(block, generation)`, asked in Put for each live record that reclaim reaches, is the policy's OnReclaim.
class ScmModel {
 public:
  // `record_units`: by block; empty: 1 each. Outlives this.
  ScmModel(uint32_t blocks, const std::vector<uint32_t>& record_units, const ScmModelOptions& options);

  bool Contains(BlockId block) const { return words_[block].segment != kNowhere; }
  uint8_t heat(BlockId block) const { return words_[block].heat; }
  bool dram(BlockId block) const { return words_[block].dram; }
  void Prefetch(BlockId block) const { __builtin_prefetch(&words_[block], 1); }

  // A hit: one count of heat more, and the DRAM tier has just missed it. Returns the heat with this hit.
  uint8_t Warm(BlockId block) {
    Word& word = words_[block];
    word.heat = std::min<uint32_t>(word.heat + 1, kHeatMax);
    word.dram = 0;
    return static_cast<uint8_t>(word.heat);
  }
  // Notes whether the DRAM tier holds the block. False: no record.
  bool SetDram(BlockId block, bool dram) {
    if (!Contains(block)) return false;
    words_[block].dram = dram;
    return true;
  }
  void Erase(BlockId block) {
    if (Contains(block)) Forget(block);
  }

  // Writes a record; an older one of the block is replaced. False: no room.
  template <typename Spare>
  bool Put(BlockId block, Generation generation, Spare&& spare) {
    Lane* const lane = generation == Generation::kProven ? &proven_lane_ : &young_lane_;
    const uint64_t units = UnitsOf(block);
    const bool room =
        options_.exact_capacity ? MakeRoomExactly(lane, units, spare) : MakeRoomAsLive(lane, units, spare);
    if (!room) {
      ++counts_.refused;
      return false;
    }
    Append(lane, block, units, static_cast<uint8_t>(HeatOfNew(generation)), /*dram=*/false);
    return true;
  }

  const ScmCounts& counts() const { return counts_; }
  uint64_t resident_blocks() const { return resident_; }
  uint64_t used_units() const { return used_; }
  uint64_t capacity() const { return options_.capacity; }
  uint32_t segments() const { return segments_max_; }

  // Appends what does not add up.
  void Audit(std::vector<std::string>* violations) const;

  static constexpr uint32_t kHeatMax = 3;

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Word {
    uint32_t segment = kNowhere;
    uint32_t record : 29 = 0;  // its place in the segment
    uint32_t dram : 1 = 0;
    uint32_t heat : 2 = 0;
  };
  struct Segment {
    std::vector<BlockId> records;
    uint64_t tail = 0;  // units in use, what is not for records included
  };
  struct Lane {
    std::optional<uint32_t> open;
    std::deque<uint32_t>* sealed;
  };
  enum class Pass { kWeigh, kCool, kEmpty };  // as Reclaimer's
  struct Victim {
    uint32_t segment;
    Generation generation;
    Pass pass = Pass::kWeigh;
    uint32_t cursor = 0;
    uint64_t hot = 0;
  };

  uint64_t UnitsOf(BlockId block) const { return record_units_.empty() ? 1 : record_units_[block]; }
  void Forget(BlockId block) {
    assert(Contains(block) && resident_ > 0);
    words_[block].segment = kNowhere;
    --resident_;
  }
  void Drop(BlockId block) {
    Forget(block);
    ++counts_.dropped;
  }
  bool IsLive(uint32_t segment, uint32_t record) const {
    const Word& word = words_[segments_[segment].records[record]];
    return word.segment == segment && word.record == record;
  }
  void Append(Lane* lane, BlockId block, uint64_t units, uint8_t heat, bool dram);
  bool Fits(const Lane& lane, uint64_t units) const {
    return lane.open && segments_[*lane.open].tail + units <= options_.segment;
  }
  uint32_t Open();
  void Advance(Lane* lane);
  void Seal(Lane* lane);
  bool PickVictim();
  void StartPass(Pass pass);
  void FinishPass();
  void Weigh(uint32_t segment, uint32_t record);
  uint64_t free_segments() const { return free_.size(); }

  template <typename Spare>
  bool MakeRoomExactly(Lane* lane, uint64_t units, Spare& spare);
  template <typename Spare>
  bool MakeRoomAsLive(Lane* lane, uint64_t units, Spare& spare);
  enum class Mode { kSpare, kDrop };
  template <typename Spare>
  bool Work(uint64_t units, Mode mode, Spare& spare);
  template <typename Spare>
  uint64_t VisitNext(Mode mode, Spare& spare);
  template <typename Spare>
  void Settle(uint32_t segment, uint32_t record, Spare& spare);
  bool Copy(BlockId block, uint64_t units);

  const std::vector<uint32_t>& record_units_;
  ScmModelOptions options_;
  uint32_t segments_max_;                                       // the log's limit
  uint64_t segment_overhead_ = 0, first_segment_overhead_ = 0;  // units of a segment that hold no record
  std::vector<Word> words_;
  std::vector<Segment> segments_;
  std::vector<uint32_t> free_;  // a stack
  std::deque<uint32_t> young_, proven_;
  Lane young_lane_{.open = {}, .sealed = &young_};
  Lane proven_lane_{.open = {}, .sealed = &proven_};
  std::optional<Victim> victim_;
  uint32_t requeued_in_a_row_ = 0;
  uint64_t credit_;    // units that may still be spared, times kSurvivorShareDenominator
  uint64_t used_ = 0;  // units of all records that reclaim has not passed, dead ones included
  uint64_t resident_ = 0;
  ScmCounts counts_;
};

template <typename Spare>
bool ScmModel::MakeRoomExactly(Lane* lane, uint64_t units, Spare& spare) {
  if (units > options_.capacity) return false;
  while (used_ + units > options_.capacity) {
    if (!Work(1, Mode::kSpare, spare)) return false;
  }
  if (!Fits(*lane, units)) Advance(lane);
  return true;
}

// ScmTier::Put: a step of reclaim, then room in the lane's segment, or another one, or a whole victim.
template <typename Spare>
bool ScmModel::MakeRoomAsLive(Lane* lane, uint64_t units, Spare& spare) {
  const uint64_t enough = 1 + options_.writer_lanes;
  if (free_segments() <= enough)
    Work(units * (free_segments() <= 1 ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, spare);
  if (Fits(*lane, units)) return true;
  if (units > options_.segment - first_segment_overhead_) return false;
  for (uint32_t tries = 0; free_segments() <= 1; ++tries) {
    if (tries == log_rules::kSparingVictimsMax + segments_max_) return false;
    if (!Work(UINT64_MAX, tries < log_rules::kSparingVictimsMax ? Mode::kSpare : Mode::kDrop, spare)) return false;
  }
  if (!Fits(*lane, units)) Advance(lane);  // reclaim may have opened a segment for the proven
  return Fits(*lane, units);
}

template <typename Spare>
bool ScmModel::Work(uint64_t units, Mode mode, Spare& spare) {
  if (!victim_ && !PickVictim()) return false;
  if (mode == Mode::kDrop && victim_->pass != Pass::kEmpty) StartPass(Pass::kEmpty);
  uint64_t walked = 0;
  do {
    if (victim_->cursor < segments_[victim_->segment].records.size()) walked += VisitNext(mode, spare);
    if (victim_->cursor == segments_[victim_->segment].records.size()) FinishPass();
  } while (victim_ && walked < units);
  return true;
}

template <typename Spare>
uint64_t ScmModel::VisitNext(Mode mode, Spare& spare) {
  const uint32_t segment = victim_->segment;
  const uint32_t record = victim_->cursor++;
  const BlockId block = segments_[segment].records[record];
  const uint64_t units = UnitsOf(block);
  if (victim_->pass != Pass::kEmpty) {
    if (IsLive(segment, record)) Weigh(segment, record);
    return units;
  }
  assert(used_ >= units);
  used_ -= units;
  if (!IsLive(segment, record)) return units;
  if (mode == Mode::kSpare) {
    Settle(segment, record, spare);
  } else {
    Drop(block);
  }
  return units;
}

template <typename Spare>
void ScmModel::Settle(uint32_t segment, uint32_t record, Spare& spare) {
  const BlockId block = segments_[segment].records[record];
  const uint64_t units = UnitsOf(block);
  if (spare(block, victim_->generation) && !dram(block)) {  // never a block that DRAM holds, whatever the policy says
    if (units * log_rules::kSurvivorShareDenominator <= credit_ && Copy(block, units)) return;
    ++counts_.spare_refused;
  }
  Drop(block);
}

}  // namespace mezz::sim
