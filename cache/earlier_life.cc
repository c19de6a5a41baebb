// SPDX-License-Identifier: Apache-2.0
#include "cache/earlier_life.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

// Of several media: all that can be read are in. A snapshot is of use only if none was out, or is new.
void TakeMembers(const FoundMembers& members, layout::Superblock* superblock) {
  superblock->members_in = members.readable;
  if ((members.of_life & ~members.outdated) != layout::AllMembers(*superblock)) superblock->snapshot_segment = 0;
}

uint64_t RandomWord() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) word = reinterpret_cast<uintptr_t>(&word);
  return word;
}

}  // namespace

Status EarlierLife::TakeOver(bool existing) {
  FoundMembers members = FindMembers(medium_, options_);
  members_ = members.readable;
  if (members_ == 0)
    return Status::IoError(
        fmt::format("{}: both copies of its superblock lie on bad blocks, or cannot be read: use another medium",
                    medium_.info().description));
  MEZZ_RETURN_IF_ERROR(FindBadSegments());
  if (members.of_others != 0 && options_.recovery != Recovery::kDiscard)
    return Status::InvalidArgument(
        fmt::format("scm= names media of two caches: {} is of another one than the rest. Name those of one cache, "
                    "remove what is not needed, or use recovery=discard",
                    Describe(members.of_others)));
  if (!options_.Remembers()) members.found = {};
  exists_ = existing && members.found.what == FoundSuperblock::What::kWhole;
  superblock_ = Begin(members.found);
  if (!options_.members.empty()) TakeMembers(members, &superblock_);
  if (options_.recovery == Recovery::kRequire && !report_.why.empty())
    return Status::NotSupported(
        fmt::format("{} {}: use recovery=warm to have it discarded", medium_.info().description, report_.why));
  if (is_used_ && members.lost != 0) MEZZ_RETURN_IF_ERROR(JudgeLost(members.lost));
  if (is_used_ && members.outdated != 0) {
    members_ &= ~ForgetOutdated(members.outdated);
    superblock_.members_in = members_;
  }
  TellOfUnreadable();
  return Status::Ok();
}

// Finds the segments with bad blocks. The copies of the superblock, where the medium or one of several begins, are
// handled apart: one without any is bad as a whole.
Status EarlierLife::FindBadSegments() {
  const uint64_t segment_bytes = options_.segment_bytes;
  const uint64_t segments = options_.capacity_bytes / segment_bytes;
  uint64_t ranges = 0;
  std::vector<bool> is_bad(segments);
  for (const BadRange& range : medium_.BadRanges()) {
    const uint64_t head = medium_.begins()[medium_.MemberAt(range.begin)];
    const uint64_t from = std::max(range.begin, head + layout::kSuperblockSpace);
    if (from >= range.end || from >= options_.capacity_bytes) continue;
    ++ranges;
    const uint64_t last = std::min((range.end - 1) / segment_bytes, segments - 1);
    for (uint64_t id = from / segment_bytes; id <= last; ++id) is_bad[id] = true;
  }
  for (uint32_t id = 0; id < segments; ++id) {
    const size_t member = medium_.MemberAt(id * segment_bytes);
    if (is_bad[id] || (members_ >> member & 1) == 0) bad_.push_back(SegmentId{id});
  }
  if (bad_.empty()) return Status::Ok();
  const std::string what = fmt::format("has bad blocks in {} places, which the kernel knows of: {} of its {} segments",
                                       ranges, bad_.size(), segments);
  if (segments - bad_.size() < kSegmentsMin)
    return Status::IoError(
        fmt::format("{} {}, and {} are needed: use another medium", medium_.info().description, what, kSegmentsMin));
  if (options_.on_trouble && ranges != 0) options_.on_trouble(what + " are out of use");
  return Status::Ok();
}

// Reads the tombstones of an earlier life. False: it is not known what was erased, so nothing may be found again;
// report_ says why.
bool EarlierLife::ReadErasedKeys(const layout::Superblock& found) {
  if (found.tombstone_segments == 0) return true;
  const bool memory = IfThereIsMemory([&] {
    auto erased = ErasedKeys::Read({medium_.base(), medium_.bytes()}, found, bad_);
    if (erased) erased_ = std::make_shared<const ErasedKeys>(std::move(*erased));
  });
  if (erased_ != nullptr) return true;
  report_.why =
      memory ? "has lost tombstones, so nobody knows what was erased" : "has more tombstones than there is memory for";
  return false;
}

// The superblock of this life. Decides whether the blocks of the earlier one are used.
layout::Superblock EarlierLife::Begin(const FoundSuperblock& found) {
  const bool remembers = options_.Remembers();
  report_.why = found.what == FoundSuperblock::What::kUnusable ? found.why
                : !exists_                                     ? std::string()
                : options_.recovery == Recovery::kDiscard      ? "is opened with recovery=discard"
                                                               : WhyOfNoUse(found.superblock, options_);
  if (!remembers && options_.recovery == Recovery::kWarm)
    report_.why = fmt::format("of medium={} remembers nothing, so recovery=warm starts cold", options_.MediumText());
  report_.asked = exists_ && options_.recovery == Recovery::kDiscard;
  is_used_ = exists_ && report_.why.empty() && ReadErasedKeys(found.superblock);
  left_records_ =
      found.what == FoundSuperblock::What::kUnusable || (exists_ && (found.superblock.flags & layout::kWiped) == 0);
  if (!report_.why.empty()) report_.outcome = RecoveryReport::Outcome::kDiscarded;
  const bool keyed = options_.verify == VerifyMode::kKeyed;
  if (is_used_ && keyed) authenticator_ = std::make_unique<Authenticator>(*options_.verify_key, found.superblock);
  if (is_used_) return found.superblock;
  layout::Superblock fresh = SuperblockOf(options_);
  fresh.hash_seed = RandomWord();
  fresh.format_id = RandomWord() | 1;  // 0 is a medium that was never formatted
  // Above those of what both copies may say, and of records of earlier lives, which carry no format id.
  fresh.generation = found.superblock.generation;
  fresh.sequence_end = exists_ ? found.superblock.sequence_end : RandomWord() >> 2 | 1;
  fresh.uuid[0] = exists_ ? found.superblock.uuid[0] : RandomWord();
  fresh.uuid[1] = exists_ ? found.superblock.uuid[1] : RandomWord();
  if (keyed) {
    authenticator_ = std::make_unique<Authenticator>(*options_.verify_key, fresh);
    fresh.key_check = authenticator_->check();
  }
  return fresh;
}

// Erases the headers of media that were left out while the life that goes on went on without them, so that nobody finds
// their records. Returns those that do not take that, a bit each: all their segments are bad.
uint32_t EarlierLife::ForgetOutdated(uint32_t members) {
  left_records_ = true;
  const auto segments = static_cast<uint32_t>(options_.capacity_bytes / options_.segment_bytes);
  const auto member_of = [this](uint32_t id) { return 1u << medium_.MemberAt(id * options_.segment_bytes); };
  std::vector<bool> is_bad(segments);
  for (const SegmentId id : bad_) is_bad[Raw(id)] = true;
  uint32_t failed = 0;
  for (uint32_t id = 0; id < segments; ++id) {
    if ((members & ~failed & member_of(id)) == 0 || is_bad[id]) continue;
    if (!SegmentHeaders::Erase(medium_, layout::StartOfSegment(superblock_, id))) failed |= member_of(id);
  }
  for (uint32_t id = 0; id < segments; ++id) {
    if ((failed & member_of(id)) != 0 && !is_bad[id]) bad_.push_back(SegmentId{id});
  }
  return failed;
}

std::string EarlierLife::Describe(uint32_t members) const {
  std::string text;
  for (size_t member = 0; member < medium_.begins().size(); ++member) {
    if ((members >> member & 1) != 0) text += (text.empty() ? "" : ", ") + medium_.member_info(member).description;
  }
  return text;
}

// Of several media, some are not those that the earlier life had. What forgets by its nature is not lost.
Status EarlierLife::JudgeLost(uint32_t members) const {
  uint32_t lost = 0;
  for (size_t member = 0; member < options_.members.size(); ++member)
    lost |= Remembers(options_.members[member].medium) ? members & 1u << member : 0;
  if (lost == 0) return Status::Ok();
  if (options_.recovery == Recovery::kRequire)
    return Status::NotSupported(
        fmt::format("{} had blocks of this cache and is new now, or cannot be read: use recovery=warm to go on with "
                    "what the others hold",
                    Describe(lost)));
  if (options_.on_trouble && (lost & members_) != 0)
    options_.on_trouble(fmt::format("lacks what one of its media held: {} is new", Describe(lost & members_)));
  return Status::Ok();
}

// Says which of several media are left out from the start.
void EarlierLife::TellOfUnreadable() const {
  for (size_t member = 0; options_.on_trouble && member < medium_.begins().size(); ++member) {
    if ((members_ >> member & 1) != 0) continue;
    options_.on_trouble(fmt::format(
        "lacks one of its media, and goes on with the others: both copies of the superblock of {} lie on bad "
        "blocks, or cannot be read. Replace the device",
        medium_.member_info(member).description));
  }
}

Status EarlierLife::ForgetBeyond(SegmentLog* log) {
  if (superblock_.capacity_bytes >= std::min(medium_.bytes_before(), options_.capacity_bytes)) return Status::Ok();
  left_records_ = true;
  const auto first = static_cast<uint32_t>(superblock_.capacity_bytes / options_.segment_bytes);
  if (log->headers().EraseBelow(superblock_.sequence_end, first)) return Status::Ok();
  return Status::IoError(fmt::format("{}: cannot be written to behind its first {}: use another medium",
                                     medium_.info().description, HumanBytes(superblock_.capacity_bytes)));
}

}  // namespace mezz
