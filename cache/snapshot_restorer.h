// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/kept_fills.h"
#include "cache/layout.h"
#include "cache/pack/dictionary.h"
#include "cache/recovery_counts.h"
#include "cache/segment_log.h"
#include "cache/snapshot.h"

namespace mezz {

// Gives a log, an index and dictionaries back what they held when a snapshot of them was written, while others use them
// already: a block whose word is not back yet is a miss.
//
// Prepare reads the head of the snapshot, so it is known what each segment holds: those with records await, and so do
// those of the snapshot itself, pinned, so that nothing is written over what is still to be read. Check reads the rest,
// and changes nothing. Restore adopts all segments, stays a writer in each so that reclaim leaves them alone, and puts
// the words back, each into its slot, unless something was put or erased meanwhile that has its tag.
//
// A word's record may be damaged, as any. A word without heat says that nobody checked it since, and its dram bit that
// the DRAM tier held the block at the close (ScmTier::Find).
//
// For one thread, which calls Prepare, then Check, then Restore or Forsake; each of them works with several.
class SnapshotRestorer {
 public:
  // `superblock`: as it was found, with the snapshot that it names. Of what `of` names nothing is owned.
  SnapshotRestorer(const SnapshotOf& of, const layout::Superblock& superblock);

  // Empty: done. Else why the snapshot is of no use, as the rest of a sentence that begins with it, and all is as it
  // was, but for what the index has reserved. Blocks as long as it takes to read 32 bytes for each segment. REQUIRES:
  // nothing else uses log, index and dictionaries; the log was just made, the index is empty and is being refilled
  // (Index::StartRefill).
  std::string Prepare();
  // Those with records, as the snapshot tells of them, in the order in which reclaim would come to them. Pinned.
  const std::vector<SegmentLog::Fill>& fills() const { return fills_; }

  // As Prepare, of all the rest. If it throws std::bad_alloc, too, all is as it was.
  std::string Check();
  // The snapshot is of no use: the index may grow again, and the segments of the snapshot be used. Those with records
  // stay pinned.
  void Forsake();
  // The highest number that a dictionary of this slot ever had. Holds whatever Check says.
  uint16_t last_number(unsigned slot) const { return reader_.head().dictionaries[slot].last_number; }

  // Asks is_over() now and then, from several threads: true ends it, and what is not back by then stays away, whatever
  // its age. *empty: how many segments hold nothing. Throws nothing. REQUIRES: Check found nothing wrong.
  RecoveryCounts Restore(const std::function<bool()>& is_over, size_t* empty);

 private:
  struct FoundDictionary {
    std::unique_ptr<const Dictionary> dictionary;
    uint64_t place;
  };

  std::string CheckChunks() const;
  bool ConfirmFills();
  bool Confirm(SegmentLog::Fill* fill) const;
  bool ReadDictionaries();
  void RestoreDictionaries();
  bool Adopt(const SegmentLog::Fill& fill);
  RecoveryCounts RestoreWords(const SnapshotReader::Chunk& chunk, const std::function<bool()>& is_over) const;
  void LetGoOfSnapshot();

  const SnapshotOf of_;
  const layout::Superblock superblock_;
  SnapshotReader reader_;
  std::vector<SegmentLog::Fill> fills_;
  std::optional<KeptFills> kept_;
  std::vector<FoundDictionary> dictionaries_;  // the live ones last, so that they stay it
};

}  // namespace mezz
