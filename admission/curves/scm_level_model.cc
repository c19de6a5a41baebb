// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/scm_level_model.h"

#include <fmt/format.h>

#include "cache/layout.h"

namespace mezz::sim {

ScmCounts& ScmCounts::operator+=(const ScmCounts& other) {
  for (uint64_t ScmCounts::*field :
       {&ScmCounts::writes, &ScmCounts::written_units, &ScmCounts::second_chances, &ScmCounts::packed_writes,
        &ScmCounts::packed_units, &ScmCounts::packed_second_chances, &ScmCounts::packed_at_reclaim, &ScmCounts::demoted,
        &ScmCounts::demoted_units, &ScmCounts::packed_demoted, &ScmCounts::dropped, &ScmCounts::spare_refused,
        &ScmCounts::refused, &ScmCounts::reclaimed_segments, &ScmCounts::requeued_segments,
        &ScmCounts::sparse_segments})
    this->*field += other.*field;
  return *this;
}

ScmLevelModel::ScmLevelModel(ScmRecords* records, const ScmModelOptions& options, Level level, ScmLevelModel* slower)
    : records_(*records),
      options_(options),
      level_(level),
      slower_(slower),
      segments_max_(static_cast<uint32_t>(std::max<uint64_t>(1, options.capacity / options.segment))),
      credit_(options.segment * log_rules::kSurvivorShareDenominator) {
  if (options_.exact_capacity) return;
  if (options_.writer_lanes == 0) options_.writer_lanes = log_rules::WriterLanes(segments_max_);
  segment_overhead_ = sizeof(layout::SegmentHeader);
  first_segment_overhead_ = layout::kSuperblockSpace + sizeof(layout::SegmentHeader);
  segments_.resize(segments_max_);
  for (uint32_t i = segments_max_; i-- > 0;) free_.push_back(i);
}

// Opens a segment to append to. With exact capacity there always is one, as `used_` is what limits the tier.
uint32_t ScmLevelModel::Open() {
  if (free_.empty()) {
    segments_.emplace_back();
    free_.push_back(static_cast<uint32_t>(segments_.size() - 1));
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  segments_[id].records.clear();
  segments_[id].forms.clear();
  segments_[id].dead = 0;
  segments_[id].tail = id == 0 ? first_segment_overhead_ : segment_overhead_;
  return id;
}

void ScmLevelModel::Advance(Lane* lane) {
  Seal(lane);
  lane->open = Open();
}

void ScmLevelModel::Seal(Lane* lane) {
  const std::optional<uint32_t> sealed = std::exchange(lane->open, {});
  if (!sealed) return;
  lane->sealed->push_back(*sealed);
  if (IsSparse(segments_[*sealed])) MoveToSparse(lane->sealed, *sealed);
}

bool ScmLevelModel::MoveToSparse(std::deque<uint32_t>* sealed, uint32_t segment) {
  const auto found = std::ranges::find(*sealed, segment);
  if (found == sealed->end()) return false;
  sealed->erase(found);
  sparse_.push_back({segment, sealed == &proven_ ? Generation::kProven : Generation::kYoung});
  ++counts_.sparse_segments;
  return true;
}

void ScmLevelModel::EraseDead(BlockId block) {
  const uint32_t id = records_[block].segment;
  Segment& segment = segments_[id];
  const bool was_sparse = IsSparse(segment);
  segment.dead += UnitsOf(block, FormAt(id, records_[block].record));
  records_.Forget(block);
  // One that is open is looked at when it is sealed; the victim is emptied anyway.
  if (!was_sparse && IsSparse(segment) && !MoveToSparse(&young_, id)) MoveToSparse(&proven_, id);
}

void ScmLevelModel::Append(Lane* lane, BlockId block, Stored form, uint8_t heat, bool dram) {
  Segment& segment = segments_[*lane->open];
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
  if (options_.exact_capacity && young_.empty() && proven_.empty() && sparse_.empty()) {
    // All there is lies in open segments: with few and small ones that can be.
    Seal(young_lane_.open ? &young_lane_ : &proven_lane_);
  }
  if (!sparse_.empty()) {
    const Sparse first = sparse_.front();
    sparse_.pop_front();
    victim_ = Victim{.segment = first.segment, .generation = first.of};
    StartPass(Pass::kEmpty);
    return true;
  }
  const bool young_first = young_.size() * 100 > uint64_t{segments_max_} * options_.young_percent;
  std::deque<uint32_t>* queue = young_first ? &young_ : &proven_;
  if (queue->empty()) queue = young_first ? &proven_ : &young_;
  if (queue->empty()) return false;
  victim_ =
      Victim{.segment = queue->front(), .generation = queue == &young_ ? Generation::kYoung : Generation::kProven};
  queue->pop_front();
  const bool weighed = victim_->generation == Generation::kProven && options_.requeue_percent != 0 &&
                       requeued_in_a_row_ < log_rules::kRequeuesInARowMax;
  StartPass(weighed ? Pass::kWeigh : Pass::kEmpty);
  return true;
}

void ScmLevelModel::StartPass(Pass pass) {
  victim_->pass = pass;
  victim_->cursor = 0;
  if (pass != Pass::kEmpty) return;
  const uint64_t used =
      segments_[victim_->segment].tail - (victim_->segment == 0 ? first_segment_overhead_ : segment_overhead_);
  credit_ = std::min(credit_ + used * log_rules::kSurvivorShareNumerator,
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
      proven_.push_back(victim_->segment);
      ++requeued_in_a_row_;
      ++counts_.requeued_segments;
      break;
    case Pass::kEmpty:
      free_.push_back(victim_->segment);
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

// Reserves room in the lane's segment, or in another one if that leaves `kept_free` segments free.
bool ScmLevelModel::Reserve(Lane* lane, uint64_t units, size_t kept_free) {
  if (Fits(*lane, units)) return true;
  if (!options_.exact_capacity && free_.size() <= kept_free) return false;
  Advance(lane);
  return Fits(*lane, units);
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
  if (units * log_rules::kSurvivorShareDenominator > credit_ || !Reserve(&proven_lane_, units, 0)) return false;
  MoveTo(&proven_lane_, block, form, /*heat_cost=*/1);
  return true;
}

// As Reclaimer::PackLocked: the young share a lane with writers, and the last free segment stays for the proven.
ScmLevelModel::Packing ScmLevelModel::PackAtReclaim(BlockId block, Fate fate) {
  if (!records_.pack()->Pack(block)) return Packing::kUseless;
  const uint64_t units = UnitsOf(block, Stored::kPacked);
  if (units * log_rules::kSurvivorShareDenominator > credit_) return Packing::kNoRoom;
  const bool young = fate == Fate::kPack && victim_->generation == Generation::kYoung;
  Lane* const lane = young && Reserve(&young_lane_, units, 1) ? &young_lane_ : &proven_lane_;
  if (lane == &proven_lane_ && !Reserve(lane, units, 0)) return Packing::kNoRoom;
  MoveTo(lane, block, Stored::kPacked, fate == Fate::kSpare ? 1 : 0);
  counts_.packed_at_reclaim += fate == Fate::kPack;
  return Packing::kDone;
}

uint64_t ScmLevelModel::Audit(std::vector<std::string>* violations) const {
  std::vector<uint32_t> listed(segments_.size(), 0);
  std::vector<bool> holds_records(segments_.size(), false);
  for (const uint32_t id : free_) ++listed[id];
  const auto holds = [&](uint32_t id) {
    ++listed[id];
    holds_records[id] = true;
  };
  for (const uint32_t id : young_) holds(id);
  for (const uint32_t id : proven_) holds(id);
  for (const Sparse& sparse : sparse_) holds(sparse.segment);
  for (const Lane* lane : {&young_lane_, &proven_lane_}) {
    if (lane->open) holds(*lane->open);
  }
  if (victim_) holds(victim_->segment);
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
