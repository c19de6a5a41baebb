// SPDX-License-Identifier: Apache-2.0
#include "cache/superblock.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace mezz {
namespace {

uint64_t Checksum(const layout::Superblock& superblock) {
  return XXH3_64bits_withSeed(&superblock, offsetof(layout::Superblock, checksum), layout::kChecksumSeed);
}

}  // namespace

layout::Superblock MakeSuperblock(uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t hash_seed,
                                  uint64_t format_id, uint64_t host_version) {
  layout::Superblock superblock{};
  std::memcpy(superblock.magic, layout::kMagic, sizeof(superblock.magic));
  superblock.format_version = layout::kFormatVersion;
  superblock.byte_order_mark = layout::kByteOrderMark;
  superblock.capacity_bytes = capacity_bytes;
  superblock.segment_bytes = segment_bytes;
  superblock.hash_seed = hash_seed;
  superblock.format_id = format_id;
  superblock.host_version = host_version;
  superblock.checksum = Checksum(superblock);
  return superblock;
}

Status ReadSuperblock(const std::byte* from, size_t bytes, layout::Superblock* superblock, bool* damaged) {
  *damaged = false;
  if (bytes < sizeof(*superblock) || std::memcmp(from, layout::kMagic, sizeof(layout::kMagic)) != 0) {
    return Status::ForeignFile(
        "holds data that is not Mezzanine's and is left as it is: name another file or remove it");
  }
  std::memcpy(superblock, from, sizeof(*superblock));
  // The byte order comes first: without it the other integers cannot be read.
  if (superblock->byte_order_mark == __builtin_bswap32(layout::kByteOrderMark)) {
    return Status::NotSupported(
        "was written by a machine of the opposite byte order and is left as it is: name another file or remove it");
  }
  const bool checksum_ok = superblock->checksum == Checksum(*superblock);
  // Another version may keep its checksum elsewhere, so the version is believed even where the checksum fails.
  if (superblock->format_version != layout::kFormatVersion) {
    return Status::NotSupported(
        fmt::format("has format version {} and this program knows only version {}: name another file or remove it",
                    superblock->format_version, layout::kFormatVersion));
  }
  *damaged = !checksum_ok || superblock->byte_order_mark != layout::kByteOrderMark;
  return Status::Ok();
}

}  // namespace mezz
