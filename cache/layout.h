// SPDX-License-Identifier: Apache-2.0
// Every byte on the medium. docs/reference/media_format.md explains it; the asserts below pin it.
//
//   medium   := segment[0] segment[1] ...             segment[0] starts with 4 KiB: the superblock, twice. Of several
//                                                     media each begins so, and their segments are counted through
//   segment  := SegmentHeader (64 B) record*          records follow one another without gaps, 64-byte aligned
//             | SegmentHeader (64 B) Tombstone*       one for each erased key (erase=durable)
//   record   := RecordHeader (32 B) payload padding   padded with zeros to 64 bytes
//   payload  := the block's bytes                     a raw record
//             | PackedPrefix (16 B) packed bytes      a packed record (kRecordPacked)
//             | a zstd dictionary                     that packed records name (kRecordDictionary)
//             with verify=keyed followed by its MAC, 16 B (kRecordKeyed)
//
// A medium that was closed may also hold a snapshot of the index, in segments without records:
//
//   snapshot := SnapshotChunk (64 B) content          one chunk for each segment
//   contents := SnapshotHead SnapshotFill* word*      the contents of all chunks, one after the other: the log's fills
//                                                     and the words of the index, slot by slot
//
// All integers are in the byte order of the machine that wrote them; the superblock says which. Checksums are the low
// bits of XXH3 (xxHash 0.8, 64 bits), seeded with kChecksumSeed. A record header's is a residue (header_checksum.h).
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz::layout {

inline constexpr char kMagic[16] = {'M', 'E', 'Z', 'Z', 'A', 'N',  'I',  'N',
                                    'E', '-', 'S', 'C', 'M', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFormatVersion = 7;
inline constexpr uint32_t kFormatVersionOfSeveral = 8;  // of one of several media
inline constexpr uint32_t kByteOrderMark = 0x01020304;
inline constexpr uint64_t kChecksumSeed = 0x4d455a5aull;

// Identifies the file as ours, fixes the geometry, and says which of the segments behind it are valid. The medium has
// two copies; superblock.h says how they are written.
struct Superblock {
  char magic[16];
  uint32_t format_version;
  uint32_t byte_order_mark;
  uint64_t capacity_bytes;
  uint64_t segment_bytes;
  uint64_t hash_seed;       // of the index
  uint64_t format_id;       // random, new at each format: tells one life of the medium from another
  uint64_t host_version;    // of the program above the tier (RocksDB: major*1e6 + minor*1e3 + patch); 0 if it has none
  uint64_t uuid[2];         // random, of the medium, whatever it is formatted for
  uint64_t generation;      // from 1; grows by one each time the superblock is written
  uint64_t sequence_end;    // the sequence of every segment is below this
  uint64_t sequence_begin;  // segments with a sequence below this were erased: they hold nothing
  uint32_t key_scheme;      // how the program above derives its keys; its own numbers, 0 if it has none
  uint32_t flags;           // SuperblockFlags
  uint32_t snapshot_segment;    // holds the first chunk of a snapshot; 0: there is none
  uint32_t snapshot_chunks;     // chunks of the snapshot
  uint64_t key_check;           // with verify=keyed Authenticator::check(), else 0
  uint32_t tombstone_segments;  // segments of tombstones on the medium; there may be one more, which is empty
  uint32_t member;              // which of several media this is; else 0
  uint32_t member_begins[kMembersMax - 1];  // the first segments of the others but the first; 0 ends. One medium: all 0
  uint32_t members_in;                      // of several media a bit for each whose records are valid
  uint64_t reserved[2];                     // zero
  uint64_t checksum;                        // of the bytes before it
};
static_assert(sizeof(Superblock) == 192);
enum SuperblockFlags : uint32_t {
  kClosedCleanly = 1,
  kWiped = 2,  // nothing but superblocks lies on the medium (scrub_on_close)
};

inline constexpr uint64_t kSuperblockSpace = 4096;
// The copy lies in another sector than the first superblock, whatever the size of a disk's sectors.
inline constexpr uint64_t kSuperblockCopyAt = 2048;

// How many media there are, and the first segment of each.
constexpr size_t MembersOf(const Superblock& superblock) {
  size_t members = 1;
  while (members < kMembersMax && superblock.member_begins[members - 1] != 0) ++members;
  return members;
}
constexpr uint32_t BeginOf(const Superblock& superblock, size_t member) {
  return member == 0 ? 0 : superblock.member_begins[member - 1];
}
constexpr uint32_t AllMembers(const Superblock& superblock) { return (1u << MembersOf(superblock)) - 1; }
// How many bytes the medium has that the superblock was read from.
constexpr uint64_t BytesOfMedium(const Superblock& superblock) {
  const bool last = superblock.member + 1 == MembersOf(superblock);
  const uint64_t begin = BeginOf(superblock, superblock.member) * superblock.segment_bytes;
  return (last ? superblock.capacity_bytes : BeginOf(superblock, superblock.member + 1) * superblock.segment_bytes) -
         begin;
}
// Where the segment's header lies: behind the superblocks, if a medium begins with the segment.
constexpr uint64_t StartOfSegment(const Superblock& superblock, uint32_t segment) {
  bool begins = segment == 0;
  for (const uint32_t begin : superblock.member_begins) begins |= begin != 0 && begin == segment;
  return segment * superblock.segment_bytes + (begins ? kSuperblockSpace : 0);
}

// The start of a segment. `sequence` grows by one with each segment that is opened anywhere on the medium. So it orders
// segments by age, and tells this fill of the segment from every earlier one.
struct SegmentHeader {
  uint64_t magic;                  // kSegmentMagic
  uint64_t sequence;               // from 1
  uint64_t format_id;              // of the superblock
  uint32_t segment;                // its own number
  Generation generation;           // of its records
  uint8_t share_reserved_percent;  // ShareLimits::reserved_percent of its share when the segment was opened
  uint8_t reserved0[2];
  uint64_t share;  // Shares::TagOf the share that its records belong to; 0: none
  uint64_t reserved[2];
  uint64_t checksum;  // of the bytes before it
};
static_assert(sizeof(SegmentHeader) == kLineBytes);
inline constexpr uint64_t kSegmentMagic = 0x544e454d4745535aull;

// The magic of a segment of tombstones. They follow its header without gaps; the first line that is no tombstone ends
// them.
inline constexpr uint64_t kTombstonesMagic = 0x454e4f5453424d54ull;

// How far the open segment of a lane (segment_log.h) was filled at some moment: records from `line` on came later.
struct OpenSegment {
  uint32_t sequence = 0;       // low half
  uint32_t line = UINT32_MAX;  // in units of 64 B from the segment's start; UINT32_MAX: the lane has no open segment
};
inline constexpr size_t kLanesMax = 5;

// Says that a key was erased. Its records in segments with a sequence below `next_sequence` are not valid, except those
// that were written later to the segments that were open then.
struct Tombstone {
  BlockKey key;
  uint32_t next_sequence;       // low half of the sequence of the segment opened next
  OpenSegment open[kLanesMax];  // one for each lane
  uint32_t checksum;            // of the bytes before it; its seed is xored with its segment's sequence
};
static_assert(sizeof(Tombstone) == kLineBytes);

// The start of a record. A reader that walks a segment stops at the first header that is damaged or of another
// sequence.
struct RecordHeader {
  BlockKey key;
  uint32_t payload_bytes;     // as stored, with the MAC
  uint32_t payload_checksum;  // of the bytes before the MAC, xor KeyFold(key), so that a torn header names no payload
  uint32_t sequence;          // low 32 bits of the segment's
  BlockRole role;
  uint8_t flags;      // RecordFlags
  uint16_t checksum;  // makes the whole header leave a fixed residue: header_checksum.h
};
static_assert(sizeof(RecordHeader) == 32);

enum RecordFlags : uint8_t {
  kRecordVoid = 1,        // space was reserved and never filled: skip payload_bytes
  kRecordPacked = 2,      // the payload begins with a PackedPrefix
  kRecordRejected = 4,    // raw: packing was tried, and would have saved too little
  kRecordDictionary = 8,  // not a block but a dictionary; its key is kDictionaryKey, then number << 8 | role
  kRecordKeyed = 16,      // the payload ends with a MAC (authenticator.h)
};
inline constexpr uint32_t kMacBytes = 16;
inline constexpr uint32_t kMacPieceBytes = 8192;  // pieces of the payload, whose MACs are chained
inline constexpr uint64_t kDictionaryKey = 0x594e41524f494344ull;

// The start of a packed record's payload. It describes the unpacked block.
struct PackedPrefix {
  uint32_t logical_bytes;
  uint32_t logical_checksum;  // the payload_checksum that the raw record would have; 0 for an image
  Codec codec;
  uint8_t type;         // of an image: RocksDB's compression type; else 0
  uint16_t dictionary;  // number of the dictionary it was packed with; 0: none
  uint32_t reserved;    // zero
};
static_assert(sizeof(PackedPrefix) == 16);
static_assert(sizeof(RecordHeader) + sizeof(PackedPrefix) <= kLineBytes, "a record's first line tells both sizes");

// The start of a segment that holds a part of a snapshot. Only the superblock that names a snapshot makes it valid;
// every later superblock has a higher generation.
struct SnapshotChunk {
  uint64_t magic;          // kSnapshotMagic
  uint64_t format_id;      // of the superblock
  uint64_t generation;     // of the superblock that names the snapshot
  uint32_t version;        // kSnapshotVersion
  uint32_t number;         // from 0
  uint32_t next;           // the segment of the next chunk; 0: this is the last one
  uint32_t segment;        // its own
  uint64_t content_bytes;  // bytes that follow; a multiple of 8
  uint64_t content_checksum;
  uint64_t checksum;  // of the bytes before it
};
static_assert(sizeof(SnapshotChunk) == kLineBytes);
inline constexpr uint64_t kSnapshotMagic = 0x544f485350414e53ull;
inline constexpr uint32_t kSnapshotVersion = 1;

// The start of a snapshot's contents.
struct SnapshotHead {
  struct DictionarySlot {
    uint64_t place;        // of the dictionary's record; 0: the slot has none
    uint16_t last_number;  // the slot's next dictionary has a higher number
    uint8_t live;          // 1: new records of its role are packed with it
    uint8_t reserved[5];   // zero
  };
  uint32_t fills;
  uint8_t pack;                      // PackMode of the tier that wrote it
  uint8_t has_dictionaries;          // 1: that tier used dictionaries, or would have
  uint8_t reserved[2];               // zero
  uint64_t groups, members, growth;  // Index::Shape
  uint64_t slots;
  uint64_t records;  // words that are not 0
  DictionarySlot dictionaries[8];
};
static_assert(sizeof(SnapshotHead) == 176);

// What a segment holds. Fills are in the order in which reclaim would reach their segments.
struct SnapshotFill {
  uint64_t sequence;
  uint64_t tail;  // end of the last record, from the start of the medium
  uint64_t dead;  // bytes of forgotten files' records
  uint32_t segment;
  uint8_t dictionaries;  // a bit for each dictionary slot that its records use
  uint8_t reserved[3];   // zero
};
static_assert(sizeof(SnapshotFill) == 32);

// A key folded to 32 bits. Two keys that differ in one word fold to the same in one case of four billion.
constexpr uint32_t KeyFold(const BlockKey& key) {
  const uint64_t mixed = key.words[0] * 0x9e3779b97f4a7c15ull ^ key.words[1] * 0xc2b2ae3d27d4eb4full;
  return static_cast<uint32_t>(mixed >> 32);
}

// Bytes that a record with a payload of this size occupies on the medium.
constexpr uint64_t RecordBytes(uint64_t payload_bytes) {
  return RoundUp(sizeof(RecordHeader) + payload_bytes, kLineBytes);
}

// Bytes of a segment that may hold records. They are the same for all segments, segment[0] included.
constexpr uint64_t SegmentPayloadBytes(uint64_t segment_bytes) {
  return segment_bytes - kSuperblockSpace - sizeof(SegmentHeader);
}

}  // namespace mezz::layout
