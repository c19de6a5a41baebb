// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "integration/companions/wal_file_system.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "tests/support/open_db.h"
#include "tests/support/tier_fixture.h"

namespace mezz::test {

// A database whose logs a file system of ours takes. Members go in the order that RocksDB wants.
class WalDb {
 public:
  WalDb(std::shared_ptr<rocksdb::FileSystem> fs, rocksdb::Options options, const std::string& path,
        const std::vector<std::string>& families = {"default"})
      : fs_(std::move(fs)), env_(rocksdb::NewCompositeEnv(fs_)) {
    options.env = env_.get();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.compression = rocksdb::kNoCompression;
    Families descriptors;
    for (const std::string& family : families) descriptors.emplace_back(family, options);
    status_ = OpenDb(options, path, descriptors, &handles_, &db_);
  }
  ~WalDb() { CloseDb(&handles_, &db_).PermitUncheckedError(); }

  const rocksdb::Status& status() const { return status_; }
  rocksdb::DB* operator->() const { return db_.get(); }
  rocksdb::DB* get() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* family(size_t i) const { return handles_[i]; }

  rocksdb::Status PutSynced(const std::string& key, const std::string& value, size_t family = 0) const {
    rocksdb::WriteOptions options;
    options.sync = true;
    return db_->Put(options, handles_[family], key, value);
  }
  std::string Get(const std::string& key) const {
    std::string value;
    const rocksdb::Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.ToString();
  }

 private:
  const std::shared_ptr<rocksdb::FileSystem> fs_;
  const std::unique_ptr<rocksdb::Env> env_;
  Handles handles_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::Status status_;
};

inline std::string WalKey(uint64_t n) { return fmt::format("key{:08}", n); }
inline std::string WalValue(uint64_t n) {
  const auto payload = Payload(n, 1, 10 + n * 7919 % 3000);
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

}  // namespace mezz::test
