// SPDX-License-Identifier: Apache-2.0
// Between libmezzanine_preload.so, which every process that inherits the preload loads and which knows no RocksDB, and
// libmezzanine_preloaded.so, which it opens when a RocksDB that fits makes its first cache.
#pragma once

#include <memory>
#include <string>

#include "integration/open_hooks.h"
#include "rocksdb/cache.h"

namespace mezz {

// A maker of RocksDB, as its caller meant it.
template <typename Options>
struct MakeRequest {
  const Options& options;
  // The function that the caller would have reached without us. Or what it calls next, where that is ours again.
  std::shared_ptr<rocksdb::Cache> (*real)(const Options* options);
  // Tells why there will be no SCM tier; ends a strict program.
  void (*fail)(const std::string& sentence);
};

// What the module exports, by these names; see preloaded_cache.cc.
struct PreloadModule {
  static constexpr char kFile[] = "libmezzanine_preloaded.so";
  // The same for the RocksDB inside of a rocksdbjni, by a path of at most so many bytes.
  static constexpr char kFileOfRocksJava[] = "libmezzanine_preloaded_jni.so";
  static constexpr size_t kPlaceBytes = 1023;
  static constexpr char kRocksDB[] = "mezz_preload_rocksdb";
  static constexpr char kMakeLru[] = "mezz_preload_make_lru";
  static constexpr char kMakeHyperClock[] = "mezz_preload_make_hyper_clock";
  static constexpr char kRaiseWarming[] = "mezz_preload_raise_warming";
  static constexpr char kWithListeners[] = "mezz_preload_with_listeners";

  // An address inside of the RocksDB that the module works with.
  const void* (*rocksdb)();
  void (*make_lru)(const MakeRequest<rocksdb::LRUCacheOptions>& request, std::shared_ptr<rocksdb::Cache>* made);
  void (*make_hyper_clock)(const MakeRequest<rocksdb::HyperClockCacheOptions>& request,
                           std::shared_ptr<rocksdb::Cache>* made);
  // What databases are opened with: as warming.h says, of the caches that it made.
  void (*raise_warming)(const rocksdb::ColumnFamilyOptions& family, const rocksdb::DBOptions& options);
  void (*with_listeners)(const rocksdb::DBOptions& options, const std::string& name, const Families& families,
                         std::unique_ptr<rocksdb::DBOptions>* with);
};

}  // namespace mezz
