// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <functional>
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
  uint64_t segment = 0;  // units a segment holds
  // With true every unit of `capacity` holds a record: space comes free record by record as reclaim walks, no free
  // segment is kept, and no header is charged. With false it is as in the live tier: whole free segments, a reserve of
  // them, and headers.
  bool exact_capacity = true;
  // The most lanes of writers. The model's one thread writes into one of them, but each needs a free segment. Used only
  // if exact_capacity is false. 0: as many as the live tier would open on this machine.
  uint32_t writer_lanes = 0;
  // As the policy says: the share of the segments for the young; and the share of a proven segment's records that must
  // be hot for it to be queued again (0: never).
  unsigned young_percent = kYoungPercentDefault;
  unsigned requeue_percent = 0;
};

struct ScmCounts {
  uint64_t writes = 0;  // records, second chances included
  uint64_t written_units = 0;
  uint64_t second_chances = 0;
  uint64_t packed_writes = 0;  // of the writes; the next one has their bytes
  uint64_t packed_units = 0;
  uint64_t packed_second_chances = 0;  // of the second chances
  uint64_t packed_at_reclaim = 0;      // Fate::kPack
  uint64_t dropped = 0;
  uint64_t spare_refused = 0;  // records that the policy spared, but credit or space did not allow it
  uint64_t refused = 0;        // Put found no room
  uint64_t reclaimed_segments = 0;
  uint64_t requeued_segments = 0;
  uint64_t hollow_segments = 0;  // segments that became hollow
};

// A model of the SCM tier without bytes. Records are appended to segments. Sealed segments are in two queues, young and
// proven, with the same choice between them as SegmentLog::TakeVictim. Reclaim goes in small steps, with survivors on
// credit, like Reclaimer. Pins and displacements of the index are left out. A record is only its block's number and its
// form.
//
// Put calls `judge(reached)`, the policy's OnReclaim, for each live record that reclaim reaches.
class ScmModel {
 public:
  // What `judge` is asked about.
  struct Reached {
    BlockId block;
    Generation generation;
    bool packed = false;
    bool packable = false;
  };

  // `record_units`: the size of each block's raw record; empty: 1 each. `pack`: how records pack, with bytes as units;
  // null: they do not. Both must outlive this.
  ScmModel(uint32_t blocks, const std::vector<uint32_t>& record_units, const ScmModelOptions& options,
           PackModel* pack = nullptr);

  // REQUIRES: Contains(block).
  Form form(BlockId block) const {
    const Word& word = words_[block];
    return FormAt(word.segment, word.record) == Stored::kPacked ? Form::kPacked : Form::kRaw;
  }
  bool Contains(BlockId block) const { return words_[block].segment != kNowhere; }
  uint8_t heat(BlockId block) const { return words_[block].heat; }
  bool dram(BlockId block) const { return words_[block].dram; }
  void Prefetch(BlockId block) const { __builtin_prefetch(&words_[block], 1); }

  // Counts a hit: adds one to the heat, and notes that the DRAM tier does not have the block. Returns the heat
  // including this hit.
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
  // Sets SurvivorJudge::young_percent.
  void SetYoungPercent(unsigned percent) { options_.young_percent = percent; }
  // A compaction looks the block up: its heirs take over its heat. Returns the heat. REQUIRES: Contains(block).
  uint8_t HandOver(BlockId block) {
    Word& word = words_[block];
    const auto heat = static_cast<uint8_t>(word.heat);
    word.dram = 0;
    word.heat = 0;
    return heat;
  }
  // Removes the record of a block whose file was deleted. As in SegmentLog, a segment that lost kHollowPercent this way
  // is the next victim. (The live tier walks its index for that in steps, paced by what is written.)
  void EraseDead(BlockId block);
  bool hollow() const { return !hollow_.empty(); }

  // Writes a record, in place of an older one of the block. `wanted`: kPacked is a wish. False: there is no room.
  template <typename Judge>
  bool Put(BlockId block, Generation generation, Form wanted, Judge&& judge) {
    Lane* const lane = generation == Generation::kProven ? &proven_lane_ : &young_lane_;
    Stored form = Stored::kRaw;
    if (wanted == Form::kPacked && pack_ != nullptr && pack_->Wants(block))
      form = pack_->Pack(block) ? Stored::kPacked : Stored::kRejected;
    const uint64_t units = UnitsOf(block, form);
    const bool room =
        options_.exact_capacity ? MakeRoomExactly(lane, units, judge) : MakeRoomAsLive(lane, units, judge);
    if (!room) {
      ++counts_.refused;
      return false;
    }
    Append(lane, block, form, static_cast<uint8_t>(HeatOfNew(generation)), /*dram=*/false);
    return true;
  }

  const ScmCounts& counts() const { return counts_; }
  uint64_t resident_blocks() const { return resident_; }
  uint64_t used_units() const { return used_; }
  uint64_t capacity() const { return options_.capacity; }
  uint32_t segments() const { return segments_max_; }

  // Checks the model, and appends a sentence for each contradiction.
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
    if (form == Stored::kPacked) return pack_->record_bytes(block);
    return record_units_.empty() ? 1 : record_units_[block];
  }
  Stored FormAt(uint32_t segment, uint32_t record) const {
    return pack_ == nullptr ? Stored::kRaw : segments_[segment].forms[record];
  }
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
  void Append(Lane* lane, BlockId block, Stored form, uint8_t heat, bool dram);
  bool Fits(const Lane& lane, uint64_t units) const {
    return lane.open && segments_[*lane.open].tail + units <= options_.segment;
  }
  uint32_t Open();
  void Advance(Lane* lane);
  void Seal(Lane* lane);
  bool PickVictim();
  bool IsHollow(const Segment& segment) const {
    return segment.dead * 100 >= options_.segment * log_rules::kHollowPercent;
  }
  bool MoveToHollow(std::deque<uint32_t>* sealed, uint32_t segment);
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
  bool Reserve(Lane* lane, uint64_t units, size_t kept_free);
  void MoveTo(Lane* lane, BlockId block, Stored form, unsigned heat_cost);
  bool Copy(BlockId block, Stored form);
  enum class Packing { kDone, kUseless, kNoRoom };  // as Reclaimer's
  Packing PackAtReclaim(BlockId block, Fate fate);

  const std::vector<uint32_t>& record_units_;
  ScmModelOptions options_;
  PackModel* const pack_;                                       // null: all is raw
  uint32_t segments_max_;                                       // the log's limit
  uint64_t segment_overhead_ = 0, first_segment_overhead_ = 0;  // units of a segment that hold no record
  std::vector<Word> words_;
  std::vector<Segment> segments_;
  std::vector<uint32_t> free_;  // a stack
  std::deque<uint32_t> young_, proven_;
  struct Hollow {
    uint32_t segment;
    Generation of;
  };
  std::deque<Hollow> hollow_;
  Lane young_lane_{.open = {}, .sealed = &young_};
  Lane proven_lane_{.open = {}, .sealed = &proven_};
  std::optional<Victim> victim_;
  uint32_t requeued_in_a_row_ = 0;
  uint64_t credit_;    // units that may still be spared, times kSurvivorShareDenominator
  uint64_t used_ = 0;  // units of all records that reclaim has not passed yet, dead ones included
  uint64_t resident_ = 0;
  ScmCounts counts_;
};

template <typename Judge>
bool ScmModel::MakeRoomExactly(Lane* lane, uint64_t units, Judge& judge) {
  if (units > options_.capacity) return false;
  while (used_ + units > options_.capacity) {
    if (!Work(1, Mode::kSpare, judge)) return false;
  }
  if (!Fits(*lane, units)) Advance(lane);
  return true;
}

// As ScmTier::Put: a step of reclaim, then room in the lane's segment, or in another one, or a whole victim.
template <typename Judge>
bool ScmModel::MakeRoomAsLive(Lane* lane, uint64_t units, Judge& judge) {
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
bool ScmModel::Work(uint64_t units, Mode mode, Judge& judge) {
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
uint64_t ScmModel::VisitNext(Mode mode, Judge& judge) {
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
void ScmModel::Settle(uint32_t segment, uint32_t record, Judge& judge) {
  const BlockId block = segments_[segment].records[record];
  Stored form = FormAt(segment, record);
  bool packable = pack_ != nullptr && form == Stored::kRaw && pack_->Wants(block);
  for (;;) {
    const bool packed = form == Stored::kPacked;
    Fate fate = judge(Reached{block, victim_->generation, packed, packable});
    // Never a raw copy of a block that DRAM holds, whatever the policy says.
    if ((dram(block) && !packed) || (fate == Fate::kPack && !packable)) fate = Fate::kDrop;
    if (fate != Fate::kDrop && packable) {
      const Packing packing = PackAtReclaim(block, fate);
      if (packing == Packing::kDone) return;
      packable = false;
      if (packing == Packing::kUseless) form = Stored::kRejected;
      if (packing == Packing::kUseless && fate == Fate::kPack) continue;  // judged again, as one that does not pack
    }
    if (fate == Fate::kSpare && Copy(block, form)) return;
    counts_.spare_refused += fate == Fate::kSpare;
    return Drop(block);
  }
}

}  // namespace mezz::sim
