// SPDX-License-Identifier: Apache-2.0
#include "cache/media/wipe.h"

#include <algorithm>
#include <cassert>

#include "cache/types.h"

namespace mezz {

bool Wipe(const Medium& medium, uint64_t from, uint64_t bytes) {
  assert(from % kLineBytes == 0 && bytes % kLineBytes == 0 && from + bytes <= medium.bytes());
  constexpr uint64_t kPieceBytes = 4096;
  alignas(kLineBytes) static constexpr std::byte kZeros[kPieceBytes] = {};
  bool all = true;
  for (uint64_t done = 0; done < bytes; done += kPieceBytes)
    all &= medium.Stream(medium.base() + from + done, kZeros, std::min(kPieceBytes, bytes - done));
  return medium.Persist(medium.base() + from, bytes) && all;
}

}  // namespace mezz
