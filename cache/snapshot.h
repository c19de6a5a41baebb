// SPDX-License-Identifier: Apache-2.0
// A snapshot: the index and the log's fills as they were when a tier was closed, stored on the medium. The next tier
// reads it in one stream instead of each record's header. layout.h has the bytes.
//
// It is written at the close, when nothing else is: into segments that hold no records, and into the few that reclaim
// would reach next, whose records are given up. So no space is kept for it meanwhile. It is whole and durable before
// the superblock names it, and only that generation of the superblock makes it valid. A tier that opens the medium
// first writes the next generation (LogSequences). So a snapshot is read once, and never after a crash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/index.h"
#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/pack/dictionaries.h"
#include "cache/segment_log.h"

namespace mezz {

// Reads a snapshot from bytes alone, and trusts nothing but checksums. Nobody may write to the bytes meanwhile.
class SnapshotReader {
 public:
  // `medium` is not owned. REQUIRES: `superblock` is whole, and describes these bytes.
  SnapshotReader(std::span<const std::byte> medium, const layout::Superblock& superblock);

  // Reads and checks all of the snapshot. Empty: it is whole. Otherwise the rest of a sentence whose subject is the
  // snapshot. REQUIRES: superblock.snapshot_segment != 0.
  std::string Check();
  // The first part of Check: one line of each chunk, and the contents of the chunks that hold the head and the fills.
  std::string CheckHead();
  // The second part of Check: each chunk from this one on. Thread-safe. REQUIRES, as all calls below: CheckHead found
  // nothing wrong.
  size_t first_unchecked() const { return first_unchecked_; }
  std::string CheckChunk(size_t number) const;

  const layout::SnapshotHead& head() const { return head_; }
  const std::vector<layout::SnapshotFill>& fills() const { return fills_; }
  void ForgetFills() { std::vector<layout::SnapshotFill>().swap(fills_); }
  struct Chunk {
    SegmentId segment{};
    std::span<const std::byte> content;
    uint64_t checksum = 0;
    uint64_t first_slot = 0;  // the slot of its first word
    std::span<const uint64_t> words;
  };
  // The chunks that CheckHead found, each in a segment of its own. If it found something wrong, those before it.
  const std::vector<Chunk>& chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }  // of its contents

 private:
  std::string FindChunk(uint32_t segment, uint32_t number, uint32_t* next);
  std::string ReadHead();

  const std::span<const std::byte> medium_;
  const layout::Superblock superblock_;
  uint32_t segments_ = 0;  // of the medium
  std::vector<Chunk> chunks_;
  size_t first_unchecked_ = 0;
  uint64_t bytes_ = 0;
  layout::SnapshotHead head_{};
  std::vector<layout::SnapshotFill> fills_;
};

// What a snapshot is written from or read into. Nothing is owned.
struct SnapshotOf {
  const Medium& medium;
  SegmentLog* log;
  Index* index;
  Dictionaries* dictionaries;  // null: there are none
  PackMode pack;
};

// Where a snapshot lies, for the superblock.
struct SnapshotPlace {
  uint32_t segment = 0, chunks = 0;
};

// Writes a snapshot and makes it durable. `next`: the superblock that will name it, with its generation. Empty: there
// is no room, or a dictionary that is needed is not on the medium. Log and index hold what they held before. But the
// log is sealed and must not be written to again, as the records of some segments are not on the medium any more.
// REQUIRES: no other call runs on any of it.
std::optional<SnapshotPlace> WriteSnapshot(const SnapshotOf& of, const layout::Superblock& next);

// How many segments must be free for a log to be opened from a snapshot of `chunks` chunks: the chunks, until they are
// read, and what writers and reclaim need meanwhile. Where that is more than an eighth of the medium, at least two.
inline uint64_t SegmentsBeside(const SegmentLog& log, uint64_t chunks) {
  const uint64_t spare = log.lanes() + 1, all = spare + chunks;
  return all <= log.segments() / 8 ? all : std::min<uint64_t>(std::max(spare, chunks + 2), log.segments());
}

}  // namespace mezz
