// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/status.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace mezz {

// Prepares options for a hybrid cache, so that you need not know which options it gains by:
//
//   std::shared_ptr<rocksdb::Cache> cache;   // from NewHybridCache or WrapCache
//   rocksdb::Options options;
//   mezz::Status status = mezz::UseHybridCache(cache, &options);
//   ... DB::Open(options, ...)
//
// For tables, block_cache becomes `cache`. prepopulate_block_cache becomes kFlushAndCompaction, or kFlushOnly with
// RocksDB before 11.1, which warms with flushes only. It stays as it is if it was more than that, or with heirs=off.
// For a database, the same is done to its families' tables, and the listener of dead_file_listener.h is added unless it
// is there. If lowest_used_cache_tier leaves the SCM tier out, warming stays as it is, because it would go to DRAM
// alone.
//
// If `did` is not null, it gets a sentence for a log that says what was done.
//
// Refuses a cache that is not Mezzanine's, and families that have no block-based tables (an empty table_factory becomes
// one). Unless it returns Ok, the options stay as they are. Table factories are replaced, not changed, because others
// may share them. Options that are read from an OPTIONS file bring a table factory, so call this afterwards.
Status UseHybridCache(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::BlockBasedTableOptions* table,
                      std::string* did = nullptr);
Status UseHybridCache(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::Options* options,
                      std::string* did = nullptr);
// For DB::Open with column families.
Status UseHybridCache(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::DBOptions* options,
                      std::vector<rocksdb::ColumnFamilyDescriptor>* families, std::string* did = nullptr);

}  // namespace mezz
