// SPDX-License-Identifier: Apache-2.0
// Tombstones: keys that were erased, stored on the medium (erase=durable), so that no restart finds their older records
// again. layout.h has the bytes.
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
#include "cache/media/emulation.h"
#include "cache/media/medium.h"
#include "cache/segment_log.h"
#include "cache/superblock.h"
#include "cache/types.h"

namespace mezz {

// What an earlier life's tombstones say. Read from bytes alone; trusts nothing but checksums.
class ErasedKeys {
 public:
  struct Segment {
    SegmentId id{};
    uint64_t sequence = 0;
    uint64_t tail = 0;  // where the next tombstone goes, from the start of the medium
  };

  // Reads all tombstones. Empty: some are damaged or missing, so it is not known what was erased. Segments in `bad` are
  // not read; tombstones there count as missing. REQUIRES: `superblock` is whole and describes these bytes, and nobody
  // writes to them.
  static std::optional<ErasedKeys> Read(std::span<const std::byte> medium, const layout::Superblock& superblock,
                                        std::span<const SegmentId> bad = {});

  // Whether the record of `key` at this offset of the medium, in a fill with this sequence, was there when the key was
  // erased.
  bool Cover(const BlockKey& key, uint64_t sequence, uint64_t offset) const;
  bool empty() const { return erased_.empty(); }
  uint64_t tombstones() const { return tombstones_; }                 // how many were read
  const std::vector<Segment>& segments() const { return segments_; }  // where they lie, oldest first

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

// Writes tombstones. Each says that records of a key before some position of the log were erased. Tombstones lie in
// segments of their own (TombstoneSegments), one after the other, and each is drained before the next. So any gap that
// a walk meets is damage, which it could not tell among records, as several threads write those at once.
//
// A tombstone must stay as long as an older record of its key can be found again. Nobody knows where such records lie.
// So once tombstones would take more than their share, the oldest segment of them goes. Before that, the superblock
// says that no record in segments as old is found again (sequence_begin). The tier goes on serving from those segments;
// a restart loses them.
//
// Thread-safe. Lock order: Reclaimer's mutex, then this one, then SegmentLog's, then SuperblockKeeper's.
class Tombstones {
 public:
  // Owns none of its arguments. `emulation` may be null.
  Tombstones(const Medium& medium, SegmentLog* log, SuperblockKeeper* keeper, Counters* counters, Emulation* emulation);

  // Takes over an earlier life's tombstones. REQUIRES: the log was not provided; called once at most.
  [[nodiscard]] SuperblockKeeper::Stored Adopt(const ErasedKeys& found);

  enum class Added {
    kDone,    // no record of the key before the position is found again
    kNoRoom,  // there is no free segment for the tombstone
    kFailed   // a fault: the medium did not take the tombstone, or the superblock's change; call EraseBelow
  };
  [[nodiscard]] Added Add(const BlockKey& key, const LogPosition& position);
  // Once this has returned, no restart finds records in segments with a sequence below `sequence`, without any
  // tombstone. kNowhere: all is as before. REQUIRES: no such segment is open, and nobody took a position since a
  // segment with that sequence was opened.
  [[nodiscard]] SuperblockKeeper::Stored EraseBelow(uint64_t sequence);
  // Lets the oldest tombstones go, down to the share of a log of `segments` segments. kNowhere: not all the way.
  [[nodiscard]] SuperblockKeeper::Stored TrimTo(uint32_t segments);
  uint64_t written() const;  // tombstones written in this life

 private:
  // The share of the log for tombstones: one in 128, which is a million keys in 8 GiB.
  static constexpr uint32_t kShareOneIn = 128, kSegmentsLeast = 2;

  // How many segments of tombstones a log of `segments` segments keeps.
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
  Emulation* const emulation_;
  mutable Mutex mutex_;
  // GUARDED_BY(mutex_), oldest first: the last one is written to. It has capacity for all, so that an erase allocates
  // nothing.
  std::vector<ErasedKeys::Segment> segments_;
  uint64_t begin_;        // GUARDED_BY(mutex_): the superblock's sequence_begin
  uint64_t written_ = 0;  // GUARDED_BY(mutex_)
};

}  // namespace mezz
