// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/counters.h"
#include "cache/found_dictionaries.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/recovery_report.h"
#include "cache/restorable_segments.h"
#include "cache/segment_log.h"
#include "cache/snapshot.h"

namespace mezz {

// Restores a log, an index and dictionaries to what they held when a snapshot of them was written, while others already
// use them. A block whose word is not back yet is a miss.
//
// Prepare reads the head of the snapshot, which tells what each segment holds. Segments with records await, and so do
// those of the snapshot itself; they are pinned, so that nothing is written over what is still to be read. Check reads
// the rest and changes nothing. Restore adopts all segments, and stays a writer in each, so that reclaim leaves them
// alone. It puts each word back into its slot, unless a key with the word's tag was put or erased meanwhile.
//
// A word's record may be damaged, like any other. In a restored word, no heat means that no hit has checked the record
// since, and the dram bit that the DRAM tier held the block at the close (ScmTier::Find).
//
// One thread calls Prepare, then Check, then Restore or Forsake. Each of them works with several threads.
class SnapshotRestorer {
 public:
  // `superblock`: as it was found, naming the snapshot. Owns neither `counters` nor what `of` names.
  SnapshotRestorer(const SnapshotOf& of, const layout::Superblock& superblock, Counters* counters);

  // Empty: done. Otherwise why the snapshot cannot be used, as the rest of a sentence whose subject is the snapshot;
  // all is then as it was, except what the index has reserved. Blocks as long as it takes to read 32 bytes for each
  // segment. REQUIRES: nothing else uses log, index and dictionaries; the log is new, and the index is empty and being
  // refilled (Index::StartRefill).
  std::string Prepare();
  // The segments with records, as the snapshot describes them, in the order in which reclaim would reach them. They are
  // pinned.
  const std::vector<SegmentLog::Fill>& fills() const { return fills_; }

  // Reads and checks the rest of the snapshot. The result is as that of Prepare. If it throws std::bad_alloc, all is as
  // it was too.
  std::string Check();
  // Gives the snapshot up: the index may grow again, and the segments of the snapshot may be used. Those with records
  // stay pinned.
  void Forsake();
  // The highest number that a dictionary of this slot ever had. Valid whatever Check says.
  uint16_t last_number(unsigned slot) const { return reader_.head().dictionaries[slot].last_number; }

  // Puts the words back. Asks is_over() now and then, from several threads: true ends it, and words that are not back
  // by then stay away, whatever their age. *empty: how many segments hold nothing. Throws nothing. REQUIRES: Check
  // found nothing wrong.
  RecoveryCounts Restore(const std::function<bool()>& is_over, size_t* empty);

 private:
  std::string CheckChunks() const;
  bool ConfirmFills();
  bool Confirm(SegmentLog::Fill* fill) const;
  bool ReadDictionaries();
  bool Adopt(const SegmentLog::Fill& fill);
  Index::Refilled RestoreWord(uint64_t slot, IndexWord word) const;
  RecoveryCounts RestoreWords(const SnapshotReader::Chunk& chunk, const std::function<bool()>& is_over) const;
  void LetGoOfSnapshot();

  const SnapshotOf of_;
  Counters* const counters_;
  const layout::Superblock superblock_;
  SnapshotReader reader_;
  std::vector<SegmentLog::Fill> fills_;
  std::optional<RestorableSegments> kept_;
  FoundDictionaries dictionaries_;
};

}  // namespace mezz
