// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "cache/wal/wal_layout.h"

namespace mezz::wal_layout {

inline uint64_t SuperblockChecksum(const Superblock& superblock) {
  return XXH3_64bits_withSeed(&superblock, offsetof(Superblock, checksum), kSuperblockSeed);
}

inline Superblock MakeSuperblock(const Geometry& geometry, const std::array<uint64_t, 2>& uuid) {
  Superblock superblock{};
  std::memcpy(superblock.magic, kMagic, sizeof(kMagic));
  superblock.format_version = kFormatVersion;
  superblock.byte_order_mark = kByteOrderMark;
  superblock.capacity_bytes = geometry.capacity_bytes;
  superblock.extent_bytes = geometry.extent_bytes;
  superblock.slots = geometry.slots;
  superblock.slot_bytes = kSlotBytes;
  superblock.uuid[0] = uuid[0];
  superblock.uuid[1] = uuid[1];
  superblock.checksum = SuperblockChecksum(superblock);
  return superblock;
}

// The checksum of the bytes after the checksum field, with which an entry (its name included) or an extent header
// begins.
inline uint64_t ChecksumBehind(const std::byte* begin, size_t bytes, uint64_t medium_seed) {
  return XXH3_64bits_withSeed(begin + sizeof(uint64_t), bytes - sizeof(uint64_t), medium_seed);
}

inline uint64_t ChunkSeed(uint64_t medium_seed, uint64_t generation, uint64_t at, uint32_t bytes) {
  const uint64_t bound_to[] = {generation, at, bytes};
  return XXH3_64bits_withSeed(bound_to, sizeof(bound_to), medium_seed);
}

// The checksum of a chunk. It is never 0, because empty space holds 0.
inline uint64_t ChunkChecksum(std::span<const std::byte> bytes, uint64_t seed) {
  const uint64_t sum = XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
  return sum == 0 ? 1 : sum;
}

}  // namespace mezz::wal_layout
