// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/base/words.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

// Whose segments are reclaimed first where space is short.
enum class SharePriority : uint8_t { kLow, kNormal, kHigh };
template <>
inline constexpr Words<3> kWordsOf<SharePriority> = {"low", "normal", "high"};

// What one user of a tier may rely on, and what he must not exceed. Both are percent of the tier's capacity in use, in
// whole segments: a reserve is rounded down, a maximum up.
struct ShareLimits {
  // While others write, the share's segments are not reclaimed as long as it has no more than this. What the share does
  // not use is not kept free for it.
  unsigned reserved_percent = 0;
  // Once the share has this much, what it writes takes the place of what it wrote before, also where others leave space
  // unused.
  unsigned max_percent = 100;
  // Segments above the reserves of shares with a lower priority go first.
  SharePriority priority = SharePriority::kNormal;

  friend bool operator==(const ShareLimits&, const ShareLimits&) = default;
};

// Reserves of all shares together must leave something to the rest, or nothing could be reclaimed for it.
inline constexpr unsigned kReservedPercentMax = 90;

// Refuses limits that contradict themselves, or with which all reserves are more than kReservedPercentMax. `prefix`
// stands before the limits' names in what is said.
Status CheckLimits(std::string_view name, const ShareLimits& limits, unsigned reserved_by_others,
                   std::string_view prefix = "");

// Rounded down.
inline uint64_t PercentOf(uint64_t total, unsigned percent) {
  return total / 100 * percent + total % 100 * percent / 100;
}

// The shares of a segment log: by name, with their limits and the segments that each holds. What belongs to nobody is
// the rest (kNoShare), which has no limits.
//
// A share keeps its number until it was removed and holds nothing, and another name needs one. Segments carry the hash
// of the name (TagOf) on the medium, so a later life finds whose they were, in whatever order shares are added.
//
// A share has limits and segments of each level of ordered media.
//
// Not thread-safe, except for IsAdded, IsFull and MayLose; the log's mutex guards the rest. Allocates only in Add.
class Shares {
 public:
  // `segments` are those that the log has, at most, of each level.
  explicit Shares(const std::array<uint32_t, kLevels>& segments) : segments_(segments) {}

  // Adds a share, or gives one that was removed its limits back. An error, and nothing changes: the name is empty or
  // taken, there are kSharesMax already, too few segments for another one, or limits that contradict each other or
  // those of the others.
  Status Add(std::string_view name, const ShareLimits& limits, ShareId* id);
  Status Change(ShareId id, const ShareLimits& limits);
  // Takes the limits away. What the share holds stays until it is reclaimed, and its name may be added again.
  void Remove(ShareId id);

  static uint64_t TagOf(std::string_view name);
  // The share of that tag; kNoShare if it was not added yet.
  ShareId Find(uint64_t tag) const;
  uint64_t tag(ShareId id) const { return id == kNoShare ? 0 : owner(id).tag; }
  const ShareLimits& limits(ShareId id) const;
  // Shares that were ever added; their numbers are 1..count().
  unsigned count() const { return static_cast<unsigned>(owners_.size()); }

  void NoteHeld(ShareId id, Level level, int32_t segments);
  uint32_t held(ShareId id, Level level) const { return at(id, level).held.load(std::memory_order_relaxed); }
  // The segments of the level that may be in use at once, of which limits are percent.
  void SetUsable(uint32_t segments, Level level);
  uint32_t reserved(ShareId id, Level level) const {  // segments
    return at(id, level).reserved.load(std::memory_order_relaxed);
  }
  uint32_t max(ShareId id, Level level) const { return at(id, level).max.load(std::memory_order_relaxed); }

  // Whether somebody uses the share. A hint likewise; kNoShare always is.
  bool IsAdded(ShareId id) const { return id == kNoShare || share(id).added.load(std::memory_order_relaxed); }
  // Whether the share has as much as it may. A hint where the log's mutex is not held.
  bool IsFull(ShareId id, Level level) const { return id != kNoShare && held(id, level) >= max(id, level); }
  // Whether others may take a segment of the share. A hint likewise.
  bool MayLose(ShareId id, Level level) const { return held(id, level) > reserved(id, level); }

 private:
  // What only those who hold the log's mutex look at. Few caches have shares, so there is one for each that was added.
  struct Owner {
    std::string name;
    uint64_t tag = 0;
    ShareLimits limits;
  };
  struct Share {
    Atomic<bool> added{false};
    // Relaxed: stored under the log's mutex, and read as hints without it.
    struct OfLevel {
      Atomic<uint32_t> held{0};
      Atomic<uint32_t> reserved{0}, max{UINT32_MAX};
    };
    std::array<OfLevel, kLevels> of;
  };
  Share& share(ShareId id) { return shares_[Raw(id)]; }
  const Share& share(ShareId id) const { return shares_[Raw(id)]; }
  const Share::OfLevel& at(ShareId id, Level level) const { return share(id).of[static_cast<size_t>(level)]; }
  Owner& owner(ShareId id) { return owners_[Raw(id) - 1u]; }
  const Owner& owner(ShareId id) const { return owners_[Raw(id) - 1u]; }
  static ShareId Number(unsigned number) { return ShareId{static_cast<uint8_t>(number)}; }
  ShareId FindUnused() const;
  Status Fit(std::string_view name, ShareId id, const ShareLimits& limits) const;
  Status Fit(std::string_view name, ShareId id, const ShareLimits& limits, uint32_t segments) const;
  void StoreLimits(ShareId id);

  const std::array<uint32_t, kLevels> segments_;
  std::array<uint32_t, kLevels> usable_{};
  std::vector<Owner> owners_;             // of the shares from 1 on
  std::array<Share, kSharesMax> shares_;  // the first one is kNoShare
};

}  // namespace mezz
