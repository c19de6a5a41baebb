// SPDX-License-Identifier: Apache-2.0
// An object with a RocksDB of its own, as RocksJava or a plug-in of MySQL is to its program: opened by dlopen_host.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace {

// Releases differ in the kind of pointer that owns the database.
template <typename Db>
rocksdb::Status Open(const rocksdb::Options& options, const std::string& folder, Db** db) {
  if constexpr (requires(std::unique_ptr<Db> owner) { Db::Open(options, folder, &owner); }) {
    std::unique_ptr<Db> owner;
    const rocksdb::Status status = Db::Open(options, folder, &owner);
    *db = owner.release();
    return status;
  } else {
    return Db::Open(options, folder, db);
  }
}

}  // namespace

// 16 MB through a cache of 4 MiB; 0 if every value was read as it was written. Never closes the database.
extern "C" __attribute__((visibility("default"))) int UseRocksDB(const char* folder) {
  constexpr int kKeys = 16'000;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(4 << 20, /*num_shard_bits=*/0);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DB* db = nullptr;
  if (!Open(options, folder, &db).ok()) return 1;
  const auto value_of = [](int i) { return std::string(1000, static_cast<char>('a' + i % 26)) + std::to_string(i); };
  for (int i = 0; i < kKeys; ++i) {
    if (!db->Put({}, std::to_string(i), value_of(i)).ok()) return 2;
  }
  if (!db->Flush({}).ok() || !db->CompactRange({}, nullptr, nullptr).ok()) return 3;
  std::string value;
  for (int n = 0; n < 2 * kKeys; ++n) {
    const int i = static_cast<int>(n * 7919ll % kKeys);
    if (!db->Get({}, std::to_string(i), &value).ok() || value != value_of(i)) return 4;
  }
  std::printf("read everything through a %s\n", table.block_cache->Name());
  return 0;
}
