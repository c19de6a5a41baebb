// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR < 8
#include "integration/stock_tier_v7.h"
#else
#include "integration/stock_tier.h"
#endif

namespace mezz {

#if ROCKSDB_MAJOR < 8
using ClosingTier = StockTierV7;
#else
using ClosingTier = StockTier;
#endif

// What a cache, or a database that shares one, does when it is destroyed, while its tiers still stand: it serves no
// metrics any more, and ends its reads for heirs. The cache saves what its DRAM tier holds (WarmDram); a database moves
// what only its own holds to the SCM tier. Not if the cache was disowned, or in a forked child.
//
// Call it once, when nobody uses the cache any more.
void CloseOver(HybridCore& core, DatabaseUser& user, Parents& parents, ClosingTier& dram, bool disowned) noexcept;

}  // namespace mezz
