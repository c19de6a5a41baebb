// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/status.h"
#include "rocksdb/cache.h"
#include "rocksdb/listener.h"
#include "rocksdb/secondary_cache.h"

namespace mezz {

// Tells a cache of ours which files its databases have deleted, so that their blocks make room:
//
//   std::shared_ptr<rocksdb::EventListener> listener;
//   mezz::Status status = mezz::NewDeadFileListener(cache, &listener);
//   options.listeners.push_back(listener);
//
// It also has heirs read back after compactions that do not warm the cache (read_back.h), unless heirs=off.
//
// One serves any number of databases that share the cache, and keeps it alive. It learns a table's cache keys when the
// table is written or compacted; one that was there at DB::Open, and is deleted without either (DeleteFilesInRange, a
// dropped column family), is not told of. Refuses a cache that is not ours. Thread-safe; some 100 bytes a file, also of
// a database that was closed: opened again under its path, its files are known.
//
// A file that two databases have (a checkpoint of one, ingested by both) dies with the first: misses, no more.
Status NewDeadFileListener(const std::shared_ptr<rocksdb::Cache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener);
Status NewDeadFileListener(const std::shared_ptr<rocksdb::SecondaryCache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener);

}  // namespace mezz
