// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "admission/curves/block_trace.h"
#include "cache/log_rules.h"
#include "cache/survivor_judge.h"

namespace mezz::sim {

struct ScmModelOptions {
  // Bytes; or blocks, of which every record is 1 unit, where exact_capacity is set.
  uint64_t capacity = 0;
  // Of `capacity`, that of the fast level of ordered media; the slow level has the rest. 0: there is one level.
  uint64_t fast_capacity = 0;
  uint64_t segment = 0;  // units a segment holds
  // With true every unit of `capacity` holds a record: space comes free record by record as reclaim walks, no free
  // segment is kept, and no header is charged. With false it is as in the live tier: whole free segments, a reserve of
  // them, and headers.
  bool exact_capacity = true;
  // The most lanes of writers; the slow level has one. The model's one thread writes into one of them, but each needs a
  // free segment. Used only if exact_capacity is false. 0: as many as the live tier would open on this machine.
  uint32_t writer_lanes = 0;
  // As the policy says: the share of the segments for the young; and the share of a proven segment's records that must
  // be hot for it to be queued again (0: never).
  unsigned young_percent = kYoungPercentDefault;
  unsigned requeue_percent = 0;
};

// The segments of one level of the model: free ones, one that is open for the young and one for the proven, sealed ones
// in a queue of their generation, and sparse ones. A victim is in none of these until it is freed or queued again.
class ScmSegmentsModel {
 public:
  // A record's form, and what its flags tell of it.
  enum class Stored : uint8_t {
    kRaw,
    kRejected,  // raw, and known not to pack
    kPacked,
  };
  struct Segment {
    std::vector<BlockId> records;
    std::vector<Stored> forms;  // of the records; empty where nothing packs
    uint64_t tail = 0;          // units in use, including those that are not for records
    uint64_t dead = 0;          // units of deleted files' records
  };
  struct Lane {
    std::optional<uint32_t> open;
    std::deque<uint32_t>* sealed;
  };
  struct Victim {
    uint32_t segment;
    Generation generation;
    bool sparse;
  };

  explicit ScmSegmentsModel(const ScmModelOptions& options);
  ScmSegmentsModel(const ScmSegmentsModel&) = delete;
  ScmSegmentsModel& operator=(const ScmSegmentsModel&) = delete;

  Segment& operator[](uint32_t id) { return segments_[id]; }
  const Segment& operator[](uint32_t id) const { return segments_[id]; }
  size_t size() const { return segments_.size(); }
  uint32_t limit() const { return limit_; }  // the log's
  size_t free() const { return free_.size(); }
  bool sparse() const { return !sparse_.empty(); }
  uint64_t became_sparse() const { return became_sparse_; }
  // The most units of records that fit into any segment, and those that the segment has.
  uint64_t room() const { return segment_ - first_overhead_; }
  uint64_t RecordUnits(uint32_t id) const { return segments_[id].tail - (id == 0 ? first_overhead_ : overhead_); }

  Lane young{.open = {}, .sealed = &young_};
  Lane proven{.open = {}, .sealed = &proven_};
  bool Fits(const Lane& lane, uint64_t units) const {
    return lane.open && segments_[*lane.open].tail + units <= segment_;
  }
  // Seals the lane's segment and opens another. REQUIRES: one is free, or capacity is exact.
  void Advance(Lane* lane);
  // Reserves room in the lane's segment, or in another one if that leaves `kept_free` segments free.
  bool Reserve(Lane* lane, uint64_t units, size_t kept_free);
  // `units` of the segment are those of deleted files' records now.
  void AddDead(uint32_t id, uint64_t units);

  // The segment to be emptied next: a sparse one, else the oldest of the young while these hold more than
  // `young_percent` of the segments, else of the proven. Null: there is none.
  std::optional<Victim> TakeVictim(unsigned young_percent);
  // What becomes of a victim.
  void Free(uint32_t id) { free_.push_back(id); }
  void QueueAgain(uint32_t id) { proven_.push_back(id); }

  // How often each segment is listed, and in *holds_records whether with records.
  std::vector<uint32_t> Listed(std::vector<bool>* holds_records) const;

 private:
  struct Sparse {
    uint32_t segment;
    Generation of;
  };
  uint32_t Open();
  void Seal(Lane* lane);
  bool IsSparse(const Segment& segment) const { return segment.dead * 100 >= segment_ * log_rules::kSparsePercent; }
  bool MoveToSparse(std::deque<uint32_t>* sealed, uint32_t id);

  const uint64_t segment_;
  const bool exact_;
  const uint32_t limit_;
  uint64_t overhead_ = 0, first_overhead_ = 0;  // units of a segment that hold no record
  std::vector<Segment> segments_;
  std::vector<uint32_t> free_;  // a stack
  std::deque<uint32_t> young_, proven_;
  std::deque<Sparse> sparse_;
  uint64_t became_sparse_ = 0;
};

}  // namespace mezz::sim
