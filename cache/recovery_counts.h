// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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

}  // namespace mezz
