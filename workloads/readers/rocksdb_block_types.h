// SPDX-License-Identifier: Apache-2.0
// How RocksDB's block-cache traces number the types of blocks (TraceType in rocksdb/trace_record.h).
#pragma once

#include <cstdint>
#include <optional>

#include "cache/types.h"

namespace mezz {

// Nothing: that is no block.
constexpr std::optional<BlockRole> RoleOfTraceType(uint64_t type) {
  switch (type) {
    case 7:
      return BlockRole::kIndex;
    case 8:
      return BlockRole::kFilter;
    case 9:
      return BlockRole::kData;
    case 10:
      return BlockRole::kDictionary;
    case 11:  // range deletions
      return BlockRole::kOther;
    default:
      return std::nullopt;
  }
}

// Traces know no blobs: they are data.
constexpr uint64_t TraceTypeOf(BlockRole role) {
  switch (role) {
    case BlockRole::kIndex:
      return 7;
    case BlockRole::kFilter:
      return 8;
    case BlockRole::kData:
    case BlockRole::kBlob:
      return 9;
    case BlockRole::kDictionary:
      return 10;
    case BlockRole::kOther:
      return 11;
  }
  return 9;
}

}  // namespace mezz
