// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/counters.h"
#include "cache/index.h"
#include "cache/log_scan.h"
#include "cache/options.h"
#include "cache/pack/dictionaries.h"
#include "cache/record.h"
#include "cache/recovery_report.h"
#include "cache/segment_log.h"

namespace mezz {

struct RecoveryHooks;  // cache/recoverer.h

// Finds the records of an earlier life's segments by their headers, and brings them back into the index. Walk is
// thread-safe. Publish is for one thread at a time, and for the youngest segment first.
class RecordRecoverer {
 public:
  // Nothing is owned. `hooks` may be set later, but before a call. If `dictionaries` is null, records that need one are
  // dropped.
  struct Parts {
    const LogScan& scan;
    PackMode pack;
    SegmentLog* log;
    Index* index;
    Counters* counters;
    Dictionaries* dictionaries;
    const RecoveryHooks& hooks;
  };
  explicit RecordRecoverer(const Parts& parts) : parts_(parts) {}

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
  // Walks the records of a segment. May throw std::bad_alloc. REQUIRES: the segment is pinned.
  void Walk(const SegmentLog::Fill& fill, Walked* walked) const;
  // Adopts a segment, and publishes its records, the last one first. Takes over the caller's pin. Nothing: the segment
  // has no records, or was given up meanwhile.
  RecoveryCounts Publish(const Walked& walked);

 private:
  Index::Refilled Publish(const Entry& entry, SegmentId segment);
  bool HoldsDictionary(uint16_t number, SegmentId segment) const;
  bool IsOfUse(const record::Header& header) const;

  const Parts parts_;
};

}  // namespace mezz
