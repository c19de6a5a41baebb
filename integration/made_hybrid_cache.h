// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "integration/hybrid_core.h"
#include "rocksdb/cache.h"

namespace mezz {

// Makes a hybrid cache of a stock cache, `dram`, with the SCM tier of `core` behind it. It owns `core`; `dram` may
// outlive it.
std::shared_ptr<rocksdb::Cache> MakeHybridCache(std::shared_ptr<rocksdb::Cache> dram, std::unique_ptr<HybridCore> core);

// NewHybridCache without a share.
Status NewMainCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache);

// Makes the stock cache that is the DRAM tier of these options. Null: RocksDB refuses it.
std::shared_ptr<rocksdb::Cache> MakeDramTier(const HybridCacheOptions& options);

}  // namespace mezz
