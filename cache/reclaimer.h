// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/dead_files.h"
#include "cache/index.h"
#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/pack/packer.h"
#include "cache/record.h"
#include "cache/segment_log.h"
#include "cache/survivor_judge.h"

namespace mezz {

// Reclaims segments, one victim (SegmentLog::TakeVictim) after the other. Records that the judge spares, and that the
// DRAM tier does not hold, are copied to the open segment of the proven; this second chance costs them one heat. The
// others leave the index. Without a judge those records are spared that were hit since they were written or last
// spared. The victim stays readable until its last record has moved, so no hit is lost to a reclaim.
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
// With a packer, reclaim packs raw records that may pack, spared or not, as the judge says. So records that were
// written raw while there was room get smaller. The packing takes time under the mutex, but each raw record is packed
// at most once, and a step of a put meets only a few.
//
// Records of dictionaries are not judged. A dictionary in a victim is written anew before the victim drains, unless it
// is gone by then. If there is no room, the trainer writes it later.
//
// The work is cut small: each Put pays for a little more than it wrote (Step). Only a put that finds no free segment
// finishes a whole victim (MakeRoom). In the long run survivors take at most fifteen sixteenths of what is reclaimed,
// so space comes free even where everything is hot; a few victims may be spared whole on credit. Where that frees no
// segment, because survivors waste as much space as before, MakeRoom drops a victim whole.
//
// While a recovery goes on, segments that it has not reached yet go first, the oldest whole and unread: their records
// have no heat, and would go next (SegmentLog::GiveUpOldest).
//
// A record of a forgotten file is dropped without asking the judge. A hollow segment (SegmentLog) is emptied at once,
// whatever its generation.
//
// Segments whose memory failed go before all others, at the next put. Their records are not read again.
//
// Thread-safe. One thread at a time reclaims. Step returns if another thread reclaims; MakeRoom and ShrinkTo wait for
// one victim at most.
class Reclaimer {
 public:
  // Owns none of its arguments; all must outlive this. `throttle`, `judge` and the arguments after it may be null.
  Reclaimer(const Medium& medium, SegmentLog* log, Index* index, Counters* counters, Throttle* throttle,
            SurvivorJudge* judge, Packer* packer = nullptr, Dictionaries* dictionaries = nullptr,
            const DeadFiles* dead = nullptr, const Authenticator* authenticator = nullptr);

  // Call it when `bytes` were appended for that share. Reclaims in proportion to them while free segments are few, or
  // the share is full, and quarantines condemned segments.
  void Step(uint64_t bytes, ShareId share = kNoShare);
  // Forgets the records of condemned segments, unread, and lets the segments drain. Does nothing while another thread
  // reclaims.
  void Quarantine();
  // Call it after a record was published. Splits a group or two of an index that is to grow, unless another thread
  // reclaims: it needs the mutex, because reclaim must find the words that Split moves.
  void GrowIndex();
  // Sets how many percent of a proven victim's records must be hot for it to be queued again. 0, until it is set:
  // never. Relaxed: the next victim may be judged by the old value.
  void SetRequeuePercent(unsigned percent) { requeue_percent_.store(percent, std::memory_order_relaxed); }

  // Tells that the DRAM tier is about to go. From now on records whose blocks it holds are spared instead of dropped.
  // Relaxed: a record that is judged meanwhile may still be dropped.
  void SpareDram() { dram_goes_.store(true, std::memory_order_relaxed); }

  // Runs `change` while no record is being moved. Waits for the step of another thread, or for its victim. Allocates
  // nothing, whatever `change` holds.
  template <typename Change>
  void WhileNothingMoves(Change&& change) {
    RunWhileNothingMoves(std::ref(change));
  }

  // Reclaims until a writer of that share can open a segment. False: all that may be taken is pinned, or nothing is
  // left.
  bool MakeRoom(ShareId share = kNoShare);
  // Reclaims without sparing any record, until at most `segments` are in use or drain. The records of pinned segments
  // are forgotten now; their space is free when the last pin goes. Other threads may reclaim between two victims.
  void ShrinkTo(uint32_t segments);

  // Whether pins kept the last search for a victim from more than a quarter of the segments. Under pressure every
  // 1024th call counts the pins again: without writes nothing is reclaimed, and the pressure would outlive the pins.
  bool PinPressure();

  // The most records that were settled in one stay under the mutex since the last call: a measure of how long others
  // may have waited.
  uint64_t TakeLongestStay() { return longest_stay_.exchange(0, std::memory_order_relaxed); }

 private:
  enum class Pass { kWeigh, kCool, kEmpty };
  struct Victim {
    SegmentId segment{};
    Generation generation = Generation::kYoung;
    ShareId share = kNoShare;
    Pass pass = Pass::kEmpty;
    uint64_t cursor = 0;  // offset of the next record, from the start of the medium
    uint64_t end = 0;
    uint64_t records = 0, hot = 0;  // counted by kWeigh
  };
  // kDrop spares nothing, kDropPinned takes pinned segments too.
  enum class Mode { kSpare, kDrop, kDropPinned };
  class Stay;

  void RunWhileNothingMoves(const std::function<void()>& change);
  bool IsDead(const record::Header& header) const { return dead_ != nullptr && dead_->Has(header.key.file()); }
  bool WorkLocked(uint64_t bytes, Mode mode, ShareId needs = kNoShare);
  bool PickVictimLocked(Mode mode, ShareId needs);
  uint64_t VisitNextLocked(Mode mode);
  void StartPassLocked(Pass pass);
  void FinishPassLocked();
  void WeighLocked(const record::Header& header, uint64_t offset);
  enum class Packing { kDone, kUseless, kNoMemory, kNoRoom };
  bool IsMark(IndexWord word) const;
  Fate FateOf(const record::Header& header, IndexWord word, bool packable) const;
  void SettleLocked(uint64_t offset, record::Header header, Mode mode);
  bool SpareLocked(uint64_t offset, const record::Header& header, Index::Entry entry);
  Packing PackLocked(uint64_t offset, const record::Header& header, Index::Entry entry, Fate fate);
  std::optional<SegmentLog::Reservation> ReserveLocked(unsigned lane, uint64_t bytes, SegmentLog::For whom);
  std::optional<SegmentLog::Reservation> ReserveAsProvenLocked(uint64_t bytes, ShareId share);
  std::optional<SegmentLog::Reservation> ReserveForPackedLocked(uint64_t bytes, Fate fate);
  std::optional<SegmentLog::Reservation> CopyLocked(uint64_t offset, const record::Header& header);
  void KeepDictionaryLocked(uint64_t offset, SegmentId to);
  void RewriteDictionariesLocked(SegmentId lost);
  template <typename Is>
  void ForgetIfLocked(const Is& is);
  void ForgetRestLocked();
  void QuarantineLocked();
  void QuarantineLocked(std::span<const SegmentId> segments);

  const Medium& medium_;
  SegmentLog* const log_;
  Index* const index_;
  Counters* const counters_;
  Throttle* const throttle_;
  SurvivorJudge* const judge_;
  Packer* const packer_;
  Dictionaries* const dictionaries_;
  const DeadFiles* const dead_;
  const Authenticator* const authenticator_;

  Mutex mutex_;
  std::optional<Victim> victim_;    // GUARDED_BY(mutex_)
  uint64_t survivor_credit_;        // GUARDED_BY(mutex_): bytes that may still be spared
  uint64_t settled_ = 0;            // GUARDED_BY(mutex_): records settled in this stay
  uint32_t requeued_in_a_row_ = 0;  // GUARDED_BY(mutex_): segments requeued since one was emptied
  // All of these are relaxed: they are hints and a figure, and publish nothing.
  Atomic<uint32_t> waiting_{0};  // threads that want mutex_ to make room
  Atomic<bool> pin_pressure_{false};
  Atomic<uint32_t> asked_under_pressure_{0};
  Atomic<unsigned> requeue_percent_{0};
  Atomic<bool> dram_goes_{false};
  Atomic<uint64_t> longest_stay_{0};
};

}  // namespace mezz
