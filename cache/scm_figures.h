// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mezz {

// The DRAM that a tier takes, in bytes. While it recovers it takes 4 MiB more.
struct ScmDram {
  uint64_t index = 0;
  uint64_t segments = 0;  // the segment table
  uint64_t packing = 0;
  uint64_t rest = 0;  // counters, the object itself

  uint64_t total() const { return index + segments + packing + rest; }
};

// What ScmTier::Audit derived anew from the index and the medium.
struct ScmAudit {
  uint64_t resident_blocks = 0;
  uint64_t resident_payload_bytes = 0;  // as stored
  uint64_t resident_logical_bytes = 0;  // of the blocks, unpacked
  uint64_t packed_blocks = 0;
  uint64_t live_pins = 0;
  uint64_t medium_bytes = 0;            // capacity in use
  uint64_t dram_bytes = 0;              // every structure of the tier
  std::vector<std::string> violations;  // empty: index, segments and counters agree
};

}  // namespace mezz
