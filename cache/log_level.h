// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/log_members.h"
#include "cache/segment_queue.h"
#include "cache/segment_table.h"
#include "cache/shares.h"
#include "cache/types.h"

namespace mezz {

// The segments of one level of a log that can be taken: free ones to write to, sealed ones to reclaim, and those that
// are parked because the level may not use all it has, or because they are withdrawn (LogMembers::LimitTo).
//
// Sealed segments stand in two queues, oldest first, and sparse ones in a third: SegmentLog::TakeVictim says in which
// order they go.
//
// The log's mutex guards everything but the counts, usable() and NoteLost(): hints. Allocates only when it is made.
class LogLevel {
 public:
  // The segments from `begin` to `end`, all kUnready. One is sparse once `sparse_bytes` of it are dead. Owns nothing of
  // the others, which must outlive this.
  LogLevel(Level level, uint32_t begin, uint32_t end, uint64_t sparse_bytes, SegmentTable* table, LogMembers* members,
           const Shares* shares, Counters* counters);

  uint32_t begin() const { return begin_; }
  uint32_t size() const { return end_ - begin_; }
  bool Has(SegmentId id) const { return Raw(id) >= begin_ && Raw(id) < end_; }

  // Makes the segments of a range that are kUnready free. They are taken after what is free already, the first first.
  void Provide(uint32_t from, uint32_t end);
  // A segment that is kUnready becomes something else, or is kUnready again.
  void NoteReady() {
    --unready_;
    Count();
  }
  void NoteUnready() {
    ++unready_;
    Count();
  }

  size_t free() const { return free_.size(); }
  uint32_t free_count() const { return free_count_.load(std::memory_order_relaxed); }
  // Takes the segment that became free last; of several media, from the one whose turn it is, of those in `near` (a bit
  // each) if they have one. REQUIRES: free() > 0.
  SegmentId TakeFree(uint32_t near);
  // Takes the free segment that comes first by the rule. REQUIRES: free() > 0.
  template <typename Rule>
  SegmentId TakeFreeBy(Rule&& rule) {
    const auto first = std::ranges::min_element(free_, {}, rule);
    const SegmentId id = *first;
    free_.erase(first);
    Count();
    return id;
  }
  // Takes a segment in that became kFree.
  void AddFree(SegmentId id);
  // Takes out what is free or parked, and for which take(id, its state) is true.
  template <typename Take>
  void RemoveUnused(Take&& take) {
    std::erase_if(free_, [&](SegmentId id) { return take(id, SegmentTable::State::kFree); });
    for (std::vector<SegmentId>* const parked : {&parked_, &parked_withdrawn_})
      std::erase_if(*parked, [&](SegmentId id) { return take(id, SegmentTable::State::kParked); });
    Count();
  }

  // How many segments may be in use, in whatever order they are.
  void LimitTo(uint32_t count) { limit_.store(count, std::memory_order_relaxed); }
  uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void NoteQuarantined(SegmentId id);
  uint32_t quarantined() const { return quarantined_.load(std::memory_order_relaxed); }
  // Those that are neither quarantined nor withdrawn.
  uint32_t present() const { return size() - std::min(size(), quarantined() + withdrawn()); }
  // So many segments are of a medium that was left out: quarantined, or soon.
  void NoteLost(uint32_t segments) { lost_.fetch_add(segments, std::memory_order_relaxed); }
  // The limit of one of the media changed. Parks what is free and withdrawn now, and frees what is not withdrawn any
  // more. All that was parked as surplus is free then.
  void FollowMembers();
  uint32_t withdrawn() const { return withdrawn_.load(std::memory_order_relaxed); }
  // Whether TakeWithdrawn may find one, now or when its writers have left.
  bool HasWithdrawn() const;
  // How many may be in use at once. A medium that is lost while it is resized may count twice until it is quarantined.
  uint32_t usable() const {
    const uint32_t gone = std::max(quarantined(), lost_.load(std::memory_order_relaxed)) + withdrawn();
    return std::min(limit(), size() - std::min(size(), gone));
  }
  // Parks free segments beyond the limit, but for `kept`, which writers and reclaim need to go on; or frees parked
  // ones.
  void Park(size_t kept);
  void Unpark();
  // How many segments must still be reclaimed to come below the limit, while `draining` others, not withdrawn, drain.
  uint32_t ToReclaim(uint32_t draining) const;
  uint32_t unready() const { return unready_; }
  // Those that hold nothing: unready, free or parked.
  uint32_t unused() const {
    return unready_ + static_cast<uint32_t>(free_.size() + parked_.size() + parked_withdrawn_.size());
  }
  uint32_t unused_count() const { return unused_count_.load(std::memory_order_relaxed); }

  // Queues a sealed segment, among the sparse if it is.
  enum class At : uint8_t { kEnd, kBegin };
  void Queue(SegmentId id, Generation generation, At at = At::kEnd);
  // Takes it out of its queue. Empty: it is in none.
  std::optional<Generation> TakeFromQueue(SegmentId id);
  // The same, but for the sparse.
  std::optional<Generation> TakeWhole(SegmentId id);
  // The segments that wait to be reclaimed.
  size_t sealed() const { return young_.size() + proven_.size() + sparse_.size(); }
  uint32_t sparse_count() const { return sparse_count_.load(std::memory_order_relaxed); }
  // Calls visit(id, generation) for each, in the order of its queue.
  template <typename Visit>
  void ForEachSealed(Visit&& visit) const {
    for (size_t at = 0; at < sparse_.size(); ++at) visit(sparse_[at], (*table_)[sparse_[at]].sparse_of);
    for (size_t at = 0; at < young_.size(); ++at) visit(young_[at], Generation::kYoung);
    for (size_t at = 0; at < proven_.size(); ++at) visit(proven_[at], Generation::kProven);
  }

  struct Victim {
    std::optional<SegmentId> segment;
    Generation generation = Generation::kYoung;
    bool sparse = false;
    ShareId share = kNoShare;
    uint32_t skipped_pinned = 0;
    uint32_t sealed = 0, draining = 0;  // segments of the level
  };
  // SegmentLog::TakeWithdrawn, of this level.
  Victim TakeWithdrawn();
  // SegmentLog::TakeVictim, of this level. The young go first once they are more than `young_percent` of the limit.
  Victim TakeVictim(bool pinned_too, ShareId needs, unsigned young_percent);
  // Whether a segment is sealed that TakeVictim may take for this share once its writers and readers have left.
  bool HasVictimFor(ShareId needs) const;
  // Whether its readers and writers let it be taken.
  bool MayTake(SegmentId id, bool pinned_too) const;

  // Calls check(id, the state that it must have) for what is in a list, and appends a sentence for what is in the list
  // of another level.
  template <typename Check>
  void Audit(Check&& check, std::vector<std::string>* violations) const;

 private:
  template <typename MayBe>
  void TakeOf(MayBe&& may_be, bool pinned_too, unsigned young_percent, Victim* victim);
  template <typename MayBe>
  void TakeSparse(MayBe&& may_be, bool pinned_too, Victim* victim);
  template <typename MayBe>
  void TakeSealed(MayBe&& may_be, Generation generation, bool pinned_too, Victim* victim);
  ShareId ShareOf(SegmentId id) const { return (*table_)[id].share.load(std::memory_order_relaxed); }
  uint32_t Surplus() const;
  void Count() {
    free_count_.store(static_cast<uint32_t>(free_.size()), std::memory_order_relaxed);
    sparse_count_.store(static_cast<uint32_t>(sparse_.size()), std::memory_order_relaxed);
    unused_count_.store(unused(), std::memory_order_relaxed);
  }

  const Level level_;
  const uint32_t begin_, end_;
  const uint64_t sparse_bytes_;
  SegmentTable* const table_;
  LogMembers* const members_;
  const Shares* const shares_;
  Counters* const counters_;
  std::vector<SegmentId> free_;           // a stack
  SegmentQueue young_, proven_, sparse_;  // oldest first
  std::vector<SegmentId> parked_;         // as surplus
  std::vector<SegmentId> parked_withdrawn_;
  uint32_t unready_;
  // Stored under the log's mutex and read anywhere, relaxed, as hints.
  Atomic<uint32_t> limit_, quarantined_{0}, free_count_{0}, sparse_count_{0}, unused_count_;
  Atomic<uint32_t> withdrawn_{0};  // of those that are not quarantined
  Atomic<uint32_t> lost_{0};       // grows, without the mutex; relaxed: a hint
};

template <typename Check>
void LogLevel::Audit(Check&& check, std::vector<std::string>* violations) const {
  using State = SegmentTable::State;
  const auto all = [&](const auto& list, State state) {
    for (size_t at = 0; at < list.size(); ++at) {
      if (!Has(list[at])) violations->push_back("a segment is in a list of another level");
      check(list[at], state);
    }
  };
  all(free_, State::kFree);
  all(parked_, State::kParked);
  all(parked_withdrawn_, State::kParked);
  for (const SegmentQueue* const queue : {&young_, &proven_, &sparse_}) all(*queue, State::kSealed);
}

}  // namespace mezz
