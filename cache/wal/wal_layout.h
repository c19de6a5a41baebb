// SPDX-License-Identifier: Apache-2.0
// Every byte of a medium that holds logs. docs/reference/wal_format.md draws it; the asserts below pin it.
//
//   medium    := superblock, epoch line, ... directory at 4 KiB, extents behind it
//   directory := Entry[slots]                  1 KiB each: 64 bytes and the file's name
//   extent    := ExtentHeader (64 B) chunk*    chunks follow one another without gaps, 64-byte aligned
//   chunk     := ChunkHeader (16 B) bytes, padded with zeros to 64
//
// All integers are in the byte order of the machine that wrote them; the superblock says which. Checksums are XXH3
// (xxHash 0.8, 64 bits). Each except the superblock's is seeded with the medium's UUID, and a chunk's also with its
// extent's generation and its place. So nothing that lay there before passes for valid.
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz::wal_layout {

inline constexpr char kMagic[16] = {'M', 'E', 'Z', 'Z', 'A', 'N',  'I',  'N',
                                    'E', '-', 'W', 'A', 'L', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kByteOrderMark = 0x01020304;
inline constexpr uint64_t kSuperblockSeed = 0x57414c4d455a5aull;

// Written once, when the medium is formatted. A UUID of zeros: the file was created, but not formatted yet.
struct Superblock {
  char magic[16];
  uint32_t format_version;
  uint32_t byte_order_mark;
  uint64_t capacity_bytes;
  uint64_t extent_bytes;
  uint32_t slots;  // slots of the directory
  uint32_t slot_bytes;
  uint64_t uuid[2];
  uint64_t reserved[7];  // zero
  uint64_t checksum;     // of the bytes before it
};
static_assert(sizeof(Superblock) == 128);

// The epoch, which grows by one with each opening. It is one word, so that after a crash it is the old or the new one.
struct EpochLine {
  uint64_t epoch;
  uint64_t reserved[7];
};
static_assert(sizeof(EpochLine) == kLineBytes);
inline constexpr uint64_t kEpochAt = sizeof(Superblock);

// A serial number is the epoch and a count within it. None is ever given out twice, not even across a cut of power.
inline constexpr unsigned kSerialBits = 40;

// A file in its slot of the directory. `checksum` covers the rest of the entry and the name; an entry that fails it
// does not count. Where two entries have the same file or the same name, the one with the larger version is valid. So a
// rename is one step.
struct Entry {
  uint64_t checksum;
  uint64_t version;           // a serial number
  uint64_t file;              // a serial number, which all extents of the file have
  uint64_t modified_seconds;  // since 1970, when the entry was written
  uint32_t name_bytes;
  uint32_t reserved0;
  uint64_t reserved[3];
};
static_assert(sizeof(Entry) == kLineBytes);
inline constexpr uint64_t kDirectoryAt = 4096;
inline constexpr uint32_t kSlotBytes = 1024;
inline constexpr uint32_t kNameBytesMax = kSlotBytes - sizeof(Entry);

// Says which file an extent belongs to. The extent is free if there is no such file.
struct ExtentHeader {
  uint64_t checksum;    // of the bytes behind it
  uint64_t generation;  // a serial number, new each time the extent is taken
  uint64_t file;
  uint64_t start;    // the position of its first byte in the file; bytes of the extent before it from there on are void
  uint32_t ordinal;  // 0 is the file's first extent
  uint32_t extent;   // its own number
  uint64_t reserved[3];
};
static_assert(sizeof(ExtentHeader) == kLineBytes);

// The start of a chunk: what one append put into one extent.
struct ChunkHeader {
  uint64_t checksum;  // of the `bytes` bytes after this header, seeded as said above
  uint32_t bytes;     // at least 1
  uint32_t reserved;
};
static_assert(sizeof(ChunkHeader) == 16);

struct Geometry {
  uint64_t capacity_bytes = 0;
  uint64_t extent_bytes = 0;  // a multiple of 64
  uint32_t slots = 0;

  uint64_t FirstExtentAt() const { return kDirectoryAt + uint64_t{slots} * kSlotBytes; }
  uint32_t extents() const { return static_cast<uint32_t>((capacity_bytes - FirstExtentAt()) / extent_bytes); }
  uint64_t SlotAt(uint32_t slot) const { return kDirectoryAt + uint64_t{slot} * kSlotBytes; }
  uint64_t ExtentAt(uint32_t extent) const { return FirstExtentAt() + uint64_t{extent} * extent_bytes; }
};

}  // namespace mezz::wal_layout
