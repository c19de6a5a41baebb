#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MultiScan of RocksDB 10.4.2 takes ranges with limits, and reads each of them to the end of the database.
#
# Expected: ScanOptions(start, limit) bounds a scan, so ten ranges that share no key return each key once.
# So it is: in 10.4.2 a limit ends no range: the first returns all keys, the second those from its start on. It does so
#   without an error. 11.8.1 stops at the limits.
# Seen: 27 November 2026, RocksDB 10.4.2 and 11.8.1, ten ranges over 4000 keys in 1000 blocks:
#   10.4.2: 22000 keys, 18000 beyond a limit; 5500 data look-ups, 4500 hits
#   11.8.1: 4000 keys, 0 beyond a limit; 1000 data look-ups, 0 hits
# Why it matters to a cache: by release the same call makes 5.5 times the look-ups, and most of them hit. A hit ratio
#   of .82 then stands for more work than one of 0.
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
unsigned long long Ticks(const Options& options, Tickers ticker) {
  return options.statistics->getTickerCount(ticker);
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const Options options = With(NewLRUCache(64 << 20, 0));
  const auto db = Open(options, argv[1]);
  Fill(db.get(), 4000);
  std::string bounds[11];
  for (int i = 0; i <= 10; ++i) bounds[i] = Key(400 * i);
#if ROCKSDB_MAJOR >= 11
  MultiScanArgs ranges(BytewiseComparator());
  for (int i = 0; i < 10; ++i) ranges.insert(bounds[i], bounds[i + 1]);
#else
  std::vector<ScanOptions> ranges;
  for (int i = 0; i < 10; ++i) ranges.emplace_back(Slice(bounds[i]), Slice(bounds[i + 1]));
#endif
  int keys = 0, beyond = 0, at = 0;
  const auto scans = db->NewMultiScan(ReadOptions(), db->DefaultColumnFamily(), ranges);
  for (auto scan : *scans) {
    const Slice limit = bounds[++at];
    for (auto entry : scan) ++keys, beyond += entry.first.compare(limit) >= 0;
  }
  const auto hits = Ticks(options, BLOCK_CACHE_DATA_HIT), lookups = hits + Ticks(options, BLOCK_CACHE_DATA_MISS);
  printf("  ten ranges over 4000 keys in 1000 blocks: %d keys, %d beyond a limit; %llu data look-ups, %llu hits\n",
         keys, beyond, lookups, hits);
  const bool past = ROCKSDB_MAJOR < 11;
  Claim(keys == (past ? 22000 : 4000), "keys");
  Claim((beyond != 0) == past, "keys beyond their limit");
  Claim(past ? lookups > 5000 : lookups < 1100, "look-ups");
  return so ? 0 : 1;
}
EOF

run 10.4.2 10.4.2:jar:linux64 0.17.3 0
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
