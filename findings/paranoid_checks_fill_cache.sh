#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# paranoid_file_checks puts every block that a flush or a compaction writes into the block cache.
#
# Expected: a check of new files reads them past the cache, as compactions read theirs.
# So it is: the check reads as a user does. All blocks of each new file are added, with prepopulate_block_cache off.
#   A compaction of cold data pushes the hot set of other databases out of the cache that they share. Only what
#   LRUCache keeps for blocks with hits stays.
# Seen: 27 November 2026, RocksDB 7.8.3 and 11.8.1, LRUCache of 1 MiB; of 11.8.1:
#   checks off: a flush of 1000 blocks adds 0, leaves 200 of 200 hot; a compaction adds 0, leaves 200
#   checks on: a flush of 1000 blocks adds 1000, leaves 122 of 200 hot; a compaction adds 1000, leaves 80
# Why it matters to a cache: it gets every written block by Insert, as if somebody had asked for it. Admission that
#   trusts misses takes a compaction's whole output.
# Needs: apt-get, the libraries that librocksdb7.8 depends on, mvn, cargo, unzip, g++.
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

run_debian() { # VERSION
  local package
  mkdir -p "$work/debian"
  for package in librocksdb7.8 librocksdb-dev; do
    (cd "$work/debian" && apt-get download -qq "$package=$1" 2>"$work/log") || { cat "$work/log" >&2; exit 2; }
  done
  for package in "$work"/debian/*.deb; do dpkg -x "$package" "$work/debian"; done
  g++ -std=c++20 -O1 -DNDEBUG -w -I"$work/debian/usr/include" "$work/try.cc" -o "$work/try" \
    -L"$work/debian/usr/lib/x86_64-linux-gnu" -Wl,-rpath,"$work/debian/usr/lib/x86_64-linux-gnu" -lrocksdb -pthread
  "$work/try" "$work/db-$1" || changed "RocksDB $1"
}

cat >"$work/try.cc" <<'EOF'
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

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

int Hot(DB* db, const Options& options) {  // of 200 blocks: those in the cache
  options.statistics->Reset();
  Read(db, 0, 800);
  return static_cast<int>(Ticks(options, BLOCK_CACHE_HIT));
}
void Warm(DB* db) {
  for (int i = 0; i < 4; ++i) Read(db, 0, 800);
}

void Try(bool paranoid, const std::string& path) {
  const auto cache = NewLRUCache(1 << 20, 0);
  const Options options = With(cache);
  Options other = With(cache);
  other.paranoid_file_checks = paranoid;
  {
    const auto hot = Open(options, path + "-hot"), writes = Open(other, path + "-writes");
    Fill(hot.get(), 800);
    Warm(hot.get());
    other.statistics->Reset();
    Fill(writes.get(), 4000);
    const auto flushed = Ticks(other, BLOCK_CACHE_DATA_ADD);
    const int after_flush = Hot(hot.get(), options);
    Fill(writes.get(), 4000);
    Warm(hot.get());
    other.statistics->Reset();
    Must(writes->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    const auto compacted = Ticks(other, BLOCK_CACHE_DATA_ADD);
    const int after_compaction = Hot(hot.get(), options);
    printf("  checks %s: a flush of 1000 blocks adds %llu, leaves %d of 200 hot; a compaction adds %llu, leaves %d\n",
           paranoid ? "on" : "off", flushed, after_flush, compacted, after_compaction);
    Claim(flushed == (paranoid ? 1000 : 0) && compacted == flushed, "what is added");
    Claim(paranoid ? after_flush <= 150 && after_compaction <= 120 : after_flush == 200 && after_compaction == 200,
          "what is left of the hot set");
  }
  Must(DestroyDB(path + "-hot", options));
  Must(DestroyDB(path + "-writes", other));
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Try(false, argv[1]);
  Try(true, argv[1]);
  return so ? 0 : 1;
}
EOF

run_debian 7.8.3-2
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
