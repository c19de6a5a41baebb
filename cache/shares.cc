// SPDX-License-Identifier: Apache-2.0
#include "cache/shares.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "cache/layout.h"

namespace mezz {
namespace {

// A share has a segment open for its young records and one for the proven; with fewer than twice as many, reclaim would
// have nothing to take but what was just written.
constexpr uint32_t kSegmentsOfShareMin = 4;
constexpr size_t kNameBytesMax = 1024;  // a path

}  // namespace

Status CheckLimits(std::string_view name, const ShareLimits& limits, unsigned reserved_by_others,
                   std::string_view prefix) {
  const unsigned reserve = limits.reserved_percent, max = limits.max_percent;
  if (max == 0 || max > 100) {
    return Status::InvalidArgument(fmt::format(
        "share={}: {}max={}% is not a percentage from 1 to 100: give one, or leave it out", name, prefix, max));
  }
  if (reserve > max) {
    return Status::InvalidArgument(fmt::format("share={0}: {1}reserve={2}% is more than {1}max={3}%: lower the reserve",
                                               name, prefix, reserve, max));
  }
  if (reserve + reserved_by_others > kReservedPercentMax) {
    return Status::InvalidArgument(
        fmt::format("share={}: {}reserve={}% makes the reserves of all shares {}%, and {}% is the most: lower one",
                    name, prefix, reserve, reserve + reserved_by_others, kReservedPercentMax));
  }
  return Status::Ok();
}

uint64_t Shares::TagOf(std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), layout::kChecksumSeed) | 1;  // 0: of no share
}

ShareId Shares::Find(uint64_t tag) const {
  for (unsigned i = 1; tag != 0 && i <= count(); ++i) {
    if (owner(Number(i)).tag == tag) return Number(i);
  }
  return kNoShare;
}

const ShareLimits& Shares::limits(ShareId id) const {
  static const ShareLimits none;
  return id == kNoShare ? none : owner(id).limits;
}

ShareId Shares::FindUnused() const {
  for (unsigned i = 1; i <= count(); ++i) {
    const ShareId id = Number(i);
    if (!IsAdded(id) && held(id, Level::kFast) + held(id, Level::kSlow) == 0) return id;
  }
  return kNoShare;
}

Status Shares::Add(std::string_view name, const ShareLimits& limits, ShareId* id) {
  if (name.empty()) return Status::InvalidArgument("share= has no name: give each database one of its own");
  const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f'; };
  if (std::ranges::any_of(name, is_control) || name.size() > kNameBytesMax || name == "(rest)") {
    return Status::InvalidArgument(fmt::format(
        "share=: a name has 1 to {} bytes, no control characters, and is not (rest): use another", kNameBytesMax));
  }
  const uint64_t tag = TagOf(name);
  ShareId at = Find(tag);
  if (at != kNoShare && owner(at).name != name) {
    return Status::InvalidArgument(
        fmt::format("share={}: this name cannot be told from the share {}: use another", name, owner(at).name));
  }
  if (at != kNoShare && IsAdded(at))
    return Status::Busy(
        fmt::format("share={}: another database of this cache has that name: use another, or close that "
                    "one's cache first",
                    name));
  if (at == kNoShare && count() + 1 >= kSharesMax) at = FindUnused();
  if (at == kNoShare && count() + 1 >= kSharesMax) {
    return Status::NoSpace(fmt::format(
        "share={}: the cache has {} shares already, which is the most: let databases share one", name, kSharesMax - 1));
  }
  if (at == kNoShare) at = Number(count() + 1);
  MEZZ_RETURN_IF_ERROR(Fit(name, at, limits));
  Owner added{.name = std::string(name), .tag = tag, .limits = limits};
  if (Raw(at) > count()) {
    owners_.push_back(std::move(added));
  } else {
    owner(at) = std::move(added);
  }
  share(at).added.store(true, std::memory_order_relaxed);
  StoreLimits(at);
  *id = at;
  return Status::Ok();
}

Status Shares::Change(ShareId id, const ShareLimits& limits) {
  assert(id != kNoShare && IsAdded(id));
  MEZZ_RETURN_IF_ERROR(Fit(owner(id).name, id, limits));
  owner(id).limits = limits;
  StoreLimits(id);
  return Status::Ok();
}

void Shares::Remove(ShareId id) {
  assert(id != kNoShare && IsAdded(id));
  share(id).added.store(false, std::memory_order_relaxed);
  owner(id).limits = {};
  StoreLimits(id);
}

// Whether it fits each level.
Status Shares::Fit(std::string_view name, ShareId id, const ShareLimits& limits) const {
  for (const uint32_t segments : segments_) {
    if (segments != 0) MEZZ_RETURN_IF_ERROR(Fit(name, id, limits, segments));
  }
  return Status::Ok();
}

Status Shares::Fit(std::string_view name, ShareId id, const ShareLimits& limits, uint32_t segments) const {
  const auto refuse = [&](std::string_view why) {
    return Status::InvalidArgument(fmt::format("share={}: {}", name, why));
  };
  unsigned others_percent = 0, shares = 1;
  uint64_t reserved_segments = PercentOf(segments, limits.reserved_percent);
  for (unsigned i = 1; i <= count(); ++i) {
    if (!IsAdded(Number(i)) || Number(i) == id) continue;
    others_percent += owner(Number(i)).limits.reserved_percent;
    reserved_segments += PercentOf(segments, owner(Number(i)).limits.reserved_percent);
    ++shares;
  }
  MEZZ_RETURN_IF_ERROR(CheckLimits(name, limits, others_percent));
  if (segments - reserved_segments < 2 * shares) {
    return refuse(
        fmt::format("reserves leave {} of {} segments to {} shares, which have two open each: lower one, or make "
                    "segment_bytes smaller",
                    segments - reserved_segments, segments, shares));
  }
  if (shares * kSegmentsOfShareMin > segments) {
    return refuse(fmt::format("{} segments are too few for {} shares: raise scm, or make segment_bytes smaller",
                              segments, shares));
  }
  if (PercentOf(segments, limits.max_percent) < kSegmentsOfShareMin) {
    return refuse(
        fmt::format("max={}% is {} of {} segments, and {} are the least: raise it, or make segment_bytes "
                    "smaller",
                    limits.max_percent, PercentOf(segments, limits.max_percent), segments, kSegmentsOfShareMin));
  }
  return Status::Ok();
}

void Shares::NoteHeld(ShareId id, Level level, int32_t segments) {
  const uint32_t before = held(id, level);
  assert(segments >= 0 || before >= static_cast<uint32_t>(-segments));
  share(id).of[static_cast<size_t>(level)].held.store(before + static_cast<uint32_t>(segments),
                                                      std::memory_order_relaxed);
}

void Shares::SetUsable(uint32_t segments, Level level) {
  usable_[static_cast<size_t>(level)] = segments;
  for (unsigned i = 1; i <= count(); ++i) StoreLimits(Number(i));
}

// Of a tier that was made small a share may still have its two open segments of each level, and two to reclaim.
void Shares::StoreLimits(ShareId id) {
  const ShareLimits& limits = owner(id).limits;
  for (size_t level = 0; level < kLevels; ++level) {
    Share::OfLevel& of = share(id).of[level];
    const uint64_t max = (uint64_t{usable_[level]} * limits.max_percent + 99) / 100;
    of.reserved.store(static_cast<uint32_t>(PercentOf(usable_[level], limits.reserved_percent)),
                      std::memory_order_relaxed);
    of.max.store(
        limits.max_percent < 100 ? static_cast<uint32_t>(std::max<uint64_t>(max, kSegmentsOfShareMin)) : UINT32_MAX,
        std::memory_order_relaxed);
  }
}

}  // namespace mezz
