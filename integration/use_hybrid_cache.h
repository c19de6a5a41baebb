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

// Prepares options for a hybrid cache, so that nobody need know which of them it gains by:
//
//   std::shared_ptr<rocksdb::Cache> cache;   // of NewHybridCache or WrapCache
//   rocksdb::Options options;
//   mezz::Status status = mezz::UseHybridCache(cache, &options);
//   ... DB::Open(options, ...)
//
// For tables: block_cache becomes `cache`. prepopulate_block_cache becomes kFlushAndCompaction, or kFlushOnly with
// RocksDB before 11.1, which warms with flushes only; where it is more than that already it stays, and with heirs=off
// too. For a database: the same for its families' tables, and the listener of dead_file_listener.h, unless it is there.
// Where lowest_used_cache_tier leaves the SCM tier out, warming would go to DRAM alone, and stays as it is.
//
// `did`, if given, becomes a sentence that says what was done, for a log.
//
// Refuses a cache that is not ours and families that have no block-based tables (an empty table_factory becomes one),
// and leaves the options as they are unless it returns Ok. Table factories are replaced, not changed: others may share
// them. Options that are read from a file of RocksDB's come with a table factory, so call it afterwards.
Status UseHybridCache(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::BlockBasedTableOptions* table,
                      std::string* did = nullptr);
Status UseHybridCache(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::Options* options,
                      std::string* did = nullptr);
// For DB::Open with column families.
Status UseHybridCache(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::DBOptions* options,
                      std::vector<rocksdb::ColumnFamilyDescriptor>* families, std::string* did = nullptr);

}  // namespace mezz
