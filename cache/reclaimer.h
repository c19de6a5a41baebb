// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "cache/counters.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/segment_log.h"
#include "cache/survivor_judge.h"

namespace mezz {

// Empties the next segment (SegmentLog::TakeVictim): the records that the judge spares, and that the DRAM tier does not
// hold, are copied to the open segment of the proven (a second chance, which costs them one heat); the others leave the
// index. Without a judge those are spared that were hit since they were written or last spared. The victim stays
// readable until its last record has moved, so no hit is lost to a reclaim.
//
// The work is cut small: each Put pays for a little more than it wrote (Step), and only one that finds no free segment
// finishes a whole victim (MakeRoom). Survivors take at most fifteen sixteenths of what is reclaimed in the long run,
// so space comes free even where everything is hot; a few victims may be spared whole on credit.
//
// Thread-safe. One thread at a time reclaims; Step gives up if another is at it, MakeRoom waits for it.
class Reclaimer {
 public:
  // None is owned; all outlive this. `throttle` and `judge` may be null. `resident_blocks` is lowered for each block
  // dropped.
  Reclaimer(const Medium& medium, SegmentLog* log, Index* index, Counters* counters, Throttle* throttle,
            std::atomic<int64_t>* resident_blocks, SurvivorJudge* judge);

  // Called for `bytes` appended: reclaims in proportion while free segments are few.
  void Step(uint64_t bytes);
  // Reclaims until a writer can open a segment. False: what is left is pinned, or there is nothing.
  bool MakeRoom();
  // Reclaims, sparing nothing, until at most `segments` are in use or the rest is pinned.
  void ShrinkTo(uint32_t segments);

  // Pins kept the last search for a victim from more than a quarter of the segments. Under pressure every 1024th call
  // counts them again: where nothing is written nothing is reclaimed, and the pressure would outlive the pins.
  bool PinPressure();

 private:
  struct Victim {
    SegmentId segment{};
    Generation generation = Generation::kYoung;
    uint64_t cursor = 0;  // absolute offset of the next record
    uint64_t end = 0;
  };

  bool WorkLocked(uint64_t bytes, bool spare);
  bool PickVictimLocked();
  bool Spares(const layout::RecordHeader& header, IndexWord word) const;
  void SettleLocked(uint64_t offset, const layout::RecordHeader& header, bool spare);
  bool SpareLocked(uint64_t offset, const layout::RecordHeader& header, Index::Slot* slot, IndexWord word);
  std::optional<SegmentLog::Reservation> CopyLocked(uint64_t offset, const layout::RecordHeader& header);
  void ForgetRestLocked();

  const Medium& medium_;
  SegmentLog* const log_;
  Index* const index_;
  Counters* const counters_;
  Throttle* const throttle_;
  std::atomic<int64_t>* const resident_blocks_;
  SurvivorJudge* const judge_;

  std::mutex mutex_;
  std::optional<Victim> victim_;  // GUARDED_BY(mutex_)
  uint64_t survivor_credit_;      // GUARDED_BY(mutex_): bytes that may still be spared
  std::atomic<bool> pin_pressure_{false};
  std::atomic<uint32_t> asked_under_pressure_{0};
};

// The header at `offset` if it is whole and belongs to this fill of its segment, else nothing.
std::optional<layout::RecordHeader> ReadRecordHeader(const Medium& medium, uint64_t offset, uint32_t sequence);
// Sets the header's own checksum.
void SealRecordHeader(layout::RecordHeader* header);
uint32_t PayloadChecksum(const void* payload, size_t bytes);

}  // namespace mezz
