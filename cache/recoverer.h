// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cache/base/fork_guard.h"
#include "cache/counters.h"
#include "cache/found_dictionaries.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/log_scan.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/pack/dictionaries.h"
#include "cache/record_recoverer.h"
#include "cache/recovery_report.h"
#include "cache/segment_log.h"

namespace mezz {

class SnapshotRestorer;

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
    FoundDictionaries::InSegment dictionaries;
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
  void RestoreDictionaries();
  void RecoverSegments();
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
  std::vector<Found> found_;                    // by sequence; threads change only their own, in FindDictionaries
  FoundDictionaries found_dictionaries_;
  RecordRecoverer records_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace mezz
