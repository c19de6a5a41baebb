// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "integration/hybrid_core.h"
#include "rocksdb/cache.h"

namespace mezz {

// What HybridCore::ServeMetrics wants to know of a DRAM tier. Does not keep it alive: nothing, once it has gone.
inline std::function<DramTierUse()> DramTierUseOf(const std::shared_ptr<rocksdb::Cache>& tier) {
  return [tier = std::weak_ptr<rocksdb::Cache>(tier)]() -> DramTierUse {
    const std::shared_ptr<rocksdb::Cache> here = tier.lock();
    if (here == nullptr) return {};
    return {.bytes = here->GetUsage(), .pinned_bytes = here->GetPinnedUsage()};
  };
}

}  // namespace mezz
