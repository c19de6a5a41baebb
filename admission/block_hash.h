// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz {

// A hash of a block's key, of which every bit is good: two multiplications, each with the halves of its product folded,
// as in wyhash (Wang Yi, 2019). One multiplication alone would sample consecutive blocks at even distances.
inline uint64_t BlockHash(const BlockKey& key) {
  const auto folded = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  };
  return folded(folded(key.words[0] ^ 0xa0761d6478bd642full, key.words[1] ^ 0xe7037ed1a0b428dbull),
                0x8ebc6af09c88c6e3ull);
}

}  // namespace mezz
