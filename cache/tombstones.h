// SPDX-License-Identifier: Apache-2.0
// erase=durable: keys that were erased, on the medium, so that no restart finds their older records again. layout.h has
// the bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/segment_log.h"
#include "cache/superblock.h"
#include "cache/types.h"

namespace mezz {

// What an earlier life's tombstones say. Read from bytes alone; believes nothing but checksums.
class ErasedKeys {
 public:
  struct Segment {
    SegmentId id{};
    uint64_t sequence = 0;
    uint64_t tail = 0;  // absolute: the next tombstone's place
  };

  // Nothing: some of them are damaged or missing, so it is not known what was erased. `superblock` is whole, and
  // describes these bytes, to which nobody writes. The segments in `bad` may not be read; what lies there is missing.
  static std::optional<ErasedKeys> Read(std::span<const std::byte> medium, const layout::Superblock& superblock,
                                        std::span<const SegmentId> bad = {});

  // The record of `key` at this place, absolute, of a segment's fill with this sequence, was there when the key was
  // erased.
  bool Cover(const BlockKey& key, uint64_t sequence, uint64_t offset) const;
  bool empty() const { return erased_.empty(); }
  uint64_t tombstones() const { return tombstones_; }                 // that were read
  const std::vector<Segment>& segments() const { return segments_; }  // they lie in, oldest first

 private:
  struct Erased {
    BlockKey key;
    uint64_t next_sequence;
    std::array<layout::OpenSegment, layout::kLanesMax> open;
  };
  bool ReadSegment(std::span<const std::byte> medium, uint64_t segment_bytes, Segment* segment);
  void KeepTheLastOfEachKey();

  uint64_t segment_bytes_ = 1;
  uint64_t tombstones_ = 0;
  std::vector<Segment> segments_;
  std::vector<Erased> erased_;  // by key
};

// Writes tombstones: each says that what lay before some position of the log was erased of a key. They lie in segments
// of their own (SegmentLog, kTombstones), one after the other, each drained before the next: so a walk meets no gap
// that is not damage, which records, written by several threads at once, cannot say.
//
// How long must a tombstone stay? As long as an older record of its key can be found again. Nobody knows where those
// lie, so it is turned round: once tombstones would take more than their share, the oldest segment of them goes, and
// the superblock first says that nothing is found again that lies in segments as old (sequence_begin). The tier itself
// goes on serving from those; a restart loses them.
//
// Thread-safe. Lock order: Reclaimer's mutex, then this one, then SegmentLog's, then SuperblockKeeper's.
class Tombstones {
 public:
  // None is owned. `throttle` may be null.
  Tombstones(const Medium& medium, SegmentLog* log, SuperblockKeeper* keeper, Counters* counters, Throttle* throttle);

  // What an earlier life left goes on to count. REQUIRES: the log was not provided; called once at most.
  [[nodiscard]] SuperblockKeeper::Stored Adopt(const ErasedKeys& found);

  enum class Added {
    kDone,    // of the key nothing that lies before the position is found again
    kNoRoom,  // there is no free segment for it
    kFailed   // the memory does not hold it, a fault, or not what the superblock says of it: EraseBelow what there is
  };
  [[nodiscard]] Added Add(const BlockKey& key, const LogPosition& position);
  // Nothing that lies in a segment with a sequence below is found again, once this has returned; no tombstone is needed
  // for that. kNowhere: all is as before. REQUIRES: no such segment is open; and nobody took a position since one with
  // that sequence was opened.
  [[nodiscard]] SuperblockKeeper::Stored EraseBelow(uint64_t sequence);
  // To the share of a log of so many segments; kNowhere: not all the way.
  [[nodiscard]] SuperblockKeeper::Stored TrimTo(uint32_t segments);
  uint64_t written() const;  // in this life

 private:
  // A 128th of the log: of 8 GiB that is a million keys.
  static constexpr uint32_t kShareOneIn = 128, kSegmentsLeast = 2;

  // So many segments of tombstones, of a log of so many.
  static size_t KeptOf(uint32_t segments) { return std::max(kSegmentsLeast, segments / kShareOneIn); }
  size_t MostSegments() const;
  bool HasRoomLocked() const;
  bool HoldsLocked(const layout::Tombstone& tombstone) const;
  std::optional<Added> OpenSegmentLocked();
  SuperblockKeeper::Stored TrimLocked(uint32_t segments);
  SuperblockKeeper::Stored DropOldestLocked();

  const Medium& medium_;
  SegmentLog* const log_;
  SuperblockKeeper* const keeper_;
  Counters* const counters_;
  Throttle* const throttle_;
  mutable Mutex mutex_;
  // GUARDED_BY(mutex_), oldest first: the last one is written to. Has room for all: an erase allocates nothing.
  std::vector<ErasedKeys::Segment> segments_;
  uint64_t begin_;        // GUARDED_BY(mutex_): the superblock's sequence_begin
  uint64_t written_ = 0;  // GUARDED_BY(mutex_)
};

}  // namespace mezz
