// SPDX-License-Identifier: Apache-2.0
// What the programs of the findings on RocksDB have in common. Each claims what was seen, and returns `so ? 0 : 1`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

using namespace rocksdb;

inline bool so = true;  // as it was seen then

inline void Claim(bool still, const char* what) {
  if (!still) printf("  not so any more: %s\n", what);
  so = so && still;
}
inline void Must(const Status& status) {
  if (!status.ok()) exit((fprintf(stderr, "%s\n", status.ToString().c_str()), 2));
}

// A database that does nothing by itself.
inline Options With(std::shared_ptr<Cache> cache) {
  BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  Options options;
  options.create_if_missing = true;
  options.compression = kNoCompression;
  options.disable_auto_compactions = true;
  options.statistics = CreateDBStatistics();
  options.write_buffer_size = 256 << 20;
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  return options;
}

inline std::unique_ptr<DB> Open(const Options& options, const std::string& path) {
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<DB> db;
  Must(DB::Open(options, path, &db));
  return db;
#else
  DB* db = nullptr;
  Must(DB::Open(options, path, &db));
  return std::unique_ptr<DB>(db);
#endif
}

inline std::string Key(int i) {
  char key[16];
  snprintf(key, sizeof(key), "key%08d", i);
  return key;
}

// Four keys make a block of some 4 KiB.
inline void Fill(DB* db, int keys) {
  for (int i = 0; i < keys; ++i) {
    Must(db->Put(WriteOptions(), Key(i), std::string(1000, static_cast<char>('a' + i % 26))));
  }
  Must(db->Flush(FlushOptions()));
}

// One key of each block.
inline void Read(DB* db, int from, int to, const ReadOptions& how = ReadOptions()) {
  std::string value;
  for (int i = from; i < to; i += 4) Must(db->Get(how, Key(i), &value));
}

inline unsigned long long Ticks(const Options& options, Tickers ticker) {
  return options.statistics->getTickerCount(ticker);
}
