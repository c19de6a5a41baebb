// SPDX-License-Identifier: Apache-2.0
// Opens hybrid caches over RocksDB 7.8: the options' own DRAM tier, as no other tells what it evicts.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "integration/dram_budget.h"
#include "integration/hybrid_cache_v7.h"
#include "integration/made_hybrid_cache.h"

namespace mezz {

rocksdb::LRUCacheOptions DramOptions(const HybridCacheOptions& options) {
  rocksdb::LRUCacheOptions dram;
  dram.capacity = options.dram_bytes;
  dram.num_shard_bits = options.dram_shard_bits;
  dram.strict_capacity_limit = options.strict_capacity_limit;
  return dram;
}

Status NewMainCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::Cache>* cache) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  HybridCacheOptions divided = options;
  MEZZ_RETURN_IF_ERROR(DivideDram(&divided));
  auto hybrid = std::make_shared<HybridCacheV7>(DramOptions(divided));
  if (!hybrid->valid()) {
    return Status::InvalidArgument(fmt::format("dram={}, shard_bits={}: RocksDB refuses to make this LRUCache",
                                               divided.dram_bytes, divided.dram_shard_bits));
  }
  MEZZ_RETURN_IF_ERROR(hybrid->Arm(divided));
  *cache = std::move(hybrid);
  return Status::Ok();
}

Status WrapCache(std::shared_ptr<rocksdb::Cache>, const HybridCacheOptions&, std::shared_ptr<rocksdb::Cache>*) {
  return Status::NotSupported(
      "WrapCache needs RocksDB 8.9 or later, because a cache of 7.8 tells nobody what it evicts: use NewHybridCache");
}

}  // namespace mezz
