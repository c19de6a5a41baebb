#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# RocksDB's PersistentCache deletes what it kept when it is opened again.
#
# Expected: a cache on a persistent medium, with keys that hold over restarts, as its header has it, is warm after one.
# So it is: blocks lie in its folder after a clean close. NewPersistentCache over that folder empties it, without a
#   word, and all first reads miss.
# Seen: 27 November 2026, RocksDB 8.10.0 and 11.8.1, alike:
#   opened for the first time: 0 bytes in its folder, 0 afterwards
#     1000 blocks, pass 1: 0 found in it
#     1000 blocks, pass 2: 1000 found in it
#   opened for the second time: 3145728 bytes in its folder, 0 afterwards
#     1000 blocks, pass 1: 0 found in it
#     1000 blocks, pass 2: 1000 found in it
# Why it matters to a cache: persistent memory or a local drive below this class buys no warm restart.
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
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/persistent_cache.h"
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

size_t Bytes(const std::string& folder) {
  size_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  return bytes;
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const std::string folder = std::string(argv[1]) + ".cache";
  std::filesystem::create_directories(folder);
  for (int opened = 1; opened <= 2; ++opened) {
    const size_t found = Bytes(folder);
    std::shared_ptr<PersistentCache> persistent;
    Must(NewPersistentCache(Env::Default(), folder, 256 << 20, nullptr, false, &persistent));
    printf("  opened for the %s time: %zu bytes in its folder, %zu afterwards\n", opened == 1 ? "first" : "second",
           found, Bytes(folder));
    Options options = With(NewLRUCache(1 << 20, 0));
    options.table_factory->GetOptions<BlockBasedTableOptions>()->persistent_cache = persistent;
    const auto db = Open(options, argv[1]);
    if (opened == 1) Fill(db.get(), 4000);
    for (int pass = 1; pass <= 2; ++pass) {
      options.statistics->Reset();
      Read(db.get(), 0, 4000);
      const auto hits = Ticks(options, PERSISTENT_CACHE_HIT);
      printf("    1000 blocks, pass %d: %llu found in it\n", pass, hits);
      Claim(pass == 1 ? hits == 0 : hits >= 900, "blocks found");
      std::this_thread::sleep_for(std::chrono::seconds(2));  // its writer is a thread of its own
    }
    Claim((found > 1000000) == (opened == 2), "the first cache left its blocks in the folder");
  }
  return so ? 0 : 1;
}
EOF

run 8.10.0 8.10.0:jar:linux64 0.16.0 0
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
