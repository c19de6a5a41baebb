// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>

#include "cache/base/atomic.h"
#include "cache/media/medium.h"
#include "cache/types.h"

namespace mezz {

// The media of a segment log, as ranges of its segments: what is ready of each, how often each was opened a segment of,
// and how often it failed. Most logs have one.
//
// Thread-safe but for what is said to be guarded.
class LogMembers {
 public:
  LogMembers(const Medium& medium, uint64_t segment_bytes, uint32_t segments) : count_(medium.begins().size()) {
    assert(count_ <= kMembersMax);
    for (size_t i = 0; i < count_; ++i) members_[i].begin = static_cast<uint32_t>(medium.begins()[i] / segment_bytes);
    for (size_t i = 0; i < count_; ++i) {
      members_[i].end = i + 1 < count_ ? members_[i + 1].begin : segments;
      members_[i].ready_end = members_[i].begin;
      LimitTo(i, Size(i));
    }
  }

  size_t count() const { return count_; }
  uint32_t begin(size_t member) const { return members_[member].begin; }
  uint32_t end(size_t member) const { return members_[member].end; }
  size_t Of(SegmentId id) const {
    size_t member = 0;
    while (member + 1 < count_ && Raw(id) >= members_[member].end) ++member;
    return member;
  }
  // Whether a medium begins with the segment.
  bool Begins(SegmentId id) const { return Raw(id) == members_[Of(id)].begin; }

  // Segments of the member below this are ready. GUARDED_BY the log's mutex.
  uint32_t ready_end(size_t member) const { return members_[member].ready_end; }
  void SetReadyEnd(size_t member, uint32_t end) { members_[member].ready_end = end; }
  bool IsReady(SegmentId id) const { return Raw(id) < members_[Of(id)].ready_end; }
  bool HasReady() const {
    for (size_t i = 0; i < count_; ++i) {
      if (members_[i].ready_end != members_[i].begin) return true;
    }
    return false;
  }

  // Lets no more than the first `segments` segments of the member be used; the others are withdrawn. From now on all
  // fill alike again. GUARDED_BY the log's mutex. Without it limit and IsWithdrawn are hints.
  void LimitTo(size_t member, uint32_t segments) {
    assert(segments <= Size(member));
    members_[member].limit.store(segments, std::memory_order_relaxed);
    for (Member& one : members_) one.opened = 0;
  }
  uint32_t limit(size_t member) const { return members_[member].limit.load(std::memory_order_relaxed); }
  bool IsWithdrawn(SegmentId id) const {
    const size_t member = Of(id);
    return Raw(id) - members_[member].begin >= limit(member);
  }

  // The member of `free` (a bit each) whose turn it is, so that all fill alike, each by its limit; and that one of its
  // segments was opened. GUARDED_BY the log's mutex.
  size_t TakeTurn(uint32_t free) {
    assert(free != 0);
    std::optional<size_t> next;
    for (size_t i = 0; i < count_; ++i) {
      if ((free >> i & 1) == 0) continue;
      // opened / limit is the least; so is the product with the other's limit.
      if (!next || members_[i].opened * limit(*next) < members_[*next].opened * limit(i)) next = i;
    }
    ++members_[*next].opened;
    return *next;
  }

  // Counts a fault of a member. True: it is the `most`-th, so the member is to be left out.
  bool NoteFault(size_t member, uint32_t most) {
    return members_[member].faults.fetch_add(1, std::memory_order_relaxed) + 1 == most;
  }
  uint32_t faults(size_t member) const { return members_[member].faults.load(std::memory_order_relaxed); }

  // Leaves members out (a bit each). Returns those that were in. Seq_cst: who is told first sees them out.
  uint32_t LeaveOut(uint32_t members) {
    const uint32_t newly = members & ~out_.fetch_or(members, std::memory_order_seq_cst);
    newly_out_.fetch_or(newly, std::memory_order_seq_cst);
    return newly;
  }
  // The same of those that are out from the start, which everybody knows.
  void BeginWithout(uint32_t members) { out_.store(members, std::memory_order_seq_cst); }
  uint32_t out() const { return out_.load(std::memory_order_seq_cst); }
  bool IsOut(SegmentId id) const { return (out_.load(std::memory_order_relaxed) >> Of(id) & 1) != 0; }
  // A hint that TakeNewlyOut has some.
  bool HasNewlyOut() const { return newly_out_.load(std::memory_order_relaxed) != 0; }
  // The members that were left out since the last call.
  uint32_t TakeNewlyOut() { return newly_out_.exchange(0, std::memory_order_seq_cst); }

 private:
  struct Member {
    uint32_t begin = 0, end = 0;  // segments
    uint32_t ready_end = 0;
    uint64_t opened = 0;
    Atomic<uint32_t> limit{0};   // segments; stored under the log's mutex, relaxed
    Atomic<uint32_t> faults{0};  // relaxed: the thread that counts the last one acts
  };
  uint32_t Size(size_t member) const { return members_[member].end - members_[member].begin; }

  const size_t count_;
  std::array<Member, kMembersMax> members_;
  // A bit for each member:
  //   out_:    0 --LeaveOut: fetch_or, or BeginWithout: store--> 1, for good
  //   newly_out_: 0 --LeaveOut: fetch_or--> 1 --TakeNewlyOut: exchange--> 0
  Atomic<uint32_t> out_{0}, newly_out_{0};
};

}  // namespace mezz
