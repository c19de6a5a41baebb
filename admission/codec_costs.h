// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"

namespace mezz {

// What packed records of 4 KiB cost, in flash reads of 80 us.
struct CodecCosts {
  double pack;        // packing inline: 7 us with LZ4, 17 us with zstd
  double packed_hit;  // more than a hit in DRAM, from find to release: 3 us with LZ4, 9 us with zstd
};
constexpr CodecCosts CostsOf(Codec codec) {
  const bool zstd = codec == Codec::kZstd;
  return {.pack = codec == Codec::kLz4 ? 0.0875 : 0.2125, .packed_hit = zstd ? 0.1125 : 0.0375};
}

}  // namespace mezz
