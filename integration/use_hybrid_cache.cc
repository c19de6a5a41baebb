// SPDX-License-Identifier: Apache-2.0
#include "integration/use_hybrid_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "integration/dead_file_listener.h"
#include "integration/hybrid_cache.h"
#include "integration/warming.h"

namespace mezz {
namespace {

using CachePtr = std::shared_ptr<rocksdb::Cache>;

Status CheckOurs(const CachePtr& cache) {
  if (cache == nullptr)
    return Status::InvalidArgument("UseHybridCache got no cache: give one that NewHybridCache or WrapCache made");
  if (GetHybridStats(cache.get()) != nullptr) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("UseHybridCache got a {}: give a cache that NewHybridCache or WrapCache made", cache->Name()));
}

// Returns what was done about warming.
std::string PrepareTables(const CachePtr& cache, bool leaves_scm_out, rocksdb::BlockBasedTableOptions* table) {
  table->block_cache = cache;
  table->no_block_cache = false;
  if (!GetHybridStats(cache.get())->TakesHeirs()) return "prepopulate_block_cache is left as it is, for heirs=off";
  if (leaves_scm_out)
    return "prepopulate_block_cache is left as it is, for lowest_used_cache_tier=kVolatileTier keeps this database to "
           "DRAM";
  table->prepopulate_block_cache = std::max(table->prepopulate_block_cache, kBestWarming);
  return fmt::format("prepopulate_block_cache={}{}", kBestWarmingName,
                     kWarmsWithCompactions ? "" : ", the best that this RocksDB has");
}

// What is to become of a family's table factory.
Status PrepareFactory(const CachePtr& cache, const rocksdb::DBOptions& options, std::string_view family,
                      const std::shared_ptr<rocksdb::TableFactory>& now, std::shared_ptr<rocksdb::TableFactory>* then,
                      std::string* warming) {
  rocksdb::BlockBasedTableOptions table;
  if (now != nullptr) {
    const rocksdb::BlockBasedTableOptions* const has = TableOptionsOf(now.get());
    if (has == nullptr) {
      return Status::InvalidArgument(fmt::format(
          "the tables of column family \"{}\" are of {}, which has no block cache: give it a block-based table factory",
          family, now->Name()));
    }
    table = *has;
  }
  *warming = PrepareTables(cache, LeavesScmOut(options), &table);
  then->reset(rocksdb::NewBlockBasedTableFactory(table));
  return Status::Ok();
}

Status AddListener(const CachePtr& cache, rocksdb::DBOptions* options, std::string* warming) {
  if (HasDeadFileListener(*options)) return Status::Ok();
  std::shared_ptr<rocksdb::EventListener> listener;
  MEZZ_RETURN_IF_ERROR(NewDeadFileListener(cache, &listener));
  options->listeners.push_back(std::move(listener));
  *warming += "; the cache is told of deleted files";
  return Status::Ok();
}

void Say(std::string warming, std::string* did) {
  if (did != nullptr) *did = "block_cache is the hybrid cache; " + std::move(warming);
}

}  // namespace

Status UseHybridCache(const CachePtr& cache, rocksdb::BlockBasedTableOptions* table, std::string* did) {
  MEZZ_RETURN_IF_ERROR(CheckOurs(cache));
  Say(PrepareTables(cache, /*leaves_scm_out=*/false, table), did);
  return Status::Ok();
}

Status UseHybridCache(const CachePtr& cache, rocksdb::Options* options, std::string* did) {
  MEZZ_RETURN_IF_ERROR(CheckOurs(cache));
  std::shared_ptr<rocksdb::TableFactory> factory;
  std::string warming;
  MEZZ_RETURN_IF_ERROR(
      PrepareFactory(cache, *options, rocksdb::kDefaultColumnFamilyName, options->table_factory, &factory, &warming));
  MEZZ_RETURN_IF_ERROR(AddListener(cache, options, &warming));
  options->table_factory = std::move(factory);
  Say(std::move(warming), did);
  return Status::Ok();
}

Status UseHybridCache(const CachePtr& cache, rocksdb::DBOptions* options,
                      std::vector<rocksdb::ColumnFamilyDescriptor>* families, std::string* did) {
  MEZZ_RETURN_IF_ERROR(CheckOurs(cache));
  std::vector<std::shared_ptr<rocksdb::TableFactory>> factories(families->size());
  std::string warming;
  for (size_t i = 0; i < families->size(); ++i) {
    const rocksdb::ColumnFamilyDescriptor& family = (*families)[i];
    MEZZ_RETURN_IF_ERROR(
        PrepareFactory(cache, *options, family.name, family.options.table_factory, &factories[i], &warming));
  }
  MEZZ_RETURN_IF_ERROR(AddListener(cache, options, &warming));
  for (size_t i = 0; i < families->size(); ++i) (*families)[i].options.table_factory = std::move(factories[i]);
  Say(std::move(warming), did);
  return Status::Ok();
}

}  // namespace mezz
