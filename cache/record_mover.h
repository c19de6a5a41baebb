// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cache/counters.h"
#include "cache/dead_files.h"
#include "cache/index.h"
#include "cache/log_rules.h"
#include "cache/media/emulation.h"
#include "cache/media/medium.h"
#include "cache/pack/packer.h"
#include "cache/record.h"
#include "cache/segment_log.h"
#include "cache/survivor_judge.h"

namespace mezz {

// What a cleaner works with. Nothing is owned. Those from `emulation` on may be null.
struct CleanerParts {
  const Medium& medium;
  SegmentLog* log;
  Index* index;
  Counters* counters;
  Emulation* emulation = nullptr;
  SurvivorJudge* judge = nullptr;
  Packer* packer = nullptr;
  Dictionaries* dictionaries = nullptr;
  const DeadFiles* dead = nullptr;
  const Authenticator* authenticator = nullptr;
};

// Moves records of segments that a cleaner empties: finds space, copies a record there or packs it, and makes the index
// name the copy. Until then the record is found where it lies.
//
// A victim gives credit, which what is spared or packed uses up: survivors take at most fifteen sixteenths of what is
// emptied in the long run, so space comes free even where everything is hot. A few victims may be spared whole on
// credit.
//
// Not thread-safe: as SegmentCleaner.
class RecordMover {
 public:
  // `parts` and what it names outlive this.
  RecordMover(const CleanerParts& parts, Level level)
      : parts_(parts), level_(level), credit_(parts.log->segment_bytes()) {}

  // A record of a victim.
  struct Record {
    SegmentId segment{};
    Generation generation = Generation::kYoung;
    ShareId share = kNoShare;
    uint64_t offset = 0;
    record::Header header{};
    Index::Entry entry{};
    uint64_t bytes() const { return layout::RecordBytes(header.payload_bytes); }
  };

  // Adds the credit of a victim in which `bytes` are in use.
  void AddCredit(uint64_t bytes);
  bool HasCredit(uint64_t bytes) const { return bytes <= credit_; }

  // Whether the record may be copied. A copy is not told any more from what was stored in this life, so what no hit has
  // checked is checked here. False: it was damaged, and is forgotten.
  bool MayCopy(const Record& from) const;
  // Spares a record, for one heat. REQUIRES: HasCredit. False, here and below: there was no room for the copy, or it
  // could not be made.
  bool Spare(const Record& from);
  // Moves a record of a withdrawn segment as it is. For kReclaim it may take the last free segment, and go beyond the
  // maximum of a share, which is less now.
  bool MoveOut(const Record& from, SegmentLog::For whom);
  // Demotes a record to `to`, which is of the slow level.
  bool Demote(const Record& from, const std::optional<SegmentLog::Reservation>& to);
  // Packs a record, if there is credit for what it becomes. kDone also if it was damaged, and is forgotten.
  enum class Packing { kDone, kUseless, kNoMemory, kNoRoom };
  Packing Pack(const Record& from, Fate fate);

  // Where records of withdrawn segments go: to the same level, if that is in use without them.
  Level LevelToMoveTo() const;
  // Whether what lies in a withdrawn segment moves unjudged: it displaces nothing, as more is free than reclaim keeps
  // free for writers.
  bool MovesUnjudged() const;
  // Reserves space for a record that the faster level demotes.
  std::optional<SegmentLog::Reservation> ReserveYoung(uint64_t bytes, ShareId share) {
    return Reserve(level_, Generation::kYoung, bytes, share, SegmentLog::For::kWriter);
  }
  // Writes dictionaries anew whose records lay in the segment `lost`.
  void RewriteDictionaries(SegmentId lost);

 private:
  std::optional<SegmentLog::Reservation> Reserve(Level level, Generation generation, uint64_t bytes, ShareId share,
                                                 SegmentLog::For whom);
  std::optional<SegmentLog::Reservation> ReserveAsProven(Level level, uint64_t bytes, ShareId share) {
    return Reserve(level, Generation::kProven, bytes, share, SegmentLog::For::kReclaim);
  }
  std::optional<SegmentLog::Reservation> ReserveForPacked(const Record& from, uint64_t bytes, Fate fate);
  bool Copy(const Record& from, const SegmentLog::Reservation& to);
  void KeepDictionary(const Record& from, SegmentId to);
  bool PointToCopy(Index::Entry entry, const SegmentLog::Reservation& to, unsigned heat_cost);
  void CountSpared(BlockRole role, uint64_t bytes);

  const CleanerParts& parts_;
  const Level level_;
  uint64_t credit_;  // bytes
};

}  // namespace mezz
