// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the SCM tier: distinct types where a bare integer could be swapped for another.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace mezz {

// The file that a block is part of: the first half of its key. RocksDB derives it from the file's unique id, once for
// all time. 0: of no file.
enum class FileId : uint64_t {};

// A block's name: the 16 bytes of a RocksDB cache key, taken as they are. Immutable content: the same key never
// names two different blocks unless it was erased in between.
struct BlockKey {
  uint64_t words[2] = {0, 0};

  static constexpr size_t kBytes = 16;

  static BlockKey FromBytes(const void* bytes) {
    BlockKey key;
    std::memcpy(key.words, bytes, kBytes);
    return key;
  }
  FileId file() const { return FileId{words[0]}; }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(words), kBytes}; }
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};
static_assert(sizeof(BlockKey) == BlockKey::kBytes);

// What a block is to RocksDB. Stored on the medium: append only, never renumber.
enum class BlockRole : uint8_t { kData = 0, kIndex = 1, kFilter = 2, kDictionary = 3, kBlob = 4, kOther = 5 };
inline constexpr size_t kBlockRoles = 6;
std::string_view ToString(BlockRole role);

// Which records a new one is kept with. The young are reclaimed after a fraction of a turn of the log; the proven,
// which have come back before or were spared by a reclaim, get a whole one. Stored on the medium: append only, never
// renumber.
enum class Generation : uint8_t { kYoung = 0, kProven = 1 };
// Heat of a record when it is put. What has come back was asked for already: it is spared for one hit more.
constexpr unsigned HeatOfNew(Generation generation) { return generation == Generation::kProven ? 1 : 0; }
// Of the segments, for the young, unless something else is set.
inline constexpr unsigned kYoungPercentDefault = 15;

// How a record holds its block: as it is, to be read where it lies; or packed, to be unpacked by each hit.
enum class Form : uint8_t { kRaw, kPacked };

// What is read to find, and to unpack, data.
constexpr bool IsMetadata(BlockRole role) {
  return role == BlockRole::kIndex || role == BlockRole::kFilter || role == BlockRole::kDictionary;
}
// Index and filter blocks are read too often, and a dictionary is held for a table's life (ZFS spent a quarter of its
// CPU on packed metadata).
constexpr bool RolePacks(BlockRole role) { return !IsMetadata(role); }

// What packed bytes were packed with. kImage: by the host; they are an Image. Stored on the medium: append only, never
// renumber.
enum class Codec : uint8_t { kLz4 = 1, kZstd = 2, kImage = 3 };

// A block as its file holds it: compressed by the host, who alone can unpack it. The bytes are not owned.
struct Image {
  std::span<const std::byte> bytes;
  uint8_t type = 0;  // the host's word for how
};

// The number of a segment: its place on the medium divided by the segment size.
enum class SegmentId : uint32_t {};
constexpr uint32_t Raw(SegmentId id) { return static_cast<uint32_t>(id); }

// Every record starts on a CPU cache line; the index counts positions in this unit.
inline constexpr size_t kLineBytes = 64;

constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// A decayed mean in integers after one more sample: mean += (sample - mean) / 2^shift, both parts rounded down, so that
// it stays between 0 and the largest sample.
template <std::unsigned_integral T>
constexpr T Decayed(T mean, T sample, unsigned shift) {
  return mean - (mean >> shift) + (sample >> shift);
}

}  // namespace mezz
