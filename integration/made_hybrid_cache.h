// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "integration/hybrid_core.h"
#include "rocksdb/cache.h"

namespace mezz {

// A stock cache, the DRAM tier, with the SCM tier of `core` behind it. Takes `core` over; `dram` may outlive it.
std::shared_ptr<rocksdb::Cache> MakeHybridCache(std::shared_ptr<rocksdb::Cache> dram, std::unique_ptr<HybridCore> core);

}  // namespace mezz
