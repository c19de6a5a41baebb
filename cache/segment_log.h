// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/awaiting_segments.h"
#include "cache/base/atomic.h"
#include "cache/base/fork_guard.h"
#include "cache/counters.h"
#include "cache/kept_dictionaries.h"
#include "cache/layout.h"
#include "cache/log_parts.h"
#include "cache/log_sequences.h"
#include "cache/log_space.h"
#include "cache/media/medium.h"
#include "cache/media/near_media.h"
#include "cache/pack/dictionaries.h"
#include "cache/record.h"
#include "cache/segment_faults.h"
#include "cache/segment_fill.h"
#include "cache/segment_headers.h"
#include "cache/segment_owners.h"
#include "cache/tombstone_segments.h"
#include "cache/types.h"

namespace mezz {

// Where all lanes of a log stood at one moment. Space that was reserved before that moment lies before this position;
// space reserved later lies after it.
struct LogPosition {
  uint64_t next_sequence = 0;  // the sequence of the segment opened next
  std::array<layout::OpenSegment, layout::kLanesMax> open;
};

// The medium as a log of segments: who may append, who may read, and what is reclaimed next. All else that is done with
// segments has a room of its own, which callers use beside it.
//
// Each segment has one control word with its state, its writers and its pins (segment_table.h). The rooms change states
// under one mutex (log_parts.h). A segment is written to as long as it is kOpen, and is read as long as it is pinned.
//
// Appending: a writer adds itself as writer and pin, checks that the segment is still kOpen, and takes space by CAS on
// `tail`. A segment is drained only after it was seen sealed without writers. From then on no writer can be in it,
// because one that enters a sealed segment backs off. Before a writer leaves, the space that it took has a record
// header, if only a void one. So a walk over a sealed segment without writers finds header after header up to the tail.
class SegmentLog {
 public:
  using State = SegmentTable::State;
  using Fill = SegmentFill;

  // Space taken in an open segment. The segment counts a writer and a pin for it until Leave.
  struct Reservation {
    SegmentId segment{};
    record::Place place;
  };

  // Every segment is kUnready until Provide. `guard` tells whether this is the process that opened the medium.
  // `dictionaries` is not owned; it may be null where no record uses one. `slow_begin`: of ordered media, where the
  // slow ones begin, from the start of the medium; else capacity_bytes, or more.
  SegmentLog(const Medium& medium, uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t format_id,
             Counters* counters, const ForkGuard& guard, Dictionaries* dictionaries = nullptr,
             uint64_t slow_begin = UINT64_MAX);

  // The rooms.
  LogSequences& sequences() { return sequences_; }
  SegmentHeaders& headers() { return headers_; }
  const SegmentHeaders& headers() const { return headers_; }
  SegmentOwners& owners() { return owners_; }
  const SegmentOwners& owners() const { return owners_; }
  KeptDictionaries& kept_dictionaries() { return kept_dictionaries_; }
  const KeptDictionaries& kept_dictionaries() const { return kept_dictionaries_; }
  LogSpace& space() { return space_; }
  const LogSpace& space() const { return space_; }
  AwaitingSegments& awaiting() { return awaiting_; }
  const AwaitingSegments& awaiting() const { return awaiting_; }
  SegmentFaults& faults() { return faults_; }
  const SegmentFaults& faults() const { return faults_; }
  TombstoneSegments& tombstone_segments() { return tombstones_; }
  const TombstoneSegments& tombstone_segments() const { return tombstones_; }
  LogMembers& members() { return parts_.members; }
  const LogMembers& members() const { return parts_.members; }

  // Whether the segment was adopted, and not filled anew since. REQUIRES: it is pinned, or in no queue.
  bool IsAdopted(SegmentId id) const { return segment(id).adopted; }

  // The fill of every sealed segment. Within a queue, those that reclaim would take first come first. REQUIRES: no
  // other call runs, and nobody reclaims.
  std::vector<Fill> Fills() const;
  // Whether the medium, or one of several, begins with the segment.
  bool BeginsMedium(SegmentId id) const { return parts_.members.Begins(id); }

  uint32_t segments() const { return parts_.segments; }
  // Whether the media are ordered.
  bool has_slow() const { return parts_.has_slow(); }
  Level LevelOf(SegmentId id) const { return parts_.LevelOf(id); }
  Level LevelOfMember(size_t member) const { return parts_.LevelOfMember(member); }
  // The level for what is not on the medium yet: the fast one, as long as it is in use.
  Level LevelOfNew() const { return !has_slow() || space_.IsInUse(Level::kFast) ? Level::kFast : Level::kSlow; }
  uint64_t segment_bytes() const { return parts_.segment_bytes(); }
  SegmentId SegmentAt(uint64_t offset) const { return parts_.SegmentAt(offset); }
  uint64_t FirstRecord(SegmentId id) const { return parts_.FirstRecord(id); }
  // The end of the space taken, from the start of the medium.
  uint64_t Tail(SegmentId id) const { return parts_.BeginOf(id) + segment(id).tail.load(std::memory_order_acquire); }
  uint64_t Sequence(SegmentId id) const { return parts_.SequenceOf(id); }
  bool HoldsRecords(SegmentId id) const { return parts_.table.HoldsRecords(id); }
  State state(SegmentId id) const { return parts_.table.state(id); }
  uint64_t pins(SegmentId id) const { return parts_.table.pins(id); }

  // Tells that the first `segments` segments of the medium, or of one of several, are ready for use. A smaller number
  // than before changes nothing.
  void Provide(uint32_t segments, size_t member = 0);

  // Pins a segment so that it can be read. False: it is neither open nor sealed.
  bool Pin(SegmentId id) {
    if (parts_.table.TryPin(id)) [[likely]]
      return true;
    Unpin(id);
    return false;
  }
  void Unpin(SegmentId id) { Subtract(id, SegmentTable::kPin); }

  // Takes `bytes` (a multiple of 64) from the open segment of `lane`. Empty: the lane has no segment with that much
  // room, and the caller must open one with Advance.
  std::optional<Reservation> Reserve(unsigned lane, uint64_t bytes);
  // Ends a reservation: its record is written, and published if it was to be.
  void Leave(const Reservation& where) { Subtract(where.segment, SegmentTable::kWriter | SegmentTable::kPin); }
  // Of kNoShare, on the fast level; the last is for proven records, also reclaim's survivors.
  unsigned lanes() const { return parts_.lanes.of_rest(); }
  unsigned writer_lanes(Level level) const { return level == Level::kFast ? parts_.lanes.UsedWriters() : 1; }
  unsigned proven_lane() const { return parts_.lanes.proven(); }
  unsigned LaneOfThisThread() const { return parts_.lanes.OfThisThread(parts_.lanes.UsedWriters()); }
  // The lane for a record of this share; one that was removed has the rest's. A share other than kNoShare has one for
  // each generation and level, as a segment belongs to one share, and so has kNoShare on the slow level. These lanes
  // lie behind lanes(). Of these a LogPosition tells only where kNoShare's stand, so with erase=durable what another
  // one gets behind a tombstone, in the segment that was open then, is forgotten at a restart.
  unsigned LaneOf(ShareId share, Generation generation, Level level = Level::kFast) const {
    const ShareId of = parts_.shares.IsAdded(share) ? share : kNoShare;
    if (of == kNoShare && level == Level::kFast)
      return generation == Generation::kProven ? proven_lane() : LaneOfThisThread();
    return parts_.lanes.OfShare(of, generation, level);
  }

  // Where media lie near different processors, what a thread writes goes to one near it while that has free segments.
  // Writer lanes of the fast level are then for one group of processors each, if there are enough; the other lanes are
  // shared. REQUIRES: nothing was provided.
  void PreferNear(NearMedia near) { parts_.lanes.PreferNear(std::move(near)); }

  // Seals the lane's segment, if it still is the one that lacked room, and opens a free one. Writers leave the last
  // free segment to reclaim. False: there is no segment to open, or no sequence for it, or the lane's share is full.
  enum class For { kWriter, kReclaim };
  bool Advance(unsigned lane, uint64_t bytes, For whom);
  // The position at this moment.
  LogPosition Position() const;
  // Seals the open segment of every lane, for a tier that shrinks. Returns a sequence below those of all segments
  // opened later.
  uint64_t SealAll();
  // Seals the open segments of the level, for a tier that shrinks. False: there was none.
  bool SealOpen(Level level);
  // Prepares for a change of the superblock after which no restart finds what lies in segments with a lower sequence:
  // no such segment is written to any more. KeptDictionaries::LeaveBehind follows the change.
  void SealBelow(uint64_t sequence);

  // Takes the next segment to reclaim out of its queue. Empty: there is none that may be taken.
  //
  // Sealed segments stand in two queues, oldest first. Writers fill young segments; reclaim fills proven ones with
  // survivors, and writers with blocks that came back. While the young hold more than their share, the oldest of them
  // is next, else the oldest proven one. This is S3-FIFO (Yang et al., SOSP'23) with segments in place of objects.
  // Blocks that nobody asks for again leave after a fraction of a turn of the log, and survivors stay for a whole one.
  //
  // Sparse segments stand in a queue of their own and go first: they cost least and yield most.
  //
  // A pinned segment is taken only if there is no other and `pinned_too`. Its records are then to be dropped, and it
  // drains until its readers have gone. A segment with writers is never taken.
  //
  // With shares (shares.h) only segments above their share's reserve are taken, those of shares of low priority first.
  // If there are none, segments of the share `needs` are, for which there is to be room; if that share is full, only
  // those. Where `pinned_too`, reserves do not count in the end.
  //
  // Each level of ordered media has queues of its own.
  using Victim = LogLevel::Victim;
  Victim TakeVictim(bool pinned_too = false, ShareId needs = kNoShare, Level level = Level::kFast);
  // Sets the share of the segments in use that the young may hold before they are reclaimed first.
  void SetYoungPercent(unsigned percent) { young_percent_.store(percent, std::memory_order_relaxed); }
  // Whether segments of the level wait to be reclaimed. If TakeVictim(pinned_too) gives none of them, they have
  // writers, which leave soon.
  bool HasSealed(Level level = Level::kFast) const;
  // Takes a withdrawn segment of the level out of its queue, also a pinned one: TakeVictim takes none of these. Empty:
  // there is none without writers.
  Victim TakeWithdrawn(Level level);
  // Ends a victim, which until then is sealed, readable, and in no queue: it is free now, or when its last pin goes.
  // REQUIRES: nothing in the index points to it any more.
  void StartDraining(SegmentId id) { StartDraining(std::span(&id, 1)); }
  void StartDraining(std::span<const SegmentId> ids);
  // Ends a victim otherwise: its records stay where they are, and it becomes the youngest proven segment. REQUIRES: it
  // was proven.
  void Requeue(SegmentId id);
  // Tells that `bytes` of the segment's records have left the index because nobody will ask for them again. Once they
  // are most of the segment it is sparse: the next victim, whatever its generation. REQUIRES: the caller has it pinned,
  // so that the bytes are of this fill.
  void NoteDead(SegmentId id, uint64_t bytes);
  uint32_t sparse_segments(Level level = Level::kFast) const { return parts_.level(level).sparse_count(); }

  // The number of pinned segments. Walks the segment table.
  uint32_t PinnedSegments() const;

  uint64_t dram_bytes() const { return DramBytesFor(parts_.segments, has_slow()) + awaiting_.dram_bytes(); }
  static uint64_t DramBytesFor(uint32_t segments, bool has_slow);

  // Checks the segment table, and appends a sentence for each contradiction. REQUIRES: no other call runs.
  void Audit(std::vector<std::string>* violations) const;

 private:
  using Segment = SegmentTable::Segment;
  Segment& segment(SegmentId id) { return parts_.table[id]; }
  const Segment& segment(SegmentId id) const { return parts_.table[id]; }
  void Subtract(SegmentId id, uint64_t what) {
    if (parts_.table.Subtract(id, what)) [[unlikely]]
      space_.CollectDrained();
  }

  LogParts parts_;
  SegmentHeaders headers_;
  SegmentOwners owners_;
  LogSequences sequences_;
  KeptDictionaries kept_dictionaries_;
  LogSpace space_;
  AwaitingSegments awaiting_;
  SegmentFaults faults_;
  TombstoneSegments tombstones_;
  Atomic<uint32_t> young_percent_{kYoungPercentDefault};  // relaxed: the next victim may be picked by the old value
};

}  // namespace mezz
