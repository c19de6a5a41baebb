#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MultiScan of RocksDB 11.8.1 reads files under read_tier=kBlockCacheTier, which forbids it.
#
# Expected: what is not in the cache makes the scan end with Incomplete, as it ends an iterator.
# So it is: MultiScan fetches each block that the cache has not, returns all keys, and reports no error. It adds none of
#   them to the cache, so it does so again at each call.
# Seen: 27 November 2026, RocksDB 11.8.1, 4000 keys in 1000 blocks, of which the cache has 250:
#   iterator: 1000 keys, Result incomplete: no blocking io; 0 blocks read from files
#   MultiScan: 4000 keys, no error; 750 blocks read from files
# Why it matters to a cache: a thread that must not block asks in this way, and another that may block takes over at
#   Incomplete. Here the first one waits for the device, and its reads are no longer of the cache alone.
# Needs: mvn, cargo, unzip, g++.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $1 no longer behaves as described above"; exit 1; }

# Library: what RocksJava ships for Linux. Headers: the crate of the same release. ABI: of its std::string.
install_rocksdb() { # RELEASE ARTIFACT CRATE
  local to=$work/$1
  mkdir -p "$to/headers/src"
  mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
    -Dartifact="org.rocksdb:rocksdbjni:$2" -DoutputDirectory="$to" >"$to/log" 2>&1 || { cat "$to/log" >&2; exit 2; }
  unzip -qj "$to"/rocksdbjni-*.jar librocksdbjni-linux64.so -d "$to"
  : >"$to/headers/src/lib.rs"
  printf '%s\n' '[package]' 'name = "headers"' 'version = "0.1.0"' 'edition = "2021"' '[dependencies]' \
    "librocksdb-sys = { version = \"=$3\", default-features = false }" >"$to/headers/Cargo.toml"
  (cd "$to/headers" && CARGO_HOME=$work/cargo cargo fetch -q)
}

run() { # RELEASE ARTIFACT CRATE ABI
  install_rocksdb "$1" "$2" "$3"
  g++ -std=c++20 -O1 -fno-rtti -DNDEBUG -DROCKSDB_PLATFORM_POSIX -DOS_LINUX -D_GLIBCXX_USE_CXX11_ABI="$4" -w \
    -I"$(echo "$work"/cargo/registry/src/*/librocksdb-sys-"$3"+"$1"/rocksdb/include)" "$work/try.cc" -o "$work/try" \
    "$work/$1/librocksdbjni-linux64.so" -Wl,-rpath,"$work/$1" -pthread
  "$work/try" "$work/db-$1" || changed "RocksDB $1"
}

cat >"$work/try.cc" <<'EOF'
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/multi_scan.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

using namespace rocksdb;

bool so = true;  // as it was seen then

void Claim(bool still, const char* what) {
  if (!still) printf("  not so any more: %s\n", what);
  so = so && still;
}
void Must(const Status& status) {
  if (!status.ok()) exit((fprintf(stderr, "%s\n", status.ToString().c_str()), 2));
}
std::unique_ptr<DB> Open(const Options& options, const std::string& path) {
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
Options With(std::shared_ptr<Cache> cache) {
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
std::string Key(int i) {
  char key[16];
  snprintf(key, sizeof(key), "key%08d", i);
  return key;
}
void Fill(DB* db, int keys) {  // four make a block of some 4 KiB
  for (int i = 0; i < keys; ++i) {
    Must(db->Put(WriteOptions(), Key(i), std::string(1000, static_cast<char>('a' + i % 26))));
  }
  Must(db->Flush(FlushOptions()));
}
void Read(DB* db, int from, int to, const ReadOptions& how = ReadOptions()) {  // one key of each block
  std::string value;
  for (int i = from; i < to; i += 4) Must(db->Get(how, Key(i), &value));
}
unsigned long long Ticks(const Options& options, Tickers ticker) {
  return options.statistics->getTickerCount(ticker);
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const auto cache = NewLRUCache(64 << 20, 0);
  const Options options = With(cache);
  const auto db = Open(options, argv[1]);
  Fill(db.get(), 4000);
  Read(db.get(), 0, 1000);
  const size_t usage = cache->GetUsage();
  ReadOptions cache_only;
  cache_only.read_tier = kBlockCacheTier;
  options.statistics->Reset();
  int keys = 0;
  const std::unique_ptr<Iterator> all(db->NewIterator(cache_only));
  for (all->SeekToFirst(); all->Valid(); all->Next()) ++keys;
  printf("  iterator: %d keys, %s; %llu blocks read from files\n", keys, all->status().ToString().c_str(),
         Ticks(options, MULTISCAN_BLOCKS_PREFETCHED));
  Claim(keys == 1000 && all->status().IsIncomplete(), "the iterator ends where the cache does");
  const std::string first = Key(0), middle = Key(2000), last = Key(4000);
  MultiScanArgs ranges(BytewiseComparator());
  ranges.insert(first, middle);
  ranges.insert(middle, last);
  std::string error = "no error";
  keys = 0;
  try {
    const auto scans = db->NewMultiScan(cache_only, db->DefaultColumnFamily(), ranges);
    for (auto scan : *scans) {
      for (auto entry : scan) keys += entry.first.size() != 0;
    }
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  const auto read = Ticks(options, MULTISCAN_BLOCKS_PREFETCHED);
  printf("  MultiScan: %d keys, %s; %llu blocks read from files\n", keys, error.c_str(), read);
  Claim(keys == 4000 && error == "no error" && read == 750, "MultiScan reads files");
  Claim(cache->GetUsage() == usage, "the cache keeps what it had");
  return so ? 0 : 1;
}
EOF

run 11.8.1 11.8.1 0.19.0 1
echo "still so"
