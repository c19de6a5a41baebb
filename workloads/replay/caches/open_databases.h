// SPDX-License-Identifier: Apache-2.0
// How the databases of a run are set up and opened.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cache/status.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "workloads/replay/caches/databases.h"
#include "workloads/replay/caches/options.h"

namespace mezz {

// What the databases are opened with. Without a cache they have none.
rocksdb::Options DatabaseOptions(const ReplayOptions& options, std::shared_ptr<rocksdb::Cache> cache, Warming warming);
// Opens the --dbs databases in `folder`, "0" and up.
Status OpenDatabases(const ReplayOptions& options, const rocksdb::Options& with, const std::string& folder,
                     Databases* dbs);

// How a clone's files are read.
struct CloneReads {
  bool buffered = false;             // through the page cache, which forgets the clone first; else past it
  rocksdb::Env* env = nullptr;       // outlives the databases; null: RocksDB's own
  Warming warming = Warming::kNone;  // the cache, with what they write
};
// Opens the databases of the clone at `path` with `cache` as their block cache, heard by `listeners`.
Status OpenClone(const ReplayOptions& options, const std::string& path, const std::shared_ptr<rocksdb::Cache>& cache,
                 const CloneReads& reads, Databases* dbs,
                 const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners = {});

// Until `db` flushes and compacts no more and is not to, or `stop` is set. After a failed job, which leaves what is due
// undone for ever, until nothing runs.
void AwaitBackgroundWork(rocksdb::DB* db, const std::atomic<bool>& stop);

// Records the look-ups of blocks of the one database to the file `path`, whole at EndBlockTrace. Refuses one that
// exists.
Status StartBlockTrace(const std::string& path, const Databases& dbs);
Status EndBlockTrace(const std::string& path, const Databases& dbs);

// "11.8.1", of the library that is loaded.
std::string RocksDbVersion();

}  // namespace mezz
