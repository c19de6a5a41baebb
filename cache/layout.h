// SPDX-License-Identifier: Apache-2.0
// Every byte on the medium. docs/media_format.md explains it; the asserts below pin it.
//
//   medium   := segment[0] segment[1] ...             segment[0] starts with 4 KiB that hold the superblock
//   segment  := SegmentHeader (64 B) record*          records follow one another without gaps, 64-byte aligned
//   record   := RecordHeader (32 B) payload padding   padded with zeros to 64 bytes
//   payload  := the block's bytes                     a raw record
//             | PackedPrefix (16 B) packed bytes      a packed record (kRecordPacked)
//             | a zstd dictionary                     what packed records name (kRecordDictionary)
//
// All integers are in the byte order of the machine that wrote them; the superblock says which. Checksums are XXH3
// (xxHash 0.8, 64 bits, folded to the field's width by taking the low bits), seeded with kChecksumSeed.
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz::layout {

inline constexpr char kMagic[16] = {'M', 'E', 'Z', 'Z', 'A', 'N',  'I',  'N',
                                    'E', '-', 'S', 'C', 'M', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFormatVersion = 3;
inline constexpr uint32_t kByteOrderMark = 0x01020304;
inline constexpr uint64_t kChecksumSeed = 0x4d455a5aull;

// Identifies the file as ours and fixes the geometry. Written once, when the medium is formatted.
struct Superblock {
  char magic[16];
  uint32_t format_version;
  uint32_t byte_order_mark;
  uint64_t capacity_bytes;
  uint64_t segment_bytes;
  uint64_t hash_seed;     // of the index; a restart finds blocks again only with the same seed
  uint64_t format_id;     // random, new at each format: tells one life of the medium from another
  uint64_t host_version;  // of the program above the tier (RocksDB: major*1e6 + minor*1e3 + patch); 0 if it has none
  uint64_t reserved[7];   // zero
  uint64_t checksum;      // of the bytes before it
};
static_assert(sizeof(Superblock) == 128);

inline constexpr uint64_t kSuperblockSpace = 4096;

// Opens a segment. `sequence` grows by one with each segment opened anywhere on the medium, so it orders segments by
// age and tells this fill of the segment from every earlier one.
struct SegmentHeader {
  uint64_t magic;      // kSegmentMagic
  uint64_t sequence;   // from 1
  uint64_t format_id;  // of the superblock
  uint32_t segment;    // its own number
  uint32_t reserved0;
  uint64_t reserved[3];
  uint64_t checksum;  // of the bytes before it
};
static_assert(sizeof(SegmentHeader) == kLineBytes);
inline constexpr uint64_t kSegmentMagic = 0x544e454d4745535aull;

// Opens a record. A reader that walks a segment stops at the first header that is damaged or of another sequence.
struct RecordHeader {
  BlockKey key;
  uint32_t payload_bytes;     // as stored
  uint32_t payload_checksum;  // of the bytes stored
  uint32_t sequence;          // low 32 bits of the segment's
  BlockRole role;
  uint8_t flags;      // RecordFlags
  uint16_t checksum;  // of the bytes before it
};
static_assert(sizeof(RecordHeader) == 32);

enum RecordFlags : uint8_t {
  kRecordVoid = 1,        // space was reserved and never filled: skip payload_bytes
  kRecordPacked = 2,      // the payload begins with a PackedPrefix
  kRecordRejected = 4,    // raw, and packing it was tried and would have saved too little
  kRecordDictionary = 8,  // no block: a dictionary; its key is kDictionaryKey, then number << 8 | role
};
inline constexpr uint64_t kDictionaryKey = 0x594e41524f494344ull;

// Opens the payload of a packed record: what the block is when it is unpacked.
struct PackedPrefix {
  uint32_t logical_bytes;
  uint32_t logical_checksum;  // what payload_checksum would be of the raw record; 0 of an image
  Codec codec;
  uint8_t type;         // of an image: RocksDB's compression type; else 0
  uint16_t dictionary;  // number of the one it was packed with; 0: none
  uint32_t reserved;    // zero
};
static_assert(sizeof(PackedPrefix) == 16);
static_assert(sizeof(RecordHeader) + sizeof(PackedPrefix) <= kLineBytes, "a record's first line tells both sizes");

// Bytes a payload of this size occupies on the medium.
constexpr uint64_t RecordBytes(uint64_t payload_bytes) {
  return RoundUp(sizeof(RecordHeader) + payload_bytes, kLineBytes);
}

// Bytes of a segment that may hold records; the same for all, segment[0] included.
constexpr uint64_t SegmentPayloadBytes(uint64_t segment_bytes) {
  return segment_bytes - kSuperblockSpace - sizeof(SegmentHeader);
}

}  // namespace mezz::layout
