// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cache/base/fork_guard.h"
#include "cache/counters.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/log_scan.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/pack/dictionaries.h"
#include "cache/recovery_counts.h"
#include "cache/segment_log.h"

namespace mezz {

class SnapshotRestorer;

// What became of an earlier life's blocks when a tier was opened.
struct RecoveryReport : RecoveryCounts {
  enum class Outcome : uint8_t { kNothingThere, kDiscarded, kRecovered };
  Outcome outcome = Outcome::kNothingThere;
  std::string medium;            // of kRecovered: its description
  std::string why;               // of kDiscarded: the rest of a sentence that begins with the medium
  bool asked = false;            // of kDiscarded: by recovery=discard
  bool clean = false;            // of kRecovered: the earlier life was closed, not killed
  bool from_snapshot = false;    // of kRecovered: not from each record's header
  std::string no_snapshot;       // of kRecovered: there was one, and this is why it was not used
  bool running = false;          // of kRecovered: it goes on; the counts grow
  bool timed_out = false;        // of kRecovered: recovery_budget ended it
  uint64_t given_up = 0;         // segments that were not read: their room was wanted, all was erased, or time was over
  uint64_t without_memory = 0;   // of them: for which there was no memory
  uint64_t milliseconds = 0;     // since Open
  std::string ToString() const;  // one sentence; empty: there is nothing to say
};

// What a recovery asks of the tier that it is for. All may be called until `over` was.
struct RecoveryHooks {
  std::function<void()> grow;                // after each record that went into the index
  std::function<bool(FileId)> is_forgotten;  // its records are of no use
  // Its key was erased since the record at this place of the fill was put; empty: none was.
  std::function<bool(const BlockKey&, const SegmentLog::Fill&, uint64_t offset)> is_erased{};
  // Once, if there may be any, when all that was recovered holds its own. Not if it was stopped.
  std::function<void(Dictionaries::Numbers)> dictionaries_taken;
  std::function<void(const RecoveryReport&)> over;  // at the end, once, unless Stop comes before
};

// Finds the blocks again that an earlier life left on a medium while the tier serves already: a block that was not
// found yet is a miss. If that life was closed, by the snapshot of its index (SnapshotRestorer). Else, or where the
// snapshot turns out to be of no use, from headers and checksums alone:
//
// Prepare reads the header of each segment, and nothing else: so it is known what is free. Then, on threads of its own,
// as many as there are CPUs, eight at most:
//
//   1. Where packed records may name dictionaries: each segment is walked for those, and they are read.
//   2. The segments are walked and adopted, the youngest first, and of each the records published, the last one first:
//      so the younger of two records of one key is there before the older one, which is then passed over; what a budget
//      of time or the room for new blocks leave out is the oldest; and an older record never replaces, nor follows,
//      what was put, erased or displaced meanwhile (Index::PublishOldest).
//
// Walking, which waits for the medium, goes on in all threads at once; one at a time, in turn, publishes what it has.
// The payloads are not read: the first hit of each record checks it (ScmTier).
//
// What is left of a segment behind a damaged header is lost, and comes back when the segment is filled anew.
//
// Without memory for a segment's walk that segment is given up, without memory for its dictionaries, their records.
//
// Thread-safe, but for Prepare and Start. In a child made by fork() nothing runs and nothing blocks.
class Recoverer {
 public:
  // None is owned. `dictionaries` may be null: records that need one are dropped.
  Recoverer(const Medium& medium, const layout::Superblock& superblock, const ScmOptions& options, SegmentLog* log,
            Index* index, Counters* counters, Dictionaries* dictionaries, const ForkGuard& guard);
  ~Recoverer();  // Stop

  // A few of the oldest segments of a full medium are given up, so that there is room to write: of them only the
  // dictionaries are kept. Blocks for about a microsecond a segment. Throws std::bad_alloc: then neither this nor the
  // log is of any use. REQUIRES: nothing else uses log and index, which is being refilled (Index::StartRefill).
  void Prepare();
  // The rest, in the background, or, if there is no thread to be had, before this returns. Call it once, after Prepare.
  void Start(RecoveryHooks hooks);
  // Ends the threads, each after the segment it is at; a snapshot is restored to its end.
  void Stop();
  // Until it is over, or was stopped.
  void Wait() const;
  // As far as it has come.
  RecoveryReport report() const;

 private:
  struct Found {
    SegmentLog::Fill fill;
    std::vector<uint64_t> dictionaries;                    // where their records lie
    std::array<uint16_t, Dictionaries::kSlots> numbers{};  // the highest that a record names, of each slot
  };
  struct FoundDictionary {
    std::unique_ptr<const Dictionary> dictionary;
    uint64_t offset = 0;  // 0: its segment was given up
    size_t order = 0;     // the younger, the higher
  };
  // A record that may go into the index.
  struct Entry {
    KeyHash hash;
    uint64_t offset;
    uint32_t bytes;  // of the payload
    BlockRole role;
    uint16_t dictionary;  // 0: none
  };
  struct Walked {
    SegmentLog::Fill fill;
    std::vector<Entry> entries;  // in order of offset
    uint64_t dropped = 0;
  };
  // What the threads and their callers share. A child that leaves leaves it behind.
  struct Shared {
    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    RecoveryReport report;
    size_t next_ticket = 0;  // to be walked
    size_t turn = 0;         // whose walk may be published
    size_t empty = 0;        // segments without a record
    bool stop = false;
    std::thread thread;
  };

  bool PrepareSnapshot();
  void ReadHeaders();
  void Run();
  bool RestoreSnapshot();
  void ConfirmFound();
  Dictionaries::Numbers FindDictionaries();
  void ScanForDictionaries(Found* found);
  void ReadDictionaries(const Found& found, bool kept);
  void RestoreDictionaries();
  void RecoverSegments();
  void Walk(const Found& found, Walked* walked) const;
  void TakeSegment(const Walked& walked);
  Index::Refilled Publish(const Entry& entry, SegmentId segment);
  bool HoldsDictionary(uint16_t number, SegmentId segment) const;
  bool IsOfUse(const record::Header& header) const;
  bool IsStopped() const;
  bool IsEnded();
  bool IsEndedLocked();
  bool IsOverdueLocked();
  void Finish();

  const Medium& medium_;
  const layout::Superblock superblock_;
  const ScmOptions& options_;
  SegmentLog* const log_;
  Index* const index_;
  Counters* const counters_;
  Dictionaries* const dictionaries_;
  const ForkGuard& guard_;
  const LogScan scan_;
  const std::chrono::steady_clock::time_point begun_;
  RecoveryHooks hooks_;
  std::unique_ptr<SnapshotRestorer> restorer_;  // null: no snapshot, or none any more
  std::vector<Found> found_;  // by sequence; not changed by threads, but for each its own in ScanForDictionaries
  std::array<uint16_t, Dictionaries::kSlots> highest_{};        // numbers that records name, of each slot
  std::array<FoundDictionary, Dictionaries::kSlots> youngest_;  // of each slot
  size_t dictionaries_read_ = 0;
  std::unique_ptr<Shared> shared_;
};

}  // namespace mezz
