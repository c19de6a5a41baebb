// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/dead_files.h"
#include "cache/index.h"
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
// In the long run survivors take at most fifteen sixteenths of what is emptied, so space comes free even where
// everything is hot; a few victims may be spared whole on credit. What is demoted takes no space of the level, so it
// needs no credit: the slow level's cleaner makes room for it, a little with each record.
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
  // Where kMove moves what lies there: to the same level, if that is in use without it.
  Level LevelToMoveTo() const;
  // Writes dictionaries anew whose records lay in the segment `lost`.
  void RewriteDictionaries(SegmentId lost);
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
  enum class Packing { kDone, kUseless, kNoMemory, kNoRoom };
  bool IsMark(IndexWord word) const;
  Fate FateOf(const record::Header& header, IndexWord word, bool packable) const;
  void Settle(uint64_t offset, record::Header header, Mode mode);
  bool MayDemote() const { return slower_ != nullptr && parts_.log->space().IsInUse(Level::kSlow); }
  bool MayCopy(const record::Header& header, uint64_t offset, Index::Entry entry);
  bool Spare(uint64_t offset, const record::Header& header, Index::Entry entry);
  bool Demote(uint64_t offset, const record::Header& header, Index::Entry entry);
  bool MovesUnjudged() const;
  bool MoveOut(uint64_t offset, const record::Header& header, Index::Entry entry, SegmentLog::For whom);
  bool PointToCopy(Index::Entry entry, const SegmentLog::Reservation& to, unsigned heat_cost);
  std::optional<SegmentLog::Reservation> TakeIn(uint64_t bytes, ShareId share);
  Packing Pack(uint64_t offset, const record::Header& header, Index::Entry entry, Fate fate);
  std::optional<SegmentLog::Reservation> Reserve(Level level, Generation generation, uint64_t bytes, ShareId share,
                                                 SegmentLog::For whom);
  std::optional<SegmentLog::Reservation> ReserveAsProven(Level level, uint64_t bytes, ShareId share);
  std::optional<SegmentLog::Reservation> ReserveForPacked(uint64_t bytes, Fate fate);
  bool Copy(uint64_t offset, const record::Header& header, const SegmentLog::Reservation& to);
  void KeepDictionary(uint64_t offset, SegmentId to);
  void ForgetRest();

  const CleanerParts parts_;
  const Level level_;
  SegmentCleaner* const slower_;
  std::optional<Victim> victim_;
  uint64_t survivor_credit_;        // bytes that may still be spared
  uint64_t settled_ = 0;            // records
  uint32_t requeued_in_a_row_ = 0;  // segments requeued since one was emptied
  // These are relaxed: hints and settings, which publish nothing.
  Atomic<bool> pin_pressure_{false};
  Atomic<unsigned> requeue_percent_{0};
  Atomic<bool> dram_goes_{false};
};

}  // namespace mezz
