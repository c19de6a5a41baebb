// SPDX-License-Identifier: Apache-2.0
// Apart from record.h, and inline, because every hit asks it, between the header's arrival and the next locked
// instruction: a call would cost a third of the checksum again.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

#include "cache/layout.h"
#include "cache/record.h"

namespace mezz::record {

inline uint16_t HeaderChecksum(const Header& header) {
  return static_cast<uint16_t>(XXH3_64bits_withSeed(&header, offsetof(Header, checksum), layout::kChecksumSeed));
}

inline uint64_t SegmentHeaderChecksum(const layout::SegmentHeader& header) {
  return XXH3_64bits_withSeed(&header, offsetof(layout::SegmentHeader, checksum), layout::kChecksumSeed);
}

// The header is as it was sealed, and of this fill of its segment.
inline bool IsWhole(const Header& header, uint32_t sequence) {
  return header.sequence == sequence && header.checksum == HeaderChecksum(header);
}

// Its role is one of ours, so that it may be counted by: a checksum of 16 bits, which anyone can make, does not tell.
inline bool HasRole(const Header& header) { return static_cast<size_t>(header.role) < kBlockRoles; }

}  // namespace mezz::record
