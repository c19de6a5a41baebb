// SPDX-License-Identifier: Apache-2.0
// The interface between the two preloaded libraries. Every process that inherits the preload loads
// libmezzanine_preload.so, which knows no RocksDB. That opens libmezzanine_preloaded.so when a RocksDB that fits makes
// its first cache.
#pragma once

#include <memory>
#include <string>

#include "integration/open_hooks.h"
#include "rocksdb/cache.h"

namespace mezz {

// A call of one of RocksDB's functions that make caches.
template <typename Options>
struct MakeRequest {
  const Options& options;
  // The function that the caller would have reached without us. If that is ours too, the function that it calls next.
  std::shared_ptr<rocksdb::Cache> (*real)(const Options* options);
  // Tells why there will be no SCM tier, and ends a program that is to be strict.
  void (*fail)(const std::string& sentence);
};

// The functions that the module exports, and their names; see preloaded_cache.cc.
struct PreloadModule {
  static constexpr char kFile[] = "libmezzanine_preloaded.so";
  // The module for the RocksDB inside a rocksdbjni. Its path may have at most kPlaceBytes bytes.
  static constexpr char kFileOfRocksJava[] = "libmezzanine_preloaded_jni.so";
  static constexpr size_t kPlaceBytes = 1023;
  static constexpr char kRocksDB[] = "mezz_preload_rocksdb";
  static constexpr char kMakeLru[] = "mezz_preload_make_lru";
  static constexpr char kMakeHyperClock[] = "mezz_preload_make_hyper_clock";
  static constexpr char kRaiseWarming[] = "mezz_preload_raise_warming";
  static constexpr char kWithListeners[] = "mezz_preload_with_listeners";

  // Returns an address inside the RocksDB that the module works with.
  const void* (*rocksdb)();
  void (*make_lru)(const MakeRequest<rocksdb::LRUCacheOptions>& request, std::shared_ptr<rocksdb::Cache>* made);
  void (*make_hyper_clock)(const MakeRequest<rocksdb::HyperClockCacheOptions>& request,
                           std::shared_ptr<rocksdb::Cache>* made);
  // These change the options with which databases are opened, for the caches that the module made (warming.h).
  void (*raise_warming)(const rocksdb::ColumnFamilyOptions& family, const rocksdb::DBOptions& options);
  void (*with_listeners)(const rocksdb::DBOptions& options, const std::string& name, const Families& families,
                         std::unique_ptr<rocksdb::DBOptions>* with);
};

}  // namespace mezz
