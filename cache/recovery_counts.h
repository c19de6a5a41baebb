// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mezz {

// What a recovery brought back, or a part of it.
struct RecoveryCounts {
  uint64_t segments = 0;  // whose records are in the index
  uint64_t records = 0;   // that went into the index
  uint64_t in_dram = 0;   // of them: from a snapshot, DRAM held their blocks when the tier was closed
  uint64_t bytes = 0;     // of their payloads, as stored; from a snapshot: of their segments, as filled
  // Whole records that are of no use: without their dictionary, of a form this tier does not read, of FileId{0}, of a
  // file that is deleted, of a key that was erased, or for which the index had no room; from a snapshot also of a
  // segment that was given up.
  uint64_t dropped = 0;
  // Whole records that were not wanted any more: a younger one of their key, or of one with the same tag, was there
  // before, or was put, erased or displaced meanwhile.
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

}  // namespace mezz
