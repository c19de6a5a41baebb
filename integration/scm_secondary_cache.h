// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "integration/hybrid_cache.h"

namespace mezz {

// As NewScmSecondaryCache, for RocksDB's object registry, which wants to own what it is given.
Status MakeScmSecondaryCache(const HybridCacheOptions& options, std::unique_ptr<rocksdb::SecondaryCache>* cache);

}  // namespace mezz
