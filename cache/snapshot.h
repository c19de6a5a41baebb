// SPDX-License-Identifier: Apache-2.0
// The index and the log's fills as they were when a tier was closed, on the medium, so that the next one reads them in
// one stream instead of each record's header. layout.h has the bytes.
//
// Written when nothing else is: into segments that hold no records, and the few that reclaim would come to next, which
// are given up; so no space is kept for it meanwhile. Whole and durable before the superblock names it, and named by
// that one generation of the superblock only: what opens the medium writes the next generation before anything else
// (SegmentLog::TakeSequencesFrom), so that a snapshot is believed once, and never after a crash.
#pragma once

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
  // snapshot. REQUIRES: superblock.snapshot_segment != 0. The rest: REQUIRES that it is whole.
  std::string Check();
  // How many of its chunks were found whole, each in a segment of its own, before what is wrong or the end. Not what
  // the superblock tells. REQUIRES: Check ran, whatever it said.
  uint64_t chunks() const { return content_.size(); }

  const layout::SnapshotHead& head() const { return head_; }
  const std::vector<layout::SnapshotFill>& fills() const { return fills_; }
  // Calls visit(slot, raw word), until it returns false, for the words that are not 0. Returns whether it never did.
  template <typename Visit>
  bool ForEachWord(Visit&& visit) const {
    uint64_t slot = 0;
    for (const std::span<const uint64_t> words : words_) {
      for (const uint64_t word : words) {
        if (word != 0 && !visit(slot, word)) return false;
        ++slot;
      }
    }
    return true;
  }
  uint64_t bytes() const { return bytes_; }  // of its contents

 private:
  std::string CheckChunk(uint32_t segment, uint32_t number, uint32_t* next);
  std::string CheckContents();

  const std::span<const std::byte> medium_;
  const layout::Superblock superblock_;
  uint32_t segments_ = 0;                            // that the bytes have
  std::vector<std::span<const std::byte>> content_;  // of each chunk
  uint64_t bytes_ = 0;
  layout::SnapshotHead head_{};
  std::vector<layout::SnapshotFill> fills_;
  std::vector<std::span<const uint64_t>> words_;
};

// What a snapshot is of; nothing is owned. REQUIRES, of both calls below: no other call runs on any of it.
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

// Writes one and makes it durable. `next`: the superblock that will name it, with its generation. Nothing: there is no
// room, or a dictionary that is needed lies nowhere on the medium. What the log and the index hold is as before, but
// the log is sealed, and is not to be written to again: records of some segments are not on the medium any more.
std::optional<SnapshotPlace> WriteSnapshot(const SnapshotOf& of, const layout::Superblock& next);

// Fills the log, the index and the dictionaries, which are as they were made, from the snapshot that `superblock`
// names: the superblock as it was found. A word's record may be damaged, as any; a word without heat says that nobody
// checked it since, and its dram bit that the DRAM tier held the block at the close (ScmTier::Find). Empty: done. Else
// why not, as the rest of a sentence that begins with the snapshot, and all is as it was, but for what the index has
// reserved. *in_dram: how many words have that bit.
// REQUIRES: as SnapshotReader::Check.
std::string LoadSnapshot(const SnapshotOf& of, const layout::Superblock& superblock, uint64_t* in_dram);

}  // namespace mezz
