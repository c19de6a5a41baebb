// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "admission/curves/block_trace.h"
#include "admission/curves/pack_model.h"
#include "cache/types.h"

namespace mezz::sim {

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

  ScmCounts& operator+=(const ScmCounts& other) { return Add(other, 1); }
  ScmCounts operator-(const ScmCounts& before) const { return ScmCounts(*this).Add(before, UINT64_MAX); }

 private:
  ScmCounts& Add(const ScmCounts& other, uint64_t factor);
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

}  // namespace mezz::sim
