// SPDX-License-Identifier: Apache-2.0
// What README shows, against the installed package: a DB over a hybrid cache, read until its blocks came back from SCM.
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>

#include "mezzanine/integration/hybrid_cache.h"
#include "mezzanine/integration/use_hybrid_cache.h"
#include "rocksdb/db.h"

namespace {

std::string Key(int i) { return "key" + std::to_string(1000000 + i); }
std::string Value(int i) { return std::string(1000, static_cast<char>('a' + i % 26)); }

// From 11 on, DB::Open hands out a unique_ptr only.
template <typename DB = rocksdb::DB>
rocksdb::Status OpenDb(const rocksdb::Options& options, const std::string& path, std::unique_ptr<DB>* db) {
  if constexpr (requires { DB::Open(options, path, db); }) {
    return DB::Open(options, path, db);
  } else {
    DB* raw = nullptr;
    const rocksdb::Status status = DB::Open(options, path, &raw);
    db->reset(raw);
    return status;
  }
}

int Fail(const std::string& why) {
  std::fprintf(stderr, "consumer: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return Fail("usage: consumer DB_FOLDER");

  mezz::HybridCacheOptions hybrid;
  std::shared_ptr<rocksdb::Cache> cache;
  mezz::Status status = mezz::ParseHybridUri("mezzanine://dram=1M;scm=64M@dram", &hybrid);
  hybrid.dram_cache = mezz::DramCacheKind::kLru;
  if (status.ok()) status = mezz::NewHybridCache(hybrid, &cache);
  if (!status.ok()) return Fail(status.message());

  rocksdb::Options options;
  options.create_if_missing = true;
  status = mezz::UseHybridCache(cache, &options);
  if (!status.ok()) return Fail(status.message());
  std::unique_ptr<rocksdb::DB> db;
  if (auto opened = OpenDb(options, argv[1], &db); !opened.ok()) return Fail(opened.ToString());

  constexpr int kKeys = 8000;
  for (int i = 0; i < kKeys; ++i) {
    if (!db->Put(rocksdb::WriteOptions(), Key(i), Value(i)).ok()) return Fail("a put failed");
  }
  if (!db->Flush(rocksdb::FlushOptions()).ok()) return Fail("the flush failed");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      std::string value;
      if (!db->Get(rocksdb::ReadOptions(), Key(i), &value).ok() || value != Value(i)) return Fail("wrong: " + Key(i));
    }
  }

  mezz::HybridStats* stats = mezz::GetHybridStats(cache.get());
  if (stats == nullptr) return Fail("no statistics");
  const uint64_t hits = stats->Counters()[mezz::Event::kScmHit];
  std::printf("scm.hit: %llu\n", static_cast<unsigned long long>(hits));
  return hits > 0 ? 0 : Fail("no block came back from SCM");
}
