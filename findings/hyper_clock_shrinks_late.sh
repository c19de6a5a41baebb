#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A HyperClockCache that is made smaller keeps its memory until thousands of blocks have been inserted.
#
# Expected: SetCapacity purges what it can, as its header says and as LRUCache does, so that memory comes back at once.
# So it is: usage stays as it was. Hits free nothing. Each insertion evicts a little more than it brings: it takes
#   two and a half times the new capacity in inserted bytes with the automatic table, and four times with the fixed one.
# Seen: 27 November 2026, RocksDB 8.10.0, 10.4.2 and 11.8.1; of 11.8.1, where 64 MiB becomes 4 MiB:
#   LRU: 21.4 MB, after SetCapacity 4.2, after 5000 hits 4.2; insertions until it fits: 0
#   HyperClock, automatic: 21.5 MB, after SetCapacity 21.5, after 5000 hits 21.5; insertions until it fits: 2500
#   HyperClock, fixed: 23.1 MB, after SetCapacity 23.1, after 5000 hits 23.1; insertions until it fits: 4000
# Why it matters to a cache: who lowers a cache to give memory back, to a second tier or to a control group, must not
#   count on it before traffic has missed a lot. A service that only hits never gives it back.
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

void Shrink(const char* name, std::shared_ptr<Cache> cache, const std::string& path, bool late) {
  const Options options = With(cache);
  {
    const auto db = Open(options, path);
    Fill(db.get(), 60000);
    Read(db.get(), 0, 20000);
    const size_t before = cache->GetUsage(), target = 4 << 20;
    cache->SetCapacity(target);
    const size_t at_once = cache->GetUsage();
    if (late) Read(db.get(), 0, 20000);  // hits
    const size_t after_hits = cache->GetUsage();
    int inserted = 0;
    for (; cache->GetUsage() > target && inserted < 10000; inserted += 500) {
      Read(db.get(), 20000 + 4 * inserted, 20000 + 4 * (inserted + 500));
    }
    printf("  %s: %.1f MB, after SetCapacity %.1f, after 5000 hits %.1f; insertions until it fits: %d\n", name,
           before / 1e6, at_once / 1e6, after_hits / 1e6, inserted);
    Claim((at_once == before) == late, "usage right after SetCapacity");
    Claim((after_hits == before) == late, "usage after hits");
    Claim(late ? inserted >= 1500 : inserted == 0, "insertions until it fits");
  }
  Must(DestroyDB(path, options));
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Shrink("LRU", NewLRUCache(64 << 20, 0), argv[1], false);
  Shrink("HyperClock, automatic", HyperClockCacheOptions(64 << 20, 0, 0).MakeSharedCache(), argv[1], true);
  Shrink("HyperClock, fixed", HyperClockCacheOptions(64 << 20, 4096, 0).MakeSharedCache(), argv[1], true);
  return so ? 0 : 1;
}
EOF

run 8.10.0 8.10.0:jar:linux64 0.16.0 0
run 10.4.2 10.4.2:jar:linux64 0.17.3 0
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
