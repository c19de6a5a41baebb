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

#include "cache/base/words.h"

namespace mezz {

// The file that a block is part of: the first half of its key. RocksDB derives it from the file's unique id, so it
// never changes. 0 means that the key names no file.
enum class FileId : uint64_t {};

// A block's name: the 16 bytes of a RocksDB cache key, taken as they are. Blocks are immutable: the same key never
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
template <>
inline constexpr Words<kBlockRoles> kWordsOf<BlockRole> = {"data", "index", "filter", "dictionary", "blob", "other"};

// Which records a new record is stored with. A young record is reclaimed after a fraction of a turn of the log. A
// proven record came back before, or reclaim spared it; it stays for a whole turn. Stored on the medium: append only,
// never renumber.
enum class Generation : uint8_t { kYoung = 0, kProven = 1 };
// The heat of a record when it is put. A proven block was asked for before, so it starts with the heat of one hit.
constexpr unsigned HeatOfNew(Generation generation) { return generation == Generation::kProven ? 1 : 0; }
// The share of the segments that holds young records, in percent, unless something else is set.
inline constexpr unsigned kYoungPercentDefault = 15;

// How a record holds its block. A raw record holds it as it is, and a hit reads it where it lies. A packed record holds
// it compressed, and each hit unpacks it.
enum class Form : uint8_t { kRaw, kPacked };

// Metadata: the blocks that RocksDB reads in order to find data, and to decompress them.
constexpr bool IsMetadata(BlockRole role) {
  return role == BlockRole::kIndex || role == BlockRole::kFilter || role == BlockRole::kDictionary;
}
// Whether blocks of a role may be packed. Metadata is not: index and filter blocks are read too often, and a dictionary
// is held as long as its table is open. (ZFS spent a quarter of its CPU on packed metadata.)
constexpr bool RolePacks(BlockRole role) { return !IsMetadata(role); }

// What packed bytes were packed with. kImage: the host packed them, and they are an Image. Stored on the medium: append
// only, never renumber.
enum class Codec : uint8_t { kLz4 = 1, kZstd = 2, kImage = 3 };

// A block as its file holds it: compressed by the host, which alone can unpack it. The bytes are not owned.
struct Image {
  std::span<const std::byte> bytes;
  uint8_t type = 0;  // the host's number of the compression
};

// What a hit does to the record's heat.
enum class Heat : uint8_t {
  kRaise,     // raises it: the hit is evidence that the block is wanted
  kKeep,      // leaves it: the hit is no such evidence
  kHandOver,  // takes it away: another block inherits the heat, and reclaim lets this record go
};

// Whether a key has a record, and whether that holds the same bytes as the caller's.
enum class Held : uint8_t { kNothing, kSame, kOther };

// The number of a segment: its place on the medium divided by the segment size.
enum class SegmentId : uint32_t {};
constexpr uint32_t Raw(SegmentId id) { return static_cast<uint32_t>(id); }

// The number of a share of the tier (shares.h), as long as the tier is open. kNoShare: all that belongs to no share.
enum class ShareId : uint8_t {};
constexpr uint8_t Raw(ShareId id) { return static_cast<uint8_t>(id); }
inline constexpr ShareId kNoShare{0};
inline constexpr unsigned kSharesMax = 64;  // kNoShare included

// The size of a CPU cache line. Every record starts on one, and the index counts positions in this unit.
inline constexpr size_t kLineBytes = 64;
inline constexpr size_t kMembersMax = 8;  // media of a tier

// Of ordered media some are fast and some slow. New records go to the fast ones; what reclaim finds too cold for those
// goes to the slow ones. Media that are not ordered are all fast.
enum class Level : uint8_t { kFast, kSlow };
inline constexpr size_t kLevels = 2;

constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// A decayed mean in integers after one more sample: mean += (sample - mean) / 2^shift, both parts rounded down, so that
// it stays between 0 and the largest sample.
template <std::unsigned_integral T>
constexpr T Decayed(T mean, T sample, unsigned shift) {
  return mean - (mean >> shift) + (sample >> shift);
}

}  // namespace mezz
