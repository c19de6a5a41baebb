// SPDX-License-Identifier: Apache-2.0
#include "cache/reclaimer.h"

#include <optional>
#include <thread>
#include <utility>

#include "cache/log_reader.h"
#include "cache/log_rules.h"

namespace mezz {

// Holds the mutex, and counts what its holder settled.
class Reclaimer::Stay {
 public:
  Stay(Reclaimer& reclaimer, std::unique_lock<Mutex> lock) : reclaimer_(reclaimer), lock_(std::move(lock)) {
    (void)TakeSettled();
  }
  ~Stay() {
    const uint64_t settled = TakeSettled();
    uint64_t longest = reclaimer_.longest_stay_.load(std::memory_order_relaxed);
    while (settled > longest && !reclaimer_.longest_stay_.compare_exchange_weak(
                                    longest, settled, std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }

 private:
  uint64_t TakeSettled() { return reclaimer_.fast_.TakeSettled() + reclaimer_.slow_.TakeSettled(); }

  Reclaimer& reclaimer_;
  std::unique_lock<Mutex> lock_;
};

Reclaimer::Reclaimer(const CleanerParts& parts)
    : parts_(parts),
      slow_(parts, Level::kSlow, /*slower=*/nullptr),
      fast_(parts, Level::kFast, parts.log->has_slow() ? &slow_ : nullptr) {}

void Reclaimer::Step(uint64_t bytes, ShareId share) {
  if (parts_.log->faults().HasCondemned()) [[unlikely]]
    Quarantine();
  const Level level = parts_.log->LevelOfNew();
  const uint32_t enough = log_rules::FreeKept(parts_.log->writer_lanes(level));
  const uint32_t free = parts_.log->space().free_segments(level);
  const bool full = parts_.log->owners().IsFull(share, level);
  if (free > enough && !full) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Stay stay(*this, std::move(lock));
  CleanerOf(level).Work(bytes * (free <= 1 || full ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare,
                        share);
}

void Reclaimer::Quarantine() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // the next put does it
  const Stay stay(*this, std::move(lock));
  QuarantineLocked();
}

void Reclaimer::QuarantineLocked() {
  for (SegmentCleaner* const cleaner : {&fast_, &slow_}) {
    const std::optional<SegmentId> victim = cleaner->victim();
    if (!victim || !parts_.log->faults().IsCondemned(*victim)) continue;
    QuarantineLocked(std::span(&*victim, 1));
    cleaner->GiveUpVictim();
  }
  QuarantineLocked(parts_.log->faults().TakeCondemned());
}

// What else lies in condemned segments may be forgotten, too.
void Reclaimer::QuarantineLocked(std::span<const SegmentId> segments) {
  if (segments.empty()) return;
  fast_.ForgetIf([this](SegmentId id) { return parts_.log->faults().IsCondemned(id); });
  for (const SegmentId id : segments) fast_.RewriteDictionaries(id);
  parts_.log->StartDraining(segments);
}

void Reclaimer::GrowIndex() {
  constexpr int kSplitsMax = 2;  // sixteen words' room each, for one record
  constexpr unsigned kHeadersOfSplit = BucketGroups::kMembersMax / 2 * Index::kSlotsPerBucket;  // read, on average
  if (!parts_.index->WantsToGrow()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  LogReader reader(parts_.medium, parts_.log, parts_.counters);
  for (int i = 0; i < kSplitsMax && parts_.index->WantsToGrow(); ++i) {
    if (parts_.emulation != nullptr) parts_.emulation->ChargeLines(/*offset=*/0, kHeadersOfSplit);
    const auto key_of = [&](IndexWord word) -> const BlockKey& { return reader.HeaderOf(word).key; };
    const unsigned forgotten = parts_.index->Split(reader, key_of, AgeIn{*parts_.log});
    if (forgotten != 0) parts_.counters->Add(Event::kScmDisplaced, BlockRole::kOther, forgotten);
  }
}

void Reclaimer::RunWhileNothingMoves(const std::function<void()>& change) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const Stay stay(*this, std::unique_lock(mutex_));
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  change();
}

bool Reclaimer::MakeRoom(ShareId share) {
  constexpr uint32_t kVictimsAtOnce = 8;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const Stay stay(*this, std::unique_lock(mutex_));
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  const Level level = parts_.log->LevelOfNew();
  const uint32_t held = parts_.log->owners().HeldBy(share, level);
  for (uint32_t tries = 0; tries < log_rules::kSparingVictimsMax + parts_.log->segments(); ++tries) {
    if (parts_.log->space().free_segments(level) > 1 && !parts_.log->owners().IsFull(share, level)) return true;
    // A share far above a maximum that was lowered: others may reclaim before it is asked for again.
    if (tries >= kVictimsAtOnce && parts_.log->owners().IsFull(share, level) &&
        parts_.log->owners().HeldBy(share, level) + kVictimsAtOnce / 2 <= held)
      return true;
    const Mode mode = tries < log_rules::kSparingVictimsMax ? Mode::kSpare : Mode::kDrop;
    if (!CleanerOf(level).Work(UINT64_MAX, mode, share)) return false;
  }
  return false;  // pinned since they were taken
}

// Between two victims of many. A mutex favours who released it last, so those who wait for room are let in.
void Reclaimer::LetOthersIn(bool worked) {
  constexpr int kYieldsMax = 100;
  if (!worked) std::this_thread::yield();
  for (int i = 0; i < kYieldsMax && waiting_.load(std::memory_order_relaxed) != 0; ++i) std::this_thread::yield();
}

void Reclaimer::EmptyWithdrawn() {
  uint32_t made_room = 0;  // victims in a row that were to
  for (;;) {
    bool worked = false, waits = false;
    {
      const Stay stay(*this, std::unique_lock(mutex_));
      for (const Level level : {Level::kFast, Level::kSlow}) {
        if (worked || !HasWithdrawn(level)) continue;
        if (made_room < log_rules::kReclaimedToMoveMax && MakeRoomToMove(CleanerOf(level).LevelToMoveTo())) {
          worked = true;
          ++made_room;
        } else if (CleanerOf(level).Work(UINT64_MAX, Mode::kMove)) {
          worked = true;
          made_room = 0;
        } else {
          waits = true;  // until the writers in it have left
        }
      }
    }
    if (!worked && !waits) return;
    LetOthersIn(worked);
  }
}

// REQUIRES: mutex_ is held.
bool Reclaimer::HasWithdrawn(Level level) {
  const std::optional<SegmentId> victim = CleanerOf(level).victim();
  return (victim && parts_.log->space().IsWithdrawn(*victim)) || parts_.log->space().HasWithdrawn(level);
}

// Reclaims a victim if writers of the level have few free segments. False: they have enough, or there is no victim.
// REQUIRES: mutex_ is held.
bool Reclaimer::MakeRoomToMove(Level level) {
  return parts_.log->space().free_segments(level) <= log_rules::FreeKept(parts_.log->writer_lanes(level)) &&
         CleanerOf(level).Work(UINT64_MAX, Mode::kSpare);
}

void Reclaimer::ShrinkTo(uint32_t segments) {
  for (;;) {
    bool worked = false, waits = false;
    {
      const Stay stay(*this, std::unique_lock(mutex_));
      if (parts_.log->space().LimitTo(segments) == 0) return;
      if (segments == 0) parts_.log->SealAll();
      for (const Level level : {Level::kFast, Level::kSlow}) {
        if (!parts_.log->space().MustShrink(level)) continue;
        if (CleanerOf(level).Work(UINT64_MAX, Mode::kDropPinned)) {
          worked = true;
        } else if (parts_.log->HasSealed(level)) {
          waits = true;  // until the writers in them have left
        } else {
          worked |= parts_.log->SealOpen(level);  // all that is left is open, or holds tombstones
        }
      }
    }
    if (!worked && !waits) return;
    LetOthersIn(worked);
  }
}

bool Reclaimer::PinPressure() {
  constexpr uint32_t kRecountEvery = 1024;
  if (!fast_.pin_pressure() && !slow_.pin_pressure()) return false;
  if (asked_under_pressure_.fetch_add(1, std::memory_order_relaxed) % kRecountEvery != kRecountEvery - 1) return true;
  const bool pressure =
      4 * parts_.log->PinnedSegments() + parts_.log->space().unused_segments() > parts_.log->segments();
  for (SegmentCleaner* const cleaner : {&fast_, &slow_}) cleaner->SetPinPressure(pressure);
  return pressure;
}

}  // namespace mezz
