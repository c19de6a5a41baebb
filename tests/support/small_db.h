// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "tests/support/sanitizer.h"

namespace mezz::test {

// A database of 16 MB in a folder of its own, whose every value can be checked. Under the thread sanitizer fewer values
// are longer: a look-up costs twenty times as much there.
class SmallDb {
 public:
  static constexpr int kKeys = 16'000 / kStressShare;

  // A process may have several, each with a name of its own.
  explicit SmallDb(std::shared_ptr<rocksdb::Cache> cache, const std::string& name = "")
      : folder_(std::filesystem::temp_directory_path() / ("mezz_small_db_" + std::to_string(getpid()) + name)) {
    std::filesystem::remove_all(folder_);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = std::move(cache);
    table.cache_index_and_filter_blocks = true;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const rocksdb::Status opened = Open<rocksdb::DB>(options, folder_.string(), &db_);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    for (int i = 0; i < kKeys; ++i) EXPECT_TRUE(db_->Put({}, Key(i), Value(i)).ok());
    EXPECT_TRUE(db_->Flush({}).ok());
    EXPECT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  }
  ~SmallDb() {
    db_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Stands at the first key, and holds its block.
  std::unique_ptr<rocksdb::Iterator> HoldFirst() {
    std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    at->SeekToFirst();
    EXPECT_TRUE(at->Valid());
    return at;
  }

  // Reads every key and checks every value.
  void ReadAll() {
    std::string value;
    for (int n = 0; n < kKeys; ++n) {
      const int i = n * 7919 % kKeys;  // not in the order of the blocks
      ASSERT_TRUE(db_->Get({}, Key(i), &value).ok()) << i;
      ASSERT_EQ(value, Value(i));
    }
  }

 private:
  // Releases differ in the kind of pointer that owns the database.
  template <typename Db>
  static rocksdb::Status Open(const rocksdb::Options& options, const std::string& folder, std::unique_ptr<Db>* db) {
    if constexpr (requires { Db::Open(options, folder, db); }) {
      return Db::Open(options, folder, db);
    } else {
      Db* opened = nullptr;
      const rocksdb::Status status = Db::Open(options, folder, &opened);
      db->reset(opened);
      return status;
    }
  }
  static std::string Key(int i) { return "key" + std::to_string(1'000'000 + i); }
  static std::string Value(int i) {
    return std::string(900 * kStressShare, static_cast<char>('a' + i % 26)) + std::to_string(i);
  }

  const std::filesystem::path folder_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace mezz::test
