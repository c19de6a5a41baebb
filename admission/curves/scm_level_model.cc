// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/scm_level_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "cache/log_rules.h"

namespace mezz::sim {

ScmCounts& ScmCounts::Add(const ScmCounts& other, uint64_t factor) {
  for (uint64_t ScmCounts::*field :
       {&ScmCounts::writes, &ScmCounts::written_units, &ScmCounts::second_chances, &ScmCounts::packed_writes,
        &ScmCounts::packed_units, &ScmCounts::packed_second_chances, &ScmCounts::packed_at_reclaim, &ScmCounts::demoted,
        &ScmCounts::demoted_units, &ScmCounts::packed_demoted, &ScmCounts::dropped, &ScmCounts::spare_refused,
        &ScmCounts::refused, &ScmCounts::reclaimed_segments, &ScmCounts::requeued_segments,
        &ScmCounts::sparse_segments})
    this->*field += factor * other.*field;
  return *this;
}

ScmLevelModel::ScmLevelModel(ScmRecords* records, const ScmModelOptions& options, Level level, ScmLevelModel* slower)
    : records_(*records),
      options_(options),
      level_(level),
      slower_(slower),
      segments_(options),
      credit_(options.segment * log_rules::kSurvivorShareDenominator) {
  if (options_.writer_lanes == 0) options_.writer_lanes = log_rules::WriterLanes(segments_.limit());
}

ScmCounts ScmLevelModel::counts() const {
  ScmCounts counts = counts_;
  counts.sparse_segments = segments_.became_sparse();
  return counts;
}

bool ScmLevelModel::Put(BlockId block, Generation generation, Form wanted, const Judge& judge) {
  Lane* const lane = generation == Generation::kProven ? &segments_.proven : &segments_.young;
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

bool ScmLevelModel::MakeRoomExactly(Lane* lane, uint64_t units, const Judge& judge) {
  if (units > options_.capacity) return false;
  while (used_ + units > options_.capacity) {
    if (!Work(1, Mode::kSpare, judge)) return false;
  }
  if (!segments_.Fits(*lane, units)) segments_.Advance(lane);
  return true;
}

// As ScmTier::Put: a step of reclaim, then room in the lane's segment, or in another one, or a whole victim.
bool ScmLevelModel::MakeRoomAsLive(Lane* lane, uint64_t units, const Judge& judge) {
  const uint64_t enough = 1 + options_.writer_lanes;
  if (segments_.free() <= enough)
    Work(units * (segments_.free() <= 1 ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, judge);
  if (segments_.Fits(*lane, units)) return true;
  if (units > segments_.room()) return false;
  for (uint32_t tries = 0; segments_.free() <= 1; ++tries) {
    if (tries == log_rules::kSparingVictimsMax + segments_.limit()) return false;
    if (!Work(UINT64_MAX, tries < log_rules::kSparingVictimsMax ? Mode::kSpare : Mode::kDrop, judge)) return false;
  }
  if (!segments_.Fits(*lane, units)) segments_.Advance(lane);  // reclaim may have opened a segment for the proven
  return segments_.Fits(*lane, units);
}

bool ScmLevelModel::Work(uint64_t units, Mode mode, const Judge& judge) {
  if (!victim_ && !PickVictim()) return false;
  if (mode == Mode::kDrop && victim_->pass != Pass::kEmpty) StartPass(Pass::kEmpty);
  uint64_t walked = 0;
  do {
    if (victim_->cursor < segments_[victim_->segment].records.size()) walked += VisitNext(mode, judge);
    if (victim_->cursor == segments_[victim_->segment].records.size()) FinishPass();
  } while (victim_ && walked < units);
  return true;
}

uint64_t ScmLevelModel::VisitNext(Mode mode, const Judge& judge) {
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
void ScmLevelModel::Settle(uint32_t segment, uint32_t record, const Judge& judge) {
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

// Takes a record in that the faster level demotes. As RecordMover::Demote.
bool ScmLevelModel::TakeIn(BlockId block, Stored form, const Judge& judge) {
  const uint64_t units = UnitsOf(block, form);
  const bool room =
      options_.exact_capacity ? MakeRoomExactly(&segments_.young, units, judge) : ReserveAsLive(units, judge);
  if (!room) return false;
  // Not so hot that it would rise again before it is hit here.
  const unsigned heat = std::min<unsigned>(records_[block].heat, log_rules::kRaiseHeat - 1);
  Append(&segments_.young, block, form, static_cast<uint8_t>(heat), records_[block].dram != 0);
  ++counts_.demoted;
  counts_.demoted_units += units;
  counts_.packed_demoted += form == Stored::kPacked;
  return true;
}

// As SegmentCleaner::TakeIn.
bool ScmLevelModel::ReserveAsLive(uint64_t units, const Judge& judge) {
  if (segments_.free() <= 2)
    Work(units * (segments_.free() <= 1 ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, judge);
  return segments_.Reserve(&segments_.young, units, /*kept_free=*/1);
}

void ScmLevelModel::EraseDead(BlockId block) {
  const uint32_t id = records_[block].segment;
  const uint64_t units = UnitsOf(block, FormAt(id, records_[block].record));
  records_.Forget(block);
  segments_.AddDead(id, units);
}

void ScmLevelModel::Append(Lane* lane, BlockId block, Stored form, uint8_t heat, bool dram) {
  ScmSegmentsModel::Segment& segment = segments_[*lane->open];
  const uint64_t units = UnitsOf(block, form);
  assert(segment.tail + units <= options_.segment);
  records_.Point(block, {.segment = *lane->open & ScmRecords::kNowhere,
                         .level = static_cast<uint32_t>(level_) & 1,
                         .record = static_cast<uint32_t>(segment.records.size()) & ((1u << 29) - 1),
                         .dram = dram,
                         .heat = heat & ScmRecords::kHeatMax});
  segment.records.push_back(block);
  if (records_.pack() != nullptr) segment.forms.push_back(form);
  segment.tail += units;
  used_ += units;
  ++counts_.writes;
  counts_.written_units += units;
  if (form != Stored::kPacked) return;
  ++counts_.packed_writes;
  counts_.packed_units += units;
}

bool ScmLevelModel::PickVictim() {
  const std::optional<ScmSegmentsModel::Victim> taken = segments_.TakeVictim(options_.young_percent);
  if (!taken) return false;
  victim_ = Victim{.segment = taken->segment, .generation = taken->generation};
  const bool weighed = !taken->sparse && taken->generation == Generation::kProven && options_.requeue_percent != 0 &&
                       requeued_in_a_row_ < log_rules::kRequeuesInARowMax;
  StartPass(weighed ? Pass::kWeigh : Pass::kEmpty);
  return true;
}

void ScmLevelModel::StartPass(Pass pass) {
  victim_->pass = pass;
  victim_->cursor = 0;
  if (pass != Pass::kEmpty) return;
  credit_ = std::min(credit_ + segments_.RecordUnits(victim_->segment) * log_rules::kSurvivorShareNumerator,
                     log_rules::kCreditMaxSegments * options_.segment * log_rules::kSurvivorShareDenominator);
}

void ScmLevelModel::FinishPass() {
  switch (victim_->pass) {
    case Pass::kWeigh: {
      const uint64_t records = segments_[victim_->segment].records.size();
      const bool keep = victim_->hot != 0 && 100 * victim_->hot >= options_.requeue_percent * records;
      return StartPass(keep ? Pass::kCool : Pass::kEmpty);
    }
    case Pass::kCool:
      segments_.QueueAgain(victim_->segment);
      ++requeued_in_a_row_;
      ++counts_.requeued_segments;
      break;
    case Pass::kEmpty:
      segments_.Free(victim_->segment);
      requeued_in_a_row_ = 0;
      ++counts_.reclaimed_segments;
      break;
  }
  victim_.reset();
}

void ScmLevelModel::Weigh(uint32_t segment, uint32_t record) {
  ScmRecords::Word& word = records_[segments_[segment].records[record]];
  if (victim_->pass == Pass::kCool) {
    word.heat = word.heat > 0 ? word.heat - 1 : 0;
  } else if (word.dram == 0 && word.heat >= log_rules::kRequeueHeat) {
    ++victim_->hot;
  }
}

// Writes the record anew in a lane that has room for it, on credit.
void ScmLevelModel::MoveTo(Lane* lane, BlockId block, Stored form, unsigned heat_cost) {
  const uint64_t cost = UnitsOf(block, form) * log_rules::kSurvivorShareDenominator;
  assert(credit_ >= cost);
  credit_ -= cost;
  const ScmRecords::Word word = records_[block];
  Append(lane, block, form, static_cast<uint8_t>(word.heat - std::min<unsigned>(word.heat, heat_cost)), word.dram != 0);
  counts_.second_chances += heat_cost;
  counts_.packed_second_chances += heat_cost != 0 && form == Stored::kPacked;
}

// Copies a record to reclaim's own segment. True: it lives on there.
bool ScmLevelModel::Copy(BlockId block, Stored form) {
  const uint64_t units = UnitsOf(block, form);
  if (units * log_rules::kSurvivorShareDenominator > credit_ || !segments_.Reserve(&segments_.proven, units, 0))
    return false;
  MoveTo(&segments_.proven, block, form, /*heat_cost=*/1);
  return true;
}

// As RecordMover::Pack: the young share a lane with writers, and the last free segment stays for the proven.
ScmLevelModel::Packing ScmLevelModel::PackAtReclaim(BlockId block, Fate fate) {
  if (!records_.pack()->Pack(block)) return Packing::kUseless;
  const uint64_t units = UnitsOf(block, Stored::kPacked);
  if (units * log_rules::kSurvivorShareDenominator > credit_) return Packing::kNoRoom;
  const bool young = fate == Fate::kPack && victim_->generation == Generation::kYoung;
  Lane* const lane = young && segments_.Reserve(&segments_.young, units, 1) ? &segments_.young : &segments_.proven;
  if (lane == &segments_.proven && !segments_.Reserve(lane, units, 0)) return Packing::kNoRoom;
  MoveTo(lane, block, Stored::kPacked, fate == Fate::kSpare ? 1 : 0);
  counts_.packed_at_reclaim += fate == Fate::kPack;
  return Packing::kDone;
}

uint64_t ScmLevelModel::Audit(std::vector<std::string>* violations) const {
  std::vector<bool> holds_records;
  std::vector<uint32_t> listed = segments_.Listed(&holds_records);
  if (victim_) {
    ++listed[victim_->segment];
    holds_records[victim_->segment] = true;
  }
  uint64_t used = 0;
  uint64_t live = 0;
  for (uint32_t id = 0; id < segments_.size(); ++id) {
    if (listed[id] != 1) violations->push_back(fmt::format("segment {} is listed {} times", id, listed[id]));
    if (segments_[id].tail > options_.segment) violations->push_back(fmt::format("segment {} is overfull", id));
    if (!holds_records[id]) continue;
    const bool walked = victim_ && victim_->segment == id && victim_->pass == Pass::kEmpty;
    for (uint32_t record = walked ? victim_->cursor : 0; record < segments_[id].records.size(); ++record) {
      used += UnitsOf(segments_[id].records[record], FormAt(id, record));
      live += IsLive(id, record);
    }
  }
  if (used != used_) violations->push_back(fmt::format("records of {} units, {} counted", used, used_));
  if (options_.exact_capacity && used_ > options_.capacity)
    violations->push_back(fmt::format("{} units in use of {}", used_, options_.capacity));
  if (credit_ > log_rules::kCreditMaxSegments * options_.segment * log_rules::kSurvivorShareDenominator)
    violations->push_back("more credit than may be saved");
  return live;
}

}  // namespace mezz::sim
