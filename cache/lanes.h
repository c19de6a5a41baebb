// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/log_level.h"
#include "cache/media/near_media.h"
#include "cache/segment_table.h"
#include "cache/types.h"

namespace mezz {

// Where a log is appended to. Each lane has one segment open at a time, for records of one share, one generation and
// one level.
//
// The fast level's lanes of kNoShare come first: some for young records, which threads share out, and the last one for
// the proven. Behind these lie two for each other share, young and proven, and behind those the slow level's, two for
// each share, kNoShare first.
//
// Thread-safe: a thread that holds the log's mutex changes what is open, and others see that.
class Lanes {
 public:
  // Of a log with these levels, of which what is sealed is queued. Neither is owned.
  Lanes(SegmentTable* table, std::array<LogLevel, kLevels>* levels);

  // Where media lie near different processors, each group of these has lanes of its own, if there are enough.
  void PreferNear(NearMedia near) { near_ = std::move(near); }
  // The media to open a segment of, for the calling thread: a bit each.
  uint32_t NearThisThread() const { return near_.OfThisThread().near; }

  unsigned count() const { return of_rest_ + OfShares(has_slow_); }
  // kNoShare's of the fast level.
  unsigned of_rest() const { return of_rest_; }
  unsigned writers_max() const { return of_rest_ - 1; }
  unsigned proven() const { return of_rest_ - 1; }
  // So many of the writers' are in use: a level that was made small has room for fewer.
  unsigned UsedWriters() const;
  // The calling thread's, of the first `writers` lanes.
  unsigned OfThisThread(unsigned writers) const;
  // A share's, and kNoShare's of the slow level.
  unsigned OfShare(ShareId share, Generation generation, Level level) const {
    const unsigned first = level == Level::kFast ? of_rest_ + 2 * (Raw(share) - 1u) : slow_begin() + 2 * Raw(share);
    return first + (generation == Generation::kProven ? 1 : 0);
  }

  Level LevelOf(unsigned lane) const { return lane < slow_begin() ? Level::kFast : Level::kSlow; }
  Generation GenerationOf(unsigned lane) const {
    const bool proven = lane < of_rest_ ? lane == this->proven() : (lane - of_rest_) % 2 == 1;
    return proven ? Generation::kProven : Generation::kYoung;
  }
  ShareId ShareOf(unsigned lane) const {
    if (lane < of_rest_) return kNoShare;
    const unsigned number = lane < slow_begin() ? 1 + (lane - of_rest_) / 2 : (lane - slow_begin()) / 2;
    return ShareId{static_cast<uint8_t>(number)};
  }

  // The segment that is open; empty: none. Acquire: who sees it finds it open.
  std::optional<SegmentId> open(unsigned lane) const {
    const uint64_t open = At(lane).load(std::memory_order_acquire);
    return open == kNone ? std::nullopt : std::optional(SegmentId{static_cast<uint32_t>(open)});
  }
  // Lets the lane append to this segment, which is kOpen. REQUIRES, as Seal and SealIf do: the log's mutex is held.
  void Open(unsigned lane, SegmentId id) { At(lane).store(Raw(id), std::memory_order_release); }
  // Seals the lane's segment, if it has one, and queues it.
  void Seal(unsigned lane);
  // Seals the segment of each lane for which judge(lane, segment) is true. False: there was none.
  template <typename Judge>
  bool SealIf(Judge&& judge) {
    bool sealed = false;
    for (unsigned lane = 0; lane < count(); ++lane) {
      const std::optional<SegmentId> open = this->open(lane);
      if (!open || !judge(lane, *open)) continue;
      Seal(lane);
      sealed = true;
    }
    return sealed;
  }

  // Calls visit(place, lane) for each lane that a LogPosition has a place for: kNoShare's.
  template <typename Visit>
  void ForEachPlace(Visit&& visit) const {
    for (unsigned lane = 0; lane < of_rest_; ++lane) visit(lane, lane);
    for (unsigned i = 0; has_slow_ && i < kSlowPlaces; ++i) visit(of_rest_ + i, slow_begin() + i);
  }

  // Beside the object itself.
  static uint64_t DramBytesFor(uint32_t segments, bool has_slow);

 private:
  // A word is the number of the open segment, or kNone.
  using Word = Atomic<uint64_t>;
  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr unsigned kSlowPlaces = 2;
  struct alignas(kLineBytes) OwnLine {
    Word open{kNone};
  };
  struct OtherWord {
    Word open{kNone};
  };

  static unsigned WritersMax(uint32_t fast_segments, bool has_slow);
  static constexpr unsigned OfShares(bool has_slow) { return 2 * (kSharesMax - 1) + (has_slow ? 2 * kSharesMax : 0); }
  unsigned slow_begin() const { return of_rest_ + OfShares(/*has_slow=*/false); }
  const Word& At(unsigned lane) const { return lane < of_rest_ ? rest_[lane].open : others_[lane - of_rest_].open; }
  Word& At(unsigned lane) { return lane < of_rest_ ? rest_[lane].open : others_[lane - of_rest_].open; }

  SegmentTable* const table_;
  std::array<LogLevel, kLevels>& levels_;
  const bool has_slow_;
  const unsigned of_rest_;
  NearMedia near_;
  const std::unique_ptr<OwnLine[]> rest_;
  const std::unique_ptr<OtherWord[]> others_;
};

}  // namespace mezz
