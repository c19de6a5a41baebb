// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/key_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mezz {

uint64_t HashKey(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

}  // namespace mezz
