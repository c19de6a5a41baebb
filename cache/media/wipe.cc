// SPDX-License-Identifier: Apache-2.0
#include "cache/media/wipe.h"

#include <algorithm>
#include <cassert>

#include "cache/types.h"

namespace mezz {

void Wipe(const Medium& medium, uint64_t from, uint64_t bytes) {
  assert(from % kLineBytes == 0 && bytes % kLineBytes == 0 && from + bytes <= medium.bytes());
  constexpr uint64_t kPieceBytes = 4096;
  alignas(kLineBytes) static constexpr std::byte kZeros[kPieceBytes] = {};
  for (uint64_t done = 0; done < bytes; done += kPieceBytes)
    medium.Stream(medium.base() + from + done, kZeros, std::min(kPieceBytes, bytes - done));
  medium.Persist(medium.base() + from, bytes);
}

}  // namespace mezz
