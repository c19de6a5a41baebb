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
  std::string medium;            // if kRecovered: its description
  std::string why;               // if kDiscarded: the rest of a sentence whose subject is the medium
  bool asked = false;            // if kDiscarded: recovery=discard asked for it
  bool clean = false;            // if kRecovered: the earlier life was closed, not killed
  bool from_snapshot = false;    // if kRecovered: from a snapshot, not from each record's header
  std::string no_snapshot;       // if kRecovered: why a snapshot that was there was not used
  bool running = false;          // if kRecovered: it still runs, and the counts grow
  bool timed_out = false;        // if kRecovered: recovery_budget ended it
  uint64_t given_up = 0;         // segments not read: their room was needed, all was erased, or time was over
  uint64_t without_memory = 0;   // of those: segments for which there was no memory
  uint64_t milliseconds = 0;     // since Open
  std::string ToString() const;  // one sentence; empty if there is nothing to say
};

// What a recovery calls in its tier. Each may be called until `over` was.
struct RecoveryHooks {
  std::function<void()> grow;                // after each record that went into the index
  std::function<bool(FileId)> is_forgotten;  // whether the file is forgotten, so that its records are not needed
  // Whether the key was erased since the record at this offset of the fill was put. Empty: no key was erased.
  std::function<bool(const BlockKey&, const SegmentLog::Fill&, uint64_t offset)> is_erased{};
  // Called once, if there may be dictionaries, when every recovered segment keeps its own. Not called after Stop.
  std::function<void(Dictionaries::Numbers)> dictionaries_taken;
  std::function<void(const RecoveryReport&)> over;  // called once at the end, unless Stop comes before
};

// Finds the blocks again that an earlier life left on a medium, while the tier already serves. A block that was not
// found yet is a miss. If that life was closed, the snapshot of its index is used (SnapshotRestorer). If there is none,
// or it cannot be used, headers and checksums suffice:
//
// Prepare reads only the header of each segment, which tells what is free. Then threads of the recovery, one for each
// CPU but eight at most, do the rest:
//
//   1. Where packed records may use dictionaries, each segment is walked for dictionaries, and they are read.
//   2. The segments are walked and adopted, the youngest first. The records of each are published, the last one first.
//      So the younger of two records of one key is there before the older one, which is then passed over. A budget of
//      time, or the room for new blocks, leaves out the oldest. And an older record never replaces or follows what was
//      put, erased or displaced meanwhile (Index::PublishOldest).
//
// All threads walk at once, as walking waits for the medium. They publish what they found one at a time, in turn. The
// payloads are not read: the first hit of each record checks it (ScmTier).
//
// The records of a segment behind a damaged header are lost; their space comes back when the segment is filled anew.
//
// Without memory for a segment's walk the segment is given up; without memory for dictionaries their records are.
//
// Thread-safe, except Prepare and Start. In a child made by fork() nothing runs and nothing blocks.
class Recoverer {
 public:
  // Owns none of its arguments. If `dictionaries` is null, records that need one are dropped.
  Recoverer(const Medium& medium, const layout::Superblock& superblock, const ScmOptions& options, SegmentLog* log,
            Index* index, Counters* counters, Dictionaries* dictionaries, const ForkGuard& guard);
  ~Recoverer();  // calls Stop

  // Finds out which segments are in use. On a full medium it gives up a few of the oldest, except for their
  // dictionaries and for what shares had reserved, so that there is room to write. Blocks for about a microsecond a
  // segment. May throw std::bad_alloc; then neither this nor the log can be used. REQUIRES: nothing else uses log and
  // index, and the index is being refilled (Index::StartRefill).
  void Prepare();
  // Does the rest in the background; if no thread can be started, before it returns. Call it once, after Prepare.
  void Start(RecoveryHooks hooks);
  // Ends the threads, each after its present segment. A snapshot is restored to its end.
  void Stop();
  // Waits until the recovery is over, or was stopped.
  void Wait() const;
  // How far it has come.
  RecoveryReport report() const;

 private:
  struct Found {
    SegmentLog::Fill fill;
    std::vector<uint64_t> dictionaries;                    // where their records lie
    std::array<uint16_t, Dictionaries::kSlots> numbers{};  // of each slot the highest number that a record names
  };
  struct FoundDictionary {
    std::unique_ptr<const Dictionary> dictionary;
    uint64_t offset = 0;  // 0: its segment was given up
    size_t order = 0;     // higher for a younger one
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
  // What the threads and their callers share. A forked child leaks it when it ends.
  struct Shared {
    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    RecoveryReport report;
    size_t next_ticket = 0;  // the next segment to be walked
    size_t turn = 0;         // the segment that is published next
    size_t empty = 0;        // segments without a record
    bool stop = false;
    std::thread thread;
  };

  bool PrepareSnapshot();
  void ReadHeaders();
  void PutGivenUpFirst(size_t given_up);
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
  std::unique_ptr<SnapshotRestorer> restorer_;  // null: there is no snapshot, or it was given up
  std::vector<Found> found_;                    // by sequence; threads change only their own, in ScanForDictionaries
  std::array<uint16_t, Dictionaries::kSlots> highest_{};        // of each slot the highest number that records name
  std::array<FoundDictionary, Dictionaries::kSlots> youngest_;  // of each slot
  size_t dictionaries_read_ = 0;
  std::unique_ptr<Shared> shared_;
};

}  // namespace mezz
