// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "integration/hybrid_cache.h"

namespace mezz {

// NewScmSecondaryCache for RocksDB's object registry, which must own what it gets.
Status MakeScmSecondaryCache(const HybridCacheOptions& options, std::unique_ptr<rocksdb::SecondaryCache>* cache);

}  // namespace mezz
