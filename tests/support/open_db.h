// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "tests/support/temporary_folder.h"
#include "workloads/rocksdb/open_db.h"

namespace mezz::test {

using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
using PrepopulateBlocks = rocksdb::BlockBasedTableOptions::PrepopulateBlockCache;

inline rocksdb::Status OpenDb(const rocksdb::DBOptions& options, const std::string& path, const Families& families,
                              Handles* handles, std::unique_ptr<rocksdb::DB>* db) {
  return OpenFamilies(/*read_only=*/false, options, path, families, handles, db);
}

// Closes what OpenDb opened, if anything.
inline rocksdb::Status CloseDb(Handles* handles, std::unique_ptr<rocksdb::DB>* db) {
  rocksdb::Status first;
  for (rocksdb::ColumnFamilyHandle* handle : *handles) {
    const rocksdb::Status destroyed = (*db)->DestroyColumnFamilyHandle(handle);
    if (first.ok()) first = destroyed;
  }
  handles->clear();
  db->reset();
  return first;
}

// Tables whose data blocks lie in this cache, and which warm it as they are told.
inline std::shared_ptr<rocksdb::TableFactory> TablesOf(std::shared_ptr<rocksdb::Cache> cache,
                                                       PrepopulateBlocks warming = PrepopulateBlocks::kDisable) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  table.prepopulate_block_cache = warming;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(table));
}
// Their indexes and filters lie there, too.
inline std::shared_ptr<rocksdb::TableFactory> WholeTablesOf(std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  table.cache_index_and_filter_blocks = true;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(table));
}

// A database in a folder of its own, which is closed and removed with the object. It opens with `options_`.
class ScratchDb {
 public:
  explicit ScratchDb(const std::string& name = "db") : path_(folder_.Path(name)) {
    options_.create_if_missing = true;
    options_.compression = rocksdb::kNoCompression;
  }
  ~ScratchDb() { Close(); }

  rocksdb::Status TryOpen(const Families& families) { return OpenDb(options_, path_, families, &handles_, &db_); }
  void Open(const Families& families) { ASSERT_EQ(TryOpen(families).ToString(), "OK"); }
  void Open() { Open({{"default", options_}}); }
  void Close() { EXPECT_TRUE(CloseDb(&handles_, &db_).ok()); }

  const TemporaryFolder folder_;
  const std::string path_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  Handles handles_;
};

}  // namespace mezz::test
