// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "admission/curves/scm_records.h"
#include "admission/curves/scm_segments_model.h"
#include "cache/survivor_judge.h"

namespace mezz::sim {

// One level of ScmModel: its segments, and the cleaner that empties them.
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
  using Judge = std::function<Fate(const Reached&)>;
  // `options`: with the capacity of this level. `slower`: where it demotes to; null: nowhere. Both pointers must
  // outlive this.
  ScmLevelModel(ScmRecords* records, const ScmModelOptions& options, Level level, ScmLevelModel* slower);
  ScmLevelModel(const ScmLevelModel&) = delete;
  ScmLevelModel& operator=(const ScmLevelModel&) = delete;

  // As ScmModel::Put.
  bool Put(BlockId block, Generation generation, Form wanted, const Judge& judge);
  // Removes the record of a block whose file was deleted. REQUIRES: it lies here.
  void EraseDead(BlockId block);
  // REQUIRES: the block's record lies here.
  bool IsPacked(BlockId block) const {
    return FormAt(records_[block].segment, records_[block].record) == Stored::kPacked;
  }
  void SetYoungPercent(unsigned percent) { options_.young_percent = percent; }

  ScmCounts counts() const;
  bool sparse() const { return segments_.sparse(); }
  uint64_t used_units() const { return used_; }

  // Checks the level, and appends a sentence for each contradiction. Returns how many live records it holds.
  uint64_t Audit(std::vector<std::string>* violations) const;

 private:
  using Stored = ScmSegmentsModel::Stored;
  using Lane = ScmSegmentsModel::Lane;
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
  bool PickVictim();
  void StartPass(Pass pass);
  void FinishPass();
  void Weigh(uint32_t segment, uint32_t record);

  bool MakeRoomExactly(Lane* lane, uint64_t units, const Judge& judge);
  bool MakeRoomAsLive(Lane* lane, uint64_t units, const Judge& judge);
  enum class Mode { kSpare, kDrop };
  bool Work(uint64_t units, Mode mode, const Judge& judge);
  uint64_t VisitNext(Mode mode, const Judge& judge);
  void Settle(uint32_t segment, uint32_t record, const Judge& judge);
  bool TakeIn(BlockId block, Stored form, const Judge& judge);
  bool ReserveAsLive(uint64_t units, const Judge& judge);
  void MoveTo(Lane* lane, BlockId block, Stored form, unsigned heat_cost);
  bool Copy(BlockId block, Stored form);
  enum class Packing { kDone, kUseless, kNoRoom };  // as Reclaimer's
  Packing PackAtReclaim(BlockId block, Fate fate);

  ScmRecords& records_;
  ScmModelOptions options_;
  const Level level_;
  ScmLevelModel* const slower_;  // null: there is none
  ScmSegmentsModel segments_;
  std::optional<Victim> victim_;
  uint32_t requeued_in_a_row_ = 0;
  uint64_t credit_;    // units that may still be spared, times kSurvivorShareDenominator
  uint64_t used_ = 0;  // units of all records that reclaim has not passed yet, dead ones included
  ScmCounts counts_;
};

}  // namespace mezz::sim
