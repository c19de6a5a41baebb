// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/curves/block_trace.h"
#include "admission/curves/pack_model.h"
#include "cache/log_rules.h"
#include "cache/survivor_judge.h"

namespace mezz::sim {

struct ScmModelOptions {
  // Bytes; or blocks, of which every record is 1 unit, where exact_capacity is set.
  uint64_t capacity = 0;
  // Of `capacity`, that of the fast level of ordered media; the slow level has the rest. 0: there is one level.
  uint64_t fast_capacity = 0;
  uint64_t segment = 0;  // units a segment holds
  // With true every unit of `capacity` holds a record: space comes free record by record as reclaim walks, no free
  // segment is kept, and no header is charged. With false it is as in the live tier: whole free segments, a reserve of
  // them, and headers.
  bool exact_capacity = true;
  // The most lanes of writers; the slow level has one. The model's one thread writes into one of them, but each needs a
  // free segment. Used only if exact_capacity is false. 0: as many as the live tier would open on this machine.
  uint32_t writer_lanes = 0;
  // As the policy says: the share of the segments for the young; and the share of a proven segment's records that must
  // be hot for it to be queued again (0: never).
  unsigned young_percent = kYoungPercentDefault;
  unsigned requeue_percent = 0;
};

// What one level has counted, or all levels.
struct ScmCounts {
  uint64_t writes = 0;  // records, second chances included
  uint64_t written_units = 0;
  uint64_t second_chances = 0;
  uint64_t packed_writes = 0;  // of the writes; the next one has their bytes
  uint64_t packed_units = 0;
  uint64_t packed_second_chances = 0;  // of the second chances
  uint64_t packed_at_reclaim = 0;      // Fate::kPack
  uint64_t demoted = 0;                // records that the slow level took from the fast one
  uint64_t demoted_units = 0;
  uint64_t packed_demoted = 0;  // of `demoted`
  uint64_t dropped = 0;
  uint64_t spare_refused = 0;  // records that the policy spared, but credit or space did not allow it
  uint64_t refused = 0;        // Put found no room
  uint64_t reclaimed_segments = 0;
  uint64_t requeued_segments = 0;
  uint64_t sparse_segments = 0;  // segments that became sparse

  ScmCounts& operator+=(const ScmCounts& other);
};

// Where the record of each block lies, and what the index of the live tier tells of it. All levels share it.
class ScmRecords {
 public:
  struct Word {
    uint32_t segment : 31 = kNowhere;  // of its level
    uint32_t level : 1 = static_cast<uint32_t>(Level::kFast);
    uint32_t record : 29 = 0;  // its place in the segment
    uint32_t dram : 1 = 0;
    uint32_t heat : 2 = 0;
  };
  static constexpr uint32_t kNowhere = UINT32_MAX >> 1;
  static constexpr uint32_t kHeatMax = 3;

  // As ScmModel's.
  ScmRecords(uint32_t blocks, const std::vector<uint32_t>& record_units, PackModel* pack)
      : record_units_(record_units), pack_(pack), words_(blocks) {}

  bool Contains(BlockId block) const { return words_[block].segment != kNowhere; }
  Level LevelOf(BlockId block) const { return static_cast<Level>(words_[block].level); }
  Word& operator[](BlockId block) { return words_[block]; }
  const Word& operator[](BlockId block) const { return words_[block]; }
  void Prefetch(BlockId block) const { __builtin_prefetch(&words_[block], 1); }
  void Forget(BlockId block) {
    assert(Contains(block) && resident_ > 0);
    words_[block].segment = kNowhere;
    --resident_;
  }
  void Point(BlockId block, const Word& to) {
    if (!Contains(block)) ++resident_;
    words_[block] = to;
  }
  uint64_t resident() const { return resident_; }
  size_t blocks() const { return words_.size(); }

  PackModel* pack() const { return pack_; }  // null: all is raw
  uint64_t RawUnits(BlockId block) const { return record_units_.empty() ? 1 : record_units_[block]; }

 private:
  const std::vector<uint32_t>& record_units_;
  PackModel* const pack_;
  std::vector<Word> words_;
  uint64_t resident_ = 0;
};

// One level of ScmModel: its segments, the open and the sealed ones, and the cleaner that empties them.
class ScmLevelModel {
 public:
  // What `judge` is asked about.
  struct Reached {
    BlockId block;
    Generation generation;
    bool packed = false;
    bool packable = false;
    bool demotable = false;
  };
  // `options`: with the capacity of this level. `slower`: where it demotes to; null: nowhere. Both pointers must
  // outlive this.
  ScmLevelModel(ScmRecords* records, const ScmModelOptions& options, Level level, ScmLevelModel* slower);
  ScmLevelModel(const ScmLevelModel&) = delete;
  ScmLevelModel& operator=(const ScmLevelModel&) = delete;

  // As ScmModel::Put.
  template <typename Judge>
  bool Put(BlockId block, Generation generation, Form wanted, Judge& judge);
  // Removes the record of a block whose file was deleted. REQUIRES: it lies here.
  void EraseDead(BlockId block);
  // REQUIRES: the block's record lies here.
  bool IsPacked(BlockId block) const {
    return FormAt(records_[block].segment, records_[block].record) == Stored::kPacked;
  }
  void SetYoungPercent(unsigned percent) { options_.young_percent = percent; }

  const ScmCounts& counts() const { return counts_; }
  bool sparse() const { return !sparse_.empty(); }
  uint64_t used_units() const { return used_; }

  // Checks the level, and appends a sentence for each contradiction. Returns how many live records it holds.
  uint64_t Audit(std::vector<std::string>* violations) const;

 private:
  // A record's form, and what its flags tell of it.
  enum class Stored : uint8_t {
    kRaw,
    kRejected,  // raw, and known not to pack
    kPacked,
  };
  struct Segment {
    std::vector<BlockId> records;
    std::vector<Stored> forms;  // of the records; empty where nothing packs
    uint64_t tail = 0;          // units in use, including those that are not for records
    uint64_t dead = 0;          // units of deleted files' records
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

  uint64_t UnitsOf(BlockId block, Stored form) const {
    return form == Stored::kPacked ? records_.pack()->record_bytes(block) : records_.RawUnits(block);
  }
  Stored FormAt(uint32_t segment, uint32_t record) const {
    return records_.pack() == nullptr ? Stored::kRaw : segments_[segment].forms[record];
  }
  void Drop(BlockId block) {
    records_.Forget(block);
    ++counts_.dropped;
  }
  bool IsLive(uint32_t segment, uint32_t record) const {
    const BlockId block = segments_[segment].records[record];
    const ScmRecords::Word& word = records_[block];
    return word.segment == segment && word.record == record && records_.LevelOf(block) == level_;
  }
  void Append(Lane* lane, BlockId block, Stored form, uint8_t heat, bool dram);
  bool Fits(const Lane& lane, uint64_t units) const {
    return lane.open && segments_[*lane.open].tail + units <= options_.segment;
  }
  uint32_t Open();
  void Advance(Lane* lane);
  void Seal(Lane* lane);
  bool PickVictim();
  bool IsSparse(const Segment& segment) const {
    return segment.dead * 100 >= options_.segment * log_rules::kSparsePercent;
  }
  bool MoveToSparse(std::deque<uint32_t>* sealed, uint32_t segment);
  void StartPass(Pass pass);
  void FinishPass();
  void Weigh(uint32_t segment, uint32_t record);
  uint64_t free_segments() const { return free_.size(); }

  template <typename Judge>
  bool MakeRoomExactly(Lane* lane, uint64_t units, Judge& judge);
  template <typename Judge>
  bool MakeRoomAsLive(Lane* lane, uint64_t units, Judge& judge);
  enum class Mode { kSpare, kDrop };
  template <typename Judge>
  bool Work(uint64_t units, Mode mode, Judge& judge);
  template <typename Judge>
  uint64_t VisitNext(Mode mode, Judge& judge);
  template <typename Judge>
  void Settle(uint32_t segment, uint32_t record, Judge& judge);
  template <typename Judge>
  bool TakeIn(BlockId block, Stored form, Judge& judge);
  template <typename Judge>
  bool ReserveAsLive(uint64_t units, Judge& judge);
  bool Reserve(Lane* lane, uint64_t units, size_t kept_free);
  void MoveTo(Lane* lane, BlockId block, Stored form, unsigned heat_cost);
  bool Copy(BlockId block, Stored form);
  enum class Packing { kDone, kUseless, kNoRoom };  // as Reclaimer's
  Packing PackAtReclaim(BlockId block, Fate fate);

  ScmRecords& records_;
  ScmModelOptions options_;
  const Level level_;
  ScmLevelModel* const slower_;                                 // null: there is none
  uint32_t segments_max_;                                       // the log's limit
  uint64_t segment_overhead_ = 0, first_segment_overhead_ = 0;  // units of a segment that hold no record
  std::vector<Segment> segments_;
  std::vector<uint32_t> free_;  // a stack
  std::deque<uint32_t> young_, proven_;
  struct Sparse {
    uint32_t segment;
    Generation of;
  };
  std::deque<Sparse> sparse_;
  Lane young_lane_{.open = {}, .sealed = &young_};
  Lane proven_lane_{.open = {}, .sealed = &proven_};
  std::optional<Victim> victim_;
  uint32_t requeued_in_a_row_ = 0;
  uint64_t credit_;    // units that may still be spared, times kSurvivorShareDenominator
  uint64_t used_ = 0;  // units of all records that reclaim has not passed yet, dead ones included
  ScmCounts counts_;
};

template <typename Judge>
bool ScmLevelModel::Put(BlockId block, Generation generation, Form wanted, Judge& judge) {
  Lane* const lane = generation == Generation::kProven ? &proven_lane_ : &young_lane_;
  Stored form = Stored::kRaw;
  if (wanted == Form::kPacked && records_.pack() != nullptr && records_.pack()->Wants(block))
    form = records_.pack()->Pack(block) ? Stored::kPacked : Stored::kRejected;
  const uint64_t units = UnitsOf(block, form);
  const bool room = options_.exact_capacity ? MakeRoomExactly(lane, units, judge) : MakeRoomAsLive(lane, units, judge);
  if (!room) {
    ++counts_.refused;
    return false;
  }
  Append(lane, block, form, static_cast<uint8_t>(HeatOfNew(generation)), /*dram=*/false);
  return true;
}

template <typename Judge>
bool ScmLevelModel::MakeRoomExactly(Lane* lane, uint64_t units, Judge& judge) {
  if (units > options_.capacity) return false;
  while (used_ + units > options_.capacity) {
    if (!Work(1, Mode::kSpare, judge)) return false;
  }
  if (!Fits(*lane, units)) Advance(lane);
  return true;
}

// As ScmTier::Put: a step of reclaim, then room in the lane's segment, or in another one, or a whole victim.
template <typename Judge>
bool ScmLevelModel::MakeRoomAsLive(Lane* lane, uint64_t units, Judge& judge) {
  const uint64_t enough = 1 + options_.writer_lanes;
  if (free_segments() <= enough)
    Work(units * (free_segments() <= 1 ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, judge);
  if (Fits(*lane, units)) return true;
  if (units > options_.segment - first_segment_overhead_) return false;
  for (uint32_t tries = 0; free_segments() <= 1; ++tries) {
    if (tries == log_rules::kSparingVictimsMax + segments_max_) return false;
    if (!Work(UINT64_MAX, tries < log_rules::kSparingVictimsMax ? Mode::kSpare : Mode::kDrop, judge)) return false;
  }
  if (!Fits(*lane, units)) Advance(lane);  // reclaim may have opened a segment for the proven
  return Fits(*lane, units);
}

template <typename Judge>
bool ScmLevelModel::Work(uint64_t units, Mode mode, Judge& judge) {
  if (!victim_ && !PickVictim()) return false;
  if (mode == Mode::kDrop && victim_->pass != Pass::kEmpty) StartPass(Pass::kEmpty);
  uint64_t walked = 0;
  do {
    if (victim_->cursor < segments_[victim_->segment].records.size()) walked += VisitNext(mode, judge);
    if (victim_->cursor == segments_[victim_->segment].records.size()) FinishPass();
  } while (victim_ && walked < units);
  return true;
}

template <typename Judge>
uint64_t ScmLevelModel::VisitNext(Mode mode, Judge& judge) {
  const uint32_t segment = victim_->segment;
  const uint32_t record = victim_->cursor++;
  const BlockId block = segments_[segment].records[record];
  const uint64_t units = UnitsOf(block, FormAt(segment, record));
  if (victim_->pass != Pass::kEmpty) {
    if (IsLive(segment, record)) Weigh(segment, record);
    return units;
  }
  assert(used_ >= units);
  used_ -= units;
  if (!IsLive(segment, record)) return units;
  if (mode == Mode::kSpare) {
    Settle(segment, record, judge);
  } else {
    Drop(block);
  }
  return units;
}

// As SegmentCleaner::Settle.
template <typename Judge>
void ScmLevelModel::Settle(uint32_t segment, uint32_t record, Judge& judge) {
  const BlockId block = segments_[segment].records[record];
  Stored form = FormAt(segment, record);
  bool packable = records_.pack() != nullptr && form == Stored::kRaw && records_.pack()->Wants(block);
  const bool demotable = slower_ != nullptr;
  for (;;) {
    const bool packed = form == Stored::kPacked;
    Fate fate = judge(Reached{block, victim_->generation, packed, packable, demotable});
    // Never a raw copy of a block that DRAM holds, whatever the policy says.
    if ((records_[block].dram && !packed) || (fate == Fate::kPack && !packable) ||
        (fate == Fate::kDemote && !demotable))
      fate = Fate::kDrop;
    if (fate != Fate::kDrop && fate != Fate::kDemote && packable) {
      const Packing packing = PackAtReclaim(block, fate);
      if (packing == Packing::kDone) return;
      packable = false;
      if (packing == Packing::kUseless) form = Stored::kRejected;
      if (packing == Packing::kUseless && fate == Fate::kPack) continue;  // judged again, as one that does not pack
    }
    if (fate == Fate::kSpare && Copy(block, form)) return;
    counts_.spare_refused += fate == Fate::kSpare;
    if (fate != Fate::kDrop && demotable && slower_->TakeIn(block, form, judge)) return;  // what cannot be spared, too
    return Drop(block);
  }
}

// Takes a record in that the faster level demotes. As SegmentCleaner::Demote.
template <typename Judge>
bool ScmLevelModel::TakeIn(BlockId block, Stored form, Judge& judge) {
  const uint64_t units = UnitsOf(block, form);
  const bool room = options_.exact_capacity ? MakeRoomExactly(&young_lane_, units, judge) : ReserveAsLive(units, judge);
  if (!room) return false;
  // Not so hot that it would rise again before it is hit here.
  const unsigned heat = std::min<unsigned>(records_[block].heat, log_rules::kRaiseHeat - 1);
  Append(&young_lane_, block, form, static_cast<uint8_t>(heat), records_[block].dram != 0);
  ++counts_.demoted;
  counts_.demoted_units += units;
  counts_.packed_demoted += form == Stored::kPacked;
  return true;
}

// As SegmentCleaner::TakeIn.
template <typename Judge>
bool ScmLevelModel::ReserveAsLive(uint64_t units, Judge& judge) {
  if (free_segments() <= 2)
    Work(units * (free_segments() <= 1 ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, judge);
  return Reserve(&young_lane_, units, /*kept_free=*/1);
}

}  // namespace mezz::sim
