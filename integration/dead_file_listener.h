// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/status.h"
#include "rocksdb/cache.h"
#include "rocksdb/listener.h"
#include "rocksdb/secondary_cache.h"

namespace mezz {

// Makes a listener that tells a Mezzanine cache which files its databases have deleted, so that their blocks make room:
//
//   std::shared_ptr<rocksdb::EventListener> listener;
//   mezz::Status status = mezz::NewDeadFileListener(cache, &listener);
//   options.listeners.push_back(listener);
//
// After compactions that do not warm the cache, the listener also has heirs read back (read_back.h), unless heirs=off.
//
// One listener serves any number of databases that share the cache, and keeps the cache alive. It learns a table's
// cache keys when the table is written or compacted. So it says nothing of a table that was there at DB::Open and is
// deleted without either (DeleteFilesInRange, a dropped column family). NewDeadFileListener refuses a cache that is not
// Mezzanine's. Thread-safe. Takes some 100 bytes a file, also for databases that are closed: when one is opened again
// under its path, its files are known.
//
// If two databases have the same file (a checkpoint of one, or a file that both ingested), the first deletion counts
// for both. The other database then has misses, and no other harm.
Status NewDeadFileListener(const std::shared_ptr<rocksdb::Cache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener);
Status NewDeadFileListener(const std::shared_ptr<rocksdb::SecondaryCache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener);

}  // namespace mezz
