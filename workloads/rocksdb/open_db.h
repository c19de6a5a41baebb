// SPDX-License-Identifier: Apache-2.0
// DB::Open and DB::OpenForReadOnly take a DB** up to RocksDB 10.x, a unique_ptr from 11 on.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"
#include "rocksdb/db.h"

namespace mezz {

// "DOING: what RocksDB says", unless that is OK.
inline Status FromRocksDb(const rocksdb::Status& status, std::string_view doing) {
  return status.ok() ? Status::Ok() : Status::IoError(fmt::format("{}: {}", doing, status.ToString()));
}

template <typename Db = rocksdb::DB>
rocksdb::Status OpenDb(const rocksdb::Options& options, const std::string& path, std::unique_ptr<rocksdb::DB>* db) {
  if constexpr (requires { Db::Open(options, path, db); }) {
    return Db::Open(options, path, db);
  } else {
    Db* opened = nullptr;
    rocksdb::Status status = Db::Open(options, path, &opened);
    db->reset(opened);
    return status;
  }
}

// All column families of an existing database; `read_only` changes nothing on disk and takes no lock.
template <typename Db = rocksdb::DB>
rocksdb::Status OpenFamilies(bool read_only, const rocksdb::DBOptions& options, const std::string& path,
                             const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                             std::vector<rocksdb::ColumnFamilyHandle*>* handles, std::unique_ptr<rocksdb::DB>* db) {
  if constexpr (requires { Db::Open(options, path, families, handles, db); }) {
    return read_only ? Db::OpenForReadOnly(options, path, families, handles, db)
                     : Db::Open(options, path, families, handles, db);
  } else {
    Db* opened = nullptr;
    rocksdb::Status status = read_only ? Db::OpenForReadOnly(options, path, families, handles, &opened)
                                       : Db::Open(options, path, families, handles, &opened);
    db->reset(opened);
    return status;
  }
}

}  // namespace mezz
