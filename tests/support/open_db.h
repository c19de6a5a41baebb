// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace mezz::test {

using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

// DB::Open gives an owning pointer from 11.0, and gave a raw one before.
template <typename Db>
auto OpenDb(const rocksdb::DBOptions& options, const std::string& path, const Families& families, Handles* handles,
            std::unique_ptr<Db>* db) -> decltype(Db::Open(options, path, families, handles, db)) {
  return Db::Open(options, path, families, handles, db);
}
template <typename Db>
auto OpenDb(const rocksdb::DBOptions& options, const std::string& path, const Families& families, Handles* handles,
            std::unique_ptr<Db>* db)
    -> decltype(Db::Open(options, path, families, handles, static_cast<Db**>(nullptr))) {
  Db* raw = nullptr;
  rocksdb::Status s = Db::Open(options, path, families, handles, &raw);
  db->reset(raw);
  return s;
}

// Closes what OpenDb opened, if anything.
template <typename Db>
rocksdb::Status CloseDb(Handles* handles, std::unique_ptr<Db>* db) {
  rocksdb::Status first;
  for (rocksdb::ColumnFamilyHandle* handle : *handles) {
    const rocksdb::Status destroyed = (*db)->DestroyColumnFamilyHandle(handle);
    if (first.ok()) first = destroyed;
  }
  handles->clear();
  db->reset();
  return first;
}

}  // namespace mezz::test
