// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/index.h"
#include "cache/record.h"
#include "cache/record_mover.h"
#include "cache/segment_log.h"
#include "cache/survivor_judge.h"

namespace mezz {

// Empties segments of one level, one victim (SegmentLog::TakeVictim) after the other: the cleaner of a log-structured
// file system (Rosenblum and Ousterhout, SOSP'91). Records that the judge spares, and that the DRAM tier does not hold,
// are copied to the open segment of the proven; this second chance costs them one heat. Those that it demotes are
// copied to the slow level, if there is one. The others leave the index. Without a judge those records are spared that
// were hit since they were written or last spared, and the others are demoted. The victim stays readable until its last
// record has moved, so no hit is lost to a reclaim.
//
// A victim is walked from its first record to its last, once in each pass:
//
//   taken --young, or SetRequeuePercent says never--> kEmpty --walked--> it drains
//   taken --proven--> kWeigh --walked: few hot--> kEmpty
//                            --walked: many hot--> kCool --walked--> queued again as the youngest of the proven
//   kWeigh, kCool --a record that must go, or a damaged one--> kEmpty, from the first record on
//
// So a segment whose records would nearly all be copied stays as it is, and nothing is written. Each of its records
// pays the one heat that a copy would have cost. The percentage limits what else lies in it.
//
// With a packer, raw records that may pack are packed, spared or not, as the judge says. So records that were written
// raw while there was room get smaller. The packing takes time under the mutex, but each raw record is packed at most
// once, and a step of a put meets only a few.
//
// Records of dictionaries are not judged. A dictionary in a victim is written anew before the victim drains, unless it
// is gone by then. If there is no room, the trainer writes it later.
//
// What is spared needs credit (RecordMover). What is demoted takes no space of the level, so it needs none: the slow
// level's cleaner makes room for it, a little with each record.
//
// A record of a forgotten file is dropped without asking the judge. A sparse segment (SegmentLog) is emptied at once,
// whatever its generation.
//
// Not thread-safe, but for the settings and pin_pressure: the reclaimer's mutex guards the rest.
class SegmentCleaner {
 public:
  // `slower` cleans the level to which records are demoted; null: there is none. It is not owned.
  SegmentCleaner(const CleanerParts& parts, Level level, SegmentCleaner* slower);

  // kDrop spares nothing, kDropPinned takes pinned segments too. kMove takes withdrawn segments alone
  // (SegmentLog::TakeWithdrawn), also pinned ones: their records move as they are while segments are free elsewhere;
  // without these, those that the judge spares or demotes do.
  enum class Mode { kSpare, kDrop, kDropPinned, kMove };
  // Walks up to `bytes` of one victim, in its present pass. `needs`: as SegmentLog::TakeVictim says. False: there is no
  // victim.
  bool Work(uint64_t bytes, Mode mode, ShareId needs = kNoShare);

  std::optional<SegmentId> victim() const { return victim_ ? std::optional(victim_->segment) : std::nullopt; }
  // Leaves the victim to the caller, who is to drain it.
  void GiveUpVictim() { victim_.reset(); }
  Level LevelToMoveTo() const { return mover_.LevelToMoveTo(); }
  void RewriteDictionaries(SegmentId lost) { mover_.RewriteDictionaries(lost); }
  // Takes words out of the index that point into a segment with `is`.
  template <typename Is>
  void ForgetIf(const Is& is) {
    const auto lies_in = [&](IndexWord word) { return is(parts_.log->SegmentAt(word.line() * kLineBytes)); };
    parts_.counters->Add(Event::kScmDropped, BlockRole::kOther, parts_.index->RemoveIf(lies_in));
  }
  // The records settled since the last call.
  uint64_t TakeSettled() { return std::exchange(settled_, 0); }

  // As in Reclaimer.
  void SetRequeuePercent(unsigned percent) { requeue_percent_.store(percent, std::memory_order_relaxed); }
  void SpareDram() { dram_goes_.store(true, std::memory_order_relaxed); }
  // Whether pins kept the last search for a victim from more than a quarter of the level's segments.
  bool pin_pressure() const { return pin_pressure_.load(std::memory_order_relaxed); }
  void SetPinPressure(bool pressure) { pin_pressure_.store(pressure, std::memory_order_relaxed); }

 private:
  enum class Pass { kWeigh, kCool, kEmpty };
  struct Victim {
    SegmentId segment{};
    Generation generation = Generation::kYoung;
    ShareId share = kNoShare;
    bool is_reserved = false;  // by its share
    Pass pass = Pass::kEmpty;
    uint64_t cursor = 0;  // offset of the next record, from the start of the medium
    uint64_t end = 0;
    uint64_t records = 0, hot = 0;  // counted by kWeigh
  };

  bool IsDead(const record::Header& header) const {
    return parts_.dead != nullptr && parts_.dead->Has(header.key.file());
  }
  bool PickVictim(Mode mode, ShareId needs);
  uint64_t VisitNext(Mode mode);
  void StartPass(Pass pass);
  void FinishPass();
  void Weigh(const record::Header& header, uint64_t offset);
  bool IsMark(IndexWord word) const;
  Fate FateOf(const record::Header& header, IndexWord word, bool packable) const;
  void Settle(uint64_t offset, const record::Header& header, Mode mode);
  bool MayDemote() const { return slower_ != nullptr && parts_.log->space().IsInUse(Level::kSlow); }
  std::optional<SegmentLog::Reservation> TakeIn(uint64_t bytes, ShareId share);
  void ForgetRest();

  const CleanerParts parts_;
  const Level level_;
  SegmentCleaner* const slower_;
  std::optional<Victim> victim_;
  RecordMover mover_;
  uint64_t settled_ = 0;            // records
  uint32_t requeued_in_a_row_ = 0;  // segments requeued since one was emptied
  // These are relaxed: hints and settings, which publish nothing.
  Atomic<bool> pin_pressure_{false};
  Atomic<unsigned> requeue_percent_{0};
  Atomic<bool> dram_goes_{false};
};

}  // namespace mezz
