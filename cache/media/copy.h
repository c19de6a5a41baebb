// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cache/status.h"

namespace mezz {

// libpmem2's non-temporal copy without a flush to disk, for every medium. (The functions libpmem2 gives for a mapping
// of PAGE granularity call msync at each copy.)
struct CopyFunctions {
  void (*stream)(void* to, const void* from, size_t bytes) = nullptr;
  void (*drain)() = nullptr;
};
Status GetCopyFunctions(CopyFunctions* functions);

}  // namespace mezz
