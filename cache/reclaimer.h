// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

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

// Empties the next segment (SegmentLog::TakeVictim): the records that the judge spares, and that the DRAM tier does not
// hold, are copied to the open segment of the proven (a second chance, which costs them one heat); the others leave the
// index. Without a judge those are spared that were hit since they were written or last spared. The victim stays
// readable until its last record has moved, so no hit is lost to a reclaim.
//
// A victim is walked from its first record to its last, once in each pass:
//
//   taken --young, or SetRequeuePercent says never--> kEmpty --walked--> it drains
//   taken --proven--> kWeigh --walked: few hot--> kEmpty
//                            --walked: many hot--> kCool --walked--> queued again as the youngest of the proven
//   kWeigh, kCool --what is to be dropped, or damage--> kEmpty, from the first record on
//
// So a segment whose records would nearly all be copied stays as it is, and nothing is written; each of its records has
// paid the one heat that a copy would have cost. What else lies in it is bounded by the percentage.
//
// With a packer, raw records that may pack are packed on that occasion, spared or not, as the judge says: what was
// written raw while there was room (Form) makes place by getting smaller. That costs the time to pack under the mutex:
// each raw record is packed so at most once, and a step of a put meets a few.
//
// Records of dictionaries are not judged: one that lies in a victim is written anew before the victim drains, unless
// the dictionary is gone by then, or there is no room; then the trainer writes it later.
//
// The work is cut small: each Put pays for a little more than it wrote (Step), and only one that finds no free segment
// finishes a whole victim (MakeRoom). Survivors take at most fifteen sixteenths of what is reclaimed in the long run,
// so space comes free even where everything is hot; a few victims may be spared whole on credit. Where that wins no
// segment, because survivors lie as loosely as before, MakeRoom drops one whole.
//
// While a recovery goes on, segments that it has not come to go first, the oldest whole and unread: they hold what has
// no heat, and what would go next (SegmentLog::GiveUpOldest).
//
// A record of a forgotten file is dropped without asking the judge. A hollow segment (SegmentLog) is emptied at once,
// whatever its generation.
//
// Segments whose memory failed go before all of these, at the next put: their records are not read again.
//
// Thread-safe. One thread at a time reclaims; Step gives up if another is at it, MakeRoom and ShrinkTo wait for one
// victim at most.
class Reclaimer {
 public:
  // None is owned; all outlive this. `throttle`, `judge` and what comes behind it may be null.
  Reclaimer(const Medium& medium, SegmentLog* log, Index* index, Counters* counters, Throttle* throttle,
            SurvivorJudge* judge, Packer* packer = nullptr, Dictionaries* dictionaries = nullptr,
            const DeadFiles* dead = nullptr, const Authenticator* authenticator = nullptr);

  // Called for `bytes` appended: reclaims in proportion while free segments are few, and quarantines what is condemned.
  void Step(uint64_t bytes);
  // Forgets the records of condemned segments, unread, and lets those drain; not while another thread reclaims.
  void Quarantine();
  // Called after a record was published: splits a group or two of an index that is to grow, unless another thread
  // reclaims. Under the mutex, because reclaim must find the words that Split moves.
  void GrowIndex();
  // How many percent of a proven victim's records must be hot for it to be queued again; 0, until it is set: never.
  // Relaxed: the next victim may be judged by the old one.
  void SetRequeuePercent(unsigned percent) { requeue_percent_.store(percent, std::memory_order_relaxed); }

  // The DRAM tier is going: from now on what it holds is spared, where it was dropped because it lies there too.
  // Relaxed: what is judged meanwhile may be dropped still.
  void SpareDram() { dram_goes_.store(true, std::memory_order_relaxed); }

  // Runs `change` while no record is being moved. Waits for another thread's step, or for its victim.
  // Allocates nothing, whatever `change` holds.
  template <typename Change>
  void WhileNothingMoves(Change&& change) {
    RunWhileNothingMoves(std::ref(change));
  }

  // Reclaims until a writer can open a segment. False: what is left is pinned, or there is nothing.
  bool MakeRoom();
  // Reclaims, sparing nothing, until at most `segments` are in use or on their way out: pinned ones are forgotten now
  // and free when their last pin goes. Other threads reclaim in between, victim by victim.
  void ShrinkTo(uint32_t segments);

  // Pins kept the last search for a victim from more than a quarter of the segments. Under pressure every 1024th call
  // counts them again: where nothing is written nothing is reclaimed, and the pressure would outlive the pins.
  bool PinPressure();

  // Of one stay under the mutex, the most records it settled since the last call: how long others may have waited.
  uint64_t TakeLongestStay() { return longest_stay_.exchange(0, std::memory_order_relaxed); }

 private:
  enum class Pass { kWeigh, kCool, kEmpty };
  struct Victim {
    SegmentId segment{};
    Generation generation = Generation::kYoung;
    Pass pass = Pass::kEmpty;
    uint64_t cursor = 0;  // absolute offset of the next record
    uint64_t end = 0;
    uint64_t records = 0, hot = 0;  // seen by kWeigh
  };
  // kDrop spares nothing, kDropPinned takes pinned segments too.
  enum class Mode { kSpare, kDrop, kDropPinned };
  class Stay;

  void RunWhileNothingMoves(const std::function<void()>& change);
  bool IsDead(const record::Header& header) const { return dead_ != nullptr && dead_->Has(header.key.file()); }
  bool WorkLocked(uint64_t bytes, Mode mode);
  bool PickVictimLocked(Mode mode);
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
  std::optional<SegmentLog::Reservation> ReserveAsProvenLocked(uint64_t bytes);
  std::optional<SegmentLog::Reservation> ReserveForPackedLocked(uint64_t bytes, Fate fate);
  std::optional<SegmentLog::Reservation> CopyLocked(uint64_t offset, const record::Header& header);
  void KeepDictionaryLocked(uint64_t offset, SegmentId to);
  void RewriteDictionariesLocked(SegmentId lost);
  void ForgetRecordsLocked(SegmentId segment);
  void ForgetRestLocked();
  void QuarantineLocked();
  void QuarantineLocked(SegmentId segment);

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
  uint64_t settled_ = 0;            // GUARDED_BY(mutex_): records, in this stay
  uint32_t requeued_in_a_row_ = 0;  // GUARDED_BY(mutex_): segments, since one was emptied
  // Relaxed, all of them: advice and a figure, they publish nothing.
  Atomic<uint32_t> waiting_{0};  // threads that want mutex_ to make room
  Atomic<bool> pin_pressure_{false};
  Atomic<uint32_t> asked_under_pressure_{0};
  Atomic<unsigned> requeue_percent_{0};
  Atomic<bool> dram_goes_{false};
  Atomic<uint64_t> longest_stay_{0};
};

}  // namespace mezz
