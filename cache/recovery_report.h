// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace mezz {

// What a recovery brought back, or a part of it.
struct RecoveryCounts {
  uint64_t segments = 0;  // segments whose records are in the index
  uint64_t records = 0;   // records that went into the index
  uint64_t in_dram = 0;   // of the records: DRAM held their blocks when the tier was closed (known by a snapshot)
  uint64_t bytes = 0;     // of their payloads, as stored; with a snapshot the filled bytes of their segments
  // Whole records that cannot be used. Their dictionary is missing, this tier does not read their form, their key is of
  // FileId{0} or was erased, their file is deleted, or the index had no room. With a snapshot also those of a segment
  // that was given up.
  uint64_t dropped = 0;
  // Whole records that a younger one replaces. The younger one has their key, or a key with the same tag. It was
  // recovered before them, or was put, erased or displaced meanwhile.
  uint64_t passed_over = 0;

  RecoveryCounts& operator+=(const RecoveryCounts& part) {
    segments += part.segments;
    records += part.records;
    in_dram += part.in_dram;
    bytes += part.bytes;
    dropped += part.dropped;
    passed_over += part.passed_over;
    return *this;
  }
};

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

}  // namespace mezz
