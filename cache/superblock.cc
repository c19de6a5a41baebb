// SPDX-License-Identifier: Apache-2.0
#include "cache/superblock.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include "cache/authenticator.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

using layout::Superblock;

uint64_t Checksum(const Superblock& superblock) {
  return XXH3_64bits_withSeed(&superblock, offsetof(Superblock, checksum), layout::kChecksumSeed);
}

bool HasMagic(const Superblock& superblock) {
  return std::memcmp(superblock.magic, layout::kMagic, sizeof(layout::kMagic)) == 0;
}

uint32_t VersionOf(const Superblock& superblock) {
  return layout::MembersOf(superblock) == 1 ? layout::kFormatVersion : layout::kFormatVersionOfSeveral;
}

// Whether the sizes are sound: readers of the medium divide by them and add them up.
bool HasSoundGeometry(const Superblock& superblock) {
  const size_t members = layout::MembersOf(superblock);
  for (size_t member = 1; member < members; ++member) {
    if (layout::BeginOf(superblock, member) <= layout::BeginOf(superblock, member - 1)) return false;
  }
  for (size_t member = members; member < kMembersMax; ++member) {
    if (superblock.member_begins[member - 1] != 0) return false;
  }
  if (superblock.member >= members) return false;
  if (members > 1 && layout::BeginOf(superblock, members - 1) * superblock.segment_bytes >= superblock.capacity_bytes)
    return false;
  return std::has_single_bit(superblock.segment_bytes) && superblock.segment_bytes > layout::kSuperblockSpace &&
         superblock.segment_bytes <= kSegmentBytesMax && superblock.capacity_bytes <= kCapacityBytesMax;
}

bool IsWhole(const Superblock& superblock) {
  return HasMagic(superblock) && superblock.format_version == VersionOf(superblock) &&
         superblock.byte_order_mark == layout::kByteOrderMark && superblock.checksum == Checksum(superblock) &&
         HasSoundGeometry(superblock);
}

// Why the superblock cannot be used. Another version may have its checksum elsewhere, so byte order and version are
// trusted even if the checksum fails.
std::string WhyUnusable(const Superblock& superblock) {
  if (superblock.byte_order_mark == __builtin_bswap32(layout::kByteOrderMark))
    return "was written by a machine of the opposite byte order";
  if (superblock.format_version != layout::kFormatVersion &&
      superblock.format_version != layout::kFormatVersionOfSeveral)
    return fmt::format("has format version {} and this program knows only version {}", superblock.format_version,
                       layout::kFormatVersion);
  return "has no whole superblock any more";
}

}  // namespace

Superblock SuperblockOf(const ScmOptions& options) {
  Superblock superblock{};
  std::memcpy(superblock.magic, layout::kMagic, sizeof(superblock.magic));
  const ScmOptions effective = options.Effective();
  superblock.byte_order_mark = layout::kByteOrderMark;
  superblock.segment_bytes = effective.segment_bytes;
  superblock.capacity_bytes = effective.capacity_bytes;
  uint64_t begin = 0;
  for (size_t member = 1; member < effective.members.size(); ++member) {
    begin += effective.members[member - 1].capacity_bytes / effective.segment_bytes;
    superblock.member_begins[member - 1] = static_cast<uint32_t>(begin);
  }
  if (!effective.members.empty()) superblock.members_in = layout::AllMembers(superblock);
  superblock.format_version = VersionOf(superblock);
  superblock.host_version = options.host_version;
  superblock.key_scheme = options.key_scheme;
  return superblock;
}

Superblock Sealed(Superblock superblock) {
  superblock.checksum = Checksum(superblock);
  return superblock;
}

std::vector<std::byte> ReadHead(const Medium& medium, uint64_t begin) {
  static_assert(layout::kSuperblockSpace == 2 * layout::kSuperblockCopyAt);
  constexpr uint64_t kHalf = layout::kSuperblockCopyAt;
  const std::vector<BadRange> bad = medium.BadRanges();
  std::vector<std::byte> head(2 * kHalf);
  const auto read = [&](uint64_t at) {
    return !AnyMeets(bad, begin + at, begin + at + kHalf) &&
           CopyBytes({medium.base() + begin + at, kHalf}, head.data() + at);
  };
  const bool first = read(0), second = read(kHalf);
  if (!first && !second) return {};
  if (!first) std::memcpy(head.data(), head.data() + kHalf, kHalf);
  if (!second) std::memcpy(head.data() + kHalf, head.data(), kHalf);
  return head;
}

FoundSuperblock FindSuperblock(std::span<const std::byte> head) {
  FoundSuperblock found;
  std::array<Superblock, 2> copies{};
  unsigned there = 0;
  for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt}) {
    if (head.size() >= at + sizeof(Superblock)) std::memcpy(&copies[there++], head.data() + at, sizeof(Superblock));
  }
  // The first one's is demanded: who made something else of a file began at its beginning, and may have left the other.
  if (there == 0 || !HasMagic(copies[0])) {
    found.why = "holds data that is not Mezzanine's and is left as it is: name another file or remove it";
    return found;
  }
  const Superblock* younger = nullptr;
  for (const Superblock& copy : copies) {
    if (IsWhole(copy) && (younger == nullptr || copy.generation > younger->generation)) younger = &copy;
  }
  found.what = younger == nullptr                           ? FoundSuperblock::What::kUnusable
               : younger->format_id == kProvisionalFormatId ? FoundSuperblock::What::kProvisional
                                                            : FoundSuperblock::What::kWhole;
  if (younger != nullptr) found.superblock = *younger;
  if (younger == nullptr) found.why = WhyUnusable(copies[0]);
  return found;
}

// A member that is new is of no life, and its own segments tell so.
FoundMembers FindMembers(const Medium& medium, const ScmOptions& options) {
  const size_t members = medium.begins().size();
  const Superblock wanted = SuperblockOf(options);
  std::array<FoundSuperblock, kMembersMax> of;
  FoundMembers all;
  bool used = false;
  for (size_t member = 0; member < members; ++member) {
    const std::vector<std::byte> head = ReadHead(medium, medium.begins()[member]);
    if (head.empty()) continue;
    all.readable |= 1u << member;
    of[member] = FindSuperblock(head);
    if (members == 1) {
      all.found = of[0];
      all.of_life = 1;
      return all;
    }
    used |= of[member].what == FoundSuperblock::What::kWhole || of[member].what == FoundSuperblock::What::kUnusable;
    const bool whole = of[member].what == FoundSuperblock::What::kWhole && of[member].superblock.member == member &&
                       std::ranges::equal(of[member].superblock.member_begins, wanted.member_begins);
    if (!whole) {
      of[member].what = FoundSuperblock::What::kForeign;
    } else if (all.found.what != FoundSuperblock::What::kWhole ||
               of[member].superblock.generation > all.found.superblock.generation) {
      all.found = of[member];
    }
  }
  if (all.found.what != FoundSuperblock::What::kWhole) {
    all.found.what = used ? FoundSuperblock::What::kUnusable : FoundSuperblock::What::kProvisional;
    if (used) all.found.why = "are not the media of one cache, in this order and of these sizes";
    return all;
  }
  for (size_t member = 0; member < members; ++member) {
    const Superblock& found = of[member].superblock;
    if (found.format_id != 0 && !std::ranges::equal(found.uuid, all.found.superblock.uuid))
      all.of_others |= 1u << member;
    if (of[member].what != FoundSuperblock::What::kWhole) continue;
    if (found.format_id == all.found.superblock.format_id) all.of_life |= 1u << member;
  }
  all.outdated = all.of_life & ~all.found.superblock.members_in;
  all.lost = all.found.superblock.members_in & ~all.of_life;
  all.found.superblock.member = 0;  // it speaks of all of them
  return all;
}

std::string WhyOfNoUse(const Superblock& superblock, const ScmOptions& options) {
  const Superblock wanted = SuperblockOf(options);
  if (layout::MembersOf(superblock) != layout::MembersOf(wanted))
    return layout::MembersOf(superblock) == 1 ? std::string("was a cache's only medium, and is to be one of several")
                                              : fmt::format("was one of {} media of a cache, and {} are given",
                                                            layout::MembersOf(superblock), layout::MembersOf(wanted));
  if (superblock.segment_bytes != wanted.segment_bytes)
    return fmt::format("was made with segments of {} and {} are asked for", HumanBytes(superblock.segment_bytes),
                       HumanBytes(wanted.segment_bytes));
  if (superblock.key_scheme != wanted.key_scheme)
    return fmt::format("has keys of scheme {} and this program's are of {}", superblock.key_scheme, wanted.key_scheme);
  if (superblock.host_version != wanted.host_version)
    return fmt::format("was written by version {} of the program and this is {}", superblock.host_version,
                       wanted.host_version);
  return WhyOfNoUse(superblock, options.verify_key ? &*options.verify_key : nullptr);
}

std::string WhyOfNoUse(const Superblock& superblock, const VerifyKey* key) {
  if (key == nullptr)
    return superblock.key_check == 0 ? std::string() : "holds records of verify=keyed, which is not asked for";
  if (superblock.key_check == 0) return "holds records that were stored without verify=keyed";
  if (superblock.key_check != Authenticator(*key, superblock).check()) return "was keyed with another verify_key";
  return {};
}

void SuperblockKeeper::PutMagic() {
  const std::lock_guard lock(mutex_);
  alignas(kLineBytes) std::array<char, kLineBytes> line{};
  std::memcpy(line.data(), layout::kMagic, sizeof(layout::kMagic));
  for (const uint64_t begin : medium_.begins()) {
    if (AnyMeets(bad_, begin, begin + kLineBytes)) continue;  // nor is the first copy written
    std::byte* const to = medium_.base() + begin;
    // Where it does not arrive, nor does the first copy, and Change says what becomes of that.
    if (medium_.Stream(to, line.data(), line.size())) (void)medium_.Persist(to, line.size());
  }
}

SuperblockKeeper::Stored SuperblockKeeper::Change(const std::function<void(Superblock*)>& change) {
  const std::lock_guard lock(mutex_);
  ++superblock_.generation;  // not used again, whatever becomes of this one
  Superblock changed = superblock_;
  change(&changed);
  return StoreLocked(&changed);
}

SuperblockKeeper::Stored SuperblockKeeper::LeaveOut(uint32_t members) {
  const std::lock_guard lock(mutex_);
  if ((superblock_.members_in & members) == 0) return Stored::kLasts;
  ++superblock_.generation;
  Superblock changed = superblock_;
  changed.members_in &= ~members;
  changed.snapshot_segment = changed.snapshot_chunks = 0;  // a part of it may lie there
  return StoreLocked(&changed);
}

// Writes the copies of all members that are in. If some take none, writes once more that they are out.
SuperblockKeeper::Stored SuperblockKeeper::StoreLocked(Superblock* changed) {
  const bool several = medium_.begins().size() > 1;
  for (;;) {
    uint32_t lost = 0;
    for (uint32_t member = 0; member < medium_.begins().size(); ++member) {
      if (several && (changed->members_in >> member & 1) == 0) continue;
      const uint64_t begin = medium_.begins()[member];
      changed->member = member;
      const Superblock sealed = Sealed(*changed);
      const bool first = WriteLocked(begin, sealed);
      const bool second = WriteLocked(begin + layout::kSuperblockCopyAt, sealed);
      if (!first && !second) lost |= 1u << member;
    }
    changed->member = 0;
    if (lost != 0 && !several) return Stored::kNowhere;
    const bool none_left = several && (changed->members_in & ~lost) == 0;
    if (lost == 0 && !none_left) {
      superblock_ = *changed;
      return Stored::kLasts;
    }
    if (lost_ && lost != 0) lost_(lost);
    if (none_left) return Stored::kNowhere;
    superblock_.members_in &= ~lost;
    changed->members_in &= ~lost;
    changed->snapshot_segment = changed->snapshot_chunks = 0;
    changed->generation = ++superblock_.generation;
  }
}

std::optional<uint64_t> SuperblockKeeper::ReserveSequences() {
  uint64_t first = 0;
  const Stored stored = Change([&](Superblock* superblock) {
    first = superblock->sequence_end;
    superblock->sequence_end += kSequencesAtOnce;
    // They will be used: what was closed is open, and what an index held is going to change.
    superblock->flags &= ~uint32_t{layout::kClosedCleanly | layout::kWiped};
    superblock->snapshot_segment = superblock->snapshot_chunks = 0;
  });
  return stored == Stored::kLasts ? std::optional(first) : std::nullopt;
}

Superblock SuperblockKeeper::Now() const {
  const std::lock_guard lock(mutex_);
  return superblock_;
}

// Writes a copy. False: it is not on the medium, or would not be after a loss of power.
bool SuperblockKeeper::WriteLocked(uint64_t at, const Superblock& sealed) const {
  if (AnyMeets(bad_, at, at + sizeof(Superblock))) return false;
  alignas(kLineBytes) const Superblock aligned = sealed;
  static_assert(sizeof(aligned) % kLineBytes == 0);
  if (!medium_.Stream(medium_.base() + at, &aligned, sizeof(aligned)) ||
      !medium_.Persist(medium_.base() + at, sizeof(aligned)))
    return false;
  Superblock read;
  return CopyBytes({medium_.base() + at, sizeof(read)}, &read) && std::memcmp(&read, &aligned, sizeof(read)) == 0;
}

}  // namespace mezz
