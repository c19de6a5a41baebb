// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cache/base/atomic.h"
#include "cache/counters.h"
#include "cache/index.h"
#include "cache/log_reader.h"
#include "cache/media/emulation.h"
#include "cache/record.h"
#include "cache/segment_log.h"
#include "cache/types.h"

namespace mezz {

// Counts a record of a forgotten file that has left the index.
inline void CountDead(Counters* counters, const record::Header& header) {
  counters->Add(Event::kScmDeadDropped, header.role);
  counters->Add(Event::kScmDeadDroppedBytes, header.role, header.payload_bytes);
}

// The forgotten files: those whose blocks nobody will ask for again, as hints told. And the walk that takes their
// records out of the index. A wrong hint costs a miss; a missing one leaves a record for reclaim to drop.
//
// The set is 128 lines of eight words. A file belongs to one line.
//
//   0 --Add--> file --Revive--> 0
//              file --Add of another file to a full line: the oldest gives way--> the other file
//
// Add runs under mutex_; Revive exchanges by CAS. All accesses are relaxed: a word publishes nothing but itself.
//
// The walk. Add asks for one round of the index, from where the walk stands; Step does the next slots of it. Puts pay
// for it, as for reclaim: while nothing is put, nobody needs the space. A round ends within an eighth of a turn of the
// log, measured in the bytes that are put, whatever the size of the blocks. It looks at each record once, so a put of
// the usual size looks at about eight headers.
//
// Thread-safe. Has and Revive take no lock. Lock order: mutex_, then the log's.
class DeadFiles {
 public:
  // Owns none of its arguments; all must outlive this. `emulation` may be null.
  DeadFiles(Index* index, const LogReader& reader, SegmentLog* log, Counters* counters, Emulation* emulation)
      : index_(index), reader_(reader), log_(log), counters_(counters), emulation_(emulation) {}

  bool Has(FileId file) const {
    if (count_.load(std::memory_order_relaxed) == 0) [[likely]]
      return false;
    for (const Atomic<uint64_t>& word : lines_[LineOf(file)].words) {
      if (word.load(std::memory_order_relaxed) == static_cast<uint64_t>(file)) return file != FileId{0};
    }
    return false;
  }
  void Add(FileId file);
  void Revive(FileId file);
  // Call it when `bytes` are about to be put. Does the slots of the walk that are due for them, if a walk goes on and
  // no other thread is doing its slots.
  void Step(uint64_t bytes);

 private:
  static constexpr size_t kLines = 128;
  static constexpr uint64_t kSlotsAtOnce = Index::kSlotsPerBucket;
  static constexpr uint64_t kRoundsPerTurn = 8;
  struct alignas(kLineBytes) Line {
    std::array<Atomic<uint64_t>, kLineBytes / sizeof(uint64_t)> words{};
  };

  static size_t LineOf(FileId file) {
    constexpr unsigned kShift = 64 - 7;
    static_assert(uint64_t{1} << (64 - kShift) == kLines);
    return static_cast<uint64_t>(file) * 0x9e3779b97f4a7c15ull >> kShift;
  }
  uint64_t SlotsFor(uint64_t bytes) const;
  void WalkLocked(uint64_t count);
  void Visit(uint64_t slot);

  Index* const index_;
  LogReader reader_;
  SegmentLog* const log_;
  Counters* const counters_;
  Emulation* const emulation_;

  std::array<Line, kLines> lines_;
  Atomic<uint64_t> count_{0};       // words that are not 0; relaxed
  Atomic<uint64_t> slots_left_{0};  // of the walk; stored under mutex_, read anywhere; relaxed

  Mutex mutex_;
  std::array<uint8_t, kLines> oldest_{};  // GUARDED_BY(mutex_): the word of a full line that gives way next
  uint64_t next_slot_ = 0;                // GUARDED_BY(mutex_)
};

}  // namespace mezz
