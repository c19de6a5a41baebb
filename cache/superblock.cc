// SPDX-License-Identifier: Apache-2.0
#include "cache/superblock.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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

// Whether the sizes are sound: readers of the medium divide by them and add them up.
bool HasSoundGeometry(const Superblock& superblock) {
  return std::has_single_bit(superblock.segment_bytes) && superblock.segment_bytes > layout::kSuperblockSpace &&
         superblock.segment_bytes <= kSegmentBytesMax && superblock.capacity_bytes <= kCapacityBytesMax;
}

bool IsWhole(const Superblock& superblock) {
  return HasMagic(superblock) && superblock.format_version == layout::kFormatVersion &&
         superblock.byte_order_mark == layout::kByteOrderMark && superblock.checksum == Checksum(superblock) &&
         HasSoundGeometry(superblock);
}

// Why the superblock cannot be used. Another version may have its checksum elsewhere, so byte order and version are
// trusted even if the checksum fails.
std::string WhyUnusable(const Superblock& superblock) {
  if (superblock.byte_order_mark == __builtin_bswap32(layout::kByteOrderMark))
    return "was written by a machine of the opposite byte order";
  if (superblock.format_version != layout::kFormatVersion)
    return fmt::format("has format version {} and this program knows only version {}", superblock.format_version,
                       layout::kFormatVersion);
  return "has no whole superblock any more";
}

}  // namespace

Superblock SuperblockOf(const ScmOptions& options) {
  Superblock superblock{};
  std::memcpy(superblock.magic, layout::kMagic, sizeof(superblock.magic));
  superblock.format_version = layout::kFormatVersion;
  superblock.byte_order_mark = layout::kByteOrderMark;
  superblock.segment_bytes = options.EffectiveSegmentBytes();
  superblock.capacity_bytes = options.capacity_bytes / superblock.segment_bytes * superblock.segment_bytes;
  superblock.host_version = options.host_version;
  superblock.key_scheme = options.key_scheme;
  return superblock;
}

Superblock Sealed(Superblock superblock) {
  superblock.checksum = Checksum(superblock);
  return superblock;
}

std::vector<std::byte> ReadHead(const Medium& medium) {
  static_assert(layout::kSuperblockSpace == 2 * layout::kSuperblockCopyAt);
  constexpr uint64_t kHalf = layout::kSuperblockCopyAt;
  const std::vector<BadRange> bad = medium.BadRanges();
  std::vector<std::byte> head(2 * kHalf);
  const auto read = [&](uint64_t at) {
    return !AnyMeets(bad, at, at + kHalf) && CopyBytes({medium.base() + at, kHalf}, head.data() + at);
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

std::string WhyOfNoUse(const Superblock& superblock, const ScmOptions& options) {
  const Superblock wanted = SuperblockOf(options);
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
  if (AnyMeets(bad_, 0, kLineBytes)) return;  // nor is the first copy written
  alignas(kLineBytes) std::array<char, kLineBytes> line{};
  std::memcpy(line.data(), layout::kMagic, sizeof(layout::kMagic));
  // Where it does not arrive, nor does the first copy, and Change says what becomes of that.
  if (medium_.Stream(medium_.base(), line.data(), line.size())) (void)medium_.Persist(medium_.base(), line.size());
}

SuperblockKeeper::Stored SuperblockKeeper::Change(const std::function<void(Superblock*)>& change) {
  const std::lock_guard lock(mutex_);
  ++superblock_.generation;  // not used again, whatever becomes of this one
  Superblock changed = superblock_;
  change(&changed);
  const Superblock sealed = Sealed(changed);
  const bool first = WriteLocked(0, sealed);
  const bool second = WriteLocked(layout::kSuperblockCopyAt, sealed);
  if (!first && !second) return Stored::kNowhere;
  superblock_ = changed;
  return Stored::kLasts;
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
