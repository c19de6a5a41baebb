// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/curves/block_trace.h"
#include "admission/curves/pack_model.h"
#include "admission/curves/scm_level_model.h"
#include "cache/log_rules.h"

namespace mezz::sim {

// A model of the SCM tier without bytes. Records are appended to segments. Sealed segments are in two queues, young and
// proven, with the same choice between them as SegmentLog::TakeVictim. Reclaim goes in small steps, with survivors on
// credit, like Reclaimer. Pins and displacements of the index are left out. A record is only its block's number and its
// form.
//
// Ordered media are two levels, each with segments, queues, credit and reclaim of its own. New records go to the fast
// one; what its reclaim demotes goes to the slow one.
//
// Put calls `judge(reached)`, the policy's OnReclaim, for each live record that reclaim reaches.
class ScmModel {
 public:
  using Reached = ScmLevelModel::Reached;

  // `record_units`: the size of each block's raw record; empty: 1 each. `pack`: how records pack, with bytes as units;
  // null: they do not. Both must outlive this.
  ScmModel(uint32_t blocks, const std::vector<uint32_t>& record_units, const ScmModelOptions& options,
           PackModel* pack = nullptr);
  ScmModel(const ScmModel&) = delete;
  ScmModel& operator=(const ScmModel&) = delete;

  // REQUIRES: Contains(block).
  Form form(BlockId block) const {
    return LevelOf(records_.LevelOf(block)).IsPacked(block) ? Form::kPacked : Form::kRaw;
  }
  // Where the block's record lies; kFast, if there is one level. REQUIRES: Contains(block).
  Level level(BlockId block) const { return records_.LevelOf(block); }
  bool Contains(BlockId block) const { return records_.Contains(block); }
  uint8_t heat(BlockId block) const { return records_[block].heat; }
  bool dram(BlockId block) const { return records_[block].dram; }
  void Prefetch(BlockId block) const { records_.Prefetch(block); }

  // Counts a hit: adds one to the heat, and notes that the DRAM tier does not have the block. Returns the heat
  // including this hit.
  uint8_t Warm(BlockId block) {
    ScmRecords::Word& word = records_[block];
    word.heat = std::min<uint32_t>(word.heat + 1, kHeatMax);
    word.dram = 0;
    return static_cast<uint8_t>(word.heat);
  }
  // Notes whether the DRAM tier holds the block. False: no record.
  bool SetDram(BlockId block, bool dram) {
    if (!Contains(block)) return false;
    records_[block].dram = dram;
    return true;
  }
  // Notes that the DRAM tier evicts the block. False: there is no record, or one that is to be written to the fast
  // level, as it was hit on the slow one.
  bool NoteDramEviction(BlockId block) {
    if (!SetDram(block, false)) return false;
    return level(block) == Level::kFast || heat(block) < log_rules::kRaiseHeat;
  }
  void Erase(BlockId block) {
    if (Contains(block)) records_.Forget(block);
  }
  // Sets SurvivorJudge::young_percent.
  void SetYoungPercent(unsigned percent) {
    fast_.SetYoungPercent(percent);
    if (slow_) slow_->SetYoungPercent(percent);
  }
  // A compaction looks the block up: its heirs take over its heat. Returns the heat. REQUIRES: Contains(block).
  uint8_t HandOver(BlockId block) {
    ScmRecords::Word& word = records_[block];
    const auto heat = static_cast<uint8_t>(word.heat);
    word.dram = 0;
    word.heat = 0;
    return heat;
  }
  // Removes the record of a block whose file was deleted. As in SegmentLog, a segment that lost kSparsePercent this way
  // is the next victim. (The live tier walks its index for that in steps, paced by what is written.)
  void EraseDead(BlockId block) {
    if (Contains(block)) LevelOf(level(block)).EraseDead(block);
  }
  // Whether new records take the place of what is sparse.
  bool sparse() const { return fast_.sparse(); }

  // Writes a record, in place of an older one of the block. `wanted`: kPacked is a wish. False: there is no room.
  bool Put(BlockId block, Generation generation, Form wanted, const ScmLevelModel::Judge& judge) {
    return fast_.Put(block, generation, wanted, judge);
  }

  // Of all levels, and of one.
  ScmCounts counts() const;
  ScmCounts counts(Level level) const { return level == Level::kFast ? fast_.counts() : SlowCounts(); }
  uint64_t resident_blocks() const { return records_.resident(); }
  uint64_t used_units() const { return fast_.used_units() + (slow_ ? slow_->used_units() : 0); }

  // Checks the model, and appends a sentence for each contradiction.
  void Audit(std::vector<std::string>* violations) const;

  static constexpr uint32_t kHeatMax = ScmRecords::kHeatMax;

 private:
  ScmCounts SlowCounts() const { return slow_ ? slow_->counts() : ScmCounts(); }
  ScmLevelModel& LevelOf(Level level) { return level == Level::kFast ? fast_ : *slow_; }
  const ScmLevelModel& LevelOf(Level level) const { return level == Level::kFast ? fast_ : *slow_; }

  ScmRecords records_;
  std::optional<ScmLevelModel> slow_;  // of ordered media
  ScmLevelModel fast_;
};

}  // namespace mezz::sim
