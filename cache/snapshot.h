// SPDX-License-Identifier: Apache-2.0
// The index and the log's fills as they were when a tier was closed, on the medium, so that the next one reads them in
// one stream instead of each record's header. layout.h has the bytes.
//
// Written when nothing else is: into segments that hold no records, and the few that reclaim would come to next, which
// are given up; so no space is kept for it meanwhile. Whole and durable before the superblock names it, and named by
// that one generation of the superblock only: what opens the medium writes the next generation before anything else
// (SegmentLog::TakeSequencesFrom), so that a snapshot is believed once, and never after a crash.
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

// Reads a snapshot from bytes alone, and believes nothing but checksums. Nobody may write to what is read.
class SnapshotReader {
 public:
  // `superblock` is whole, and describes these bytes, which are not owned.
  SnapshotReader(std::span<const std::byte> medium, const layout::Superblock& superblock);

  // Reads and checks all of it. Empty: it is whole. Else what is wrong, as the rest of a sentence that begins with the
  // snapshot. REQUIRES: superblock.snapshot_segment != 0.
  std::string Check();
  // The first part of that: one line of each chunk, and the contents of those that hold the head and the fills.
  std::string CheckHead();
  // The second: each chunk from this one on. Thread-safe. REQUIRES, as the rest below: CheckHead found nothing wrong.
  size_t first_unchecked() const { return first_unchecked_; }
  std::string CheckChunk(size_t number) const;

  const layout::SnapshotHead& head() const { return head_; }
  const std::vector<layout::SnapshotFill>& fills() const { return fills_; }
  void ForgetFills() { std::vector<layout::SnapshotFill>().swap(fills_); }
  struct Chunk {
    SegmentId segment{};
    std::span<const std::byte> content;
    uint64_t checksum = 0;
    uint64_t first_slot = 0;  // of its words
    std::span<const uint64_t> words;
  };
  // Each in a segment of its own. If CheckHead found something wrong: those before it. Not what the superblock tells.
  const std::vector<Chunk>& chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }  // of its contents

 private:
  std::string FindChunk(uint32_t segment, uint32_t number, uint32_t* next);
  std::string ReadHead();

  const std::span<const std::byte> medium_;
  const layout::Superblock superblock_;
  uint32_t segments_ = 0;  // that the bytes have
  std::vector<Chunk> chunks_;
  size_t first_unchecked_ = 0;
  uint64_t bytes_ = 0;
  layout::SnapshotHead head_{};
  std::vector<layout::SnapshotFill> fills_;
};

// What a snapshot is of, or for; nothing is owned.
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

// Writes one and makes it durable. REQUIRES: no other call runs on any of it. `next`: the superblock that will name it,
// with its generation. Nothing: there is no room, or a dictionary that is needed lies nowhere on the medium. What the
// log and the index hold is as before, but the log is sealed, and is not to be written to again: records of some
// segments are not on the medium any more.
std::optional<SnapshotPlace> WriteSnapshot(const SnapshotOf& of, const layout::Superblock& next);

// How many segments must be free for a log to be opened from a snapshot of so many chunks: these, until they are read,
// and those that writers and reclaim need meanwhile; where that were more than an eighth of the medium, at least two.
inline uint64_t SegmentsBeside(const SegmentLog& log, uint64_t chunks) {
  const uint64_t spare = log.lanes() + 1, all = spare + chunks;
  return all <= log.segments() / 8 ? all : std::min<uint64_t>(std::max(spare, chunks + 2), log.segments());
}

}  // namespace mezz
