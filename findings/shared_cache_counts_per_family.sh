#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The aggregated usage of a shared block cache counts it once a column family in 7.8.3, and once in all in 10.4.2.
#
# Expected: GetAggregatedIntProperty("rocksdb.block-cache-usage") is what the database's caches hold.
# So it is: in 7.8.3 each column family adds the whole cache, so four families tell four times usage and capacity. In
#   10.4.2 each cache counts once. The property's name and the call are the same.
# Seen: 27 November 2026, RocksDB 7.8.3 and 10.4.2, four families, one cache of 64 MiB:
#   7.8.3: its usage 4264344; aggregated 17057376 (4.00 times), capacity 256 MiB
#   10.4.2: its usage 4264312; aggregated 4264312 (1.00 times), capacity 64 MiB
# Why it matters to a cache: dashboards are built on this property. After an upgrade the cache seems to have lost
#   three quarters of its blocks.
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
  DB* db = nullptr;
  Must(DB::Open(options, path, &db));
  return std::unique_ptr<DB>(db);
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

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const auto cache = NewLRUCache(64 << 20, 0);
  const Options options = With(cache);
  const auto db = Open(options, argv[1]);
  ColumnFamilyHandle* family[3];
  for (auto& one : family) Must(db->CreateColumnFamily(options, std::to_string(&one - family), &one));
  Fill(db.get(), 4000);
  Read(db.get(), 0, 4000);
  uint64_t usage = 0, capacity = 0;
  db->GetAggregatedIntProperty("rocksdb.block-cache-usage", &usage);
  db->GetAggregatedIntProperty("rocksdb.block-cache-capacity", &capacity);
  const double times = static_cast<double>(usage) / cache->GetUsage();
  printf("  four families, one cache of 64 MiB: its usage %zu; aggregated %llu (%.2f times), capacity %llu MiB\n",
         cache->GetUsage(), 0ull + usage, times, 0ull + (capacity >> 20));
  const int counted = ROCKSDB_MAJOR >= 10 ? 1 : 4;
  Claim(times == counted && capacity == uint64_t{64 << 20} * counted, "how often the cache is counted");
  for (auto* one : family) Must(db->DestroyColumnFamilyHandle(one));
  return so ? 0 : 1;
}
EOF

run_debian 7.8.3-2
run 10.4.2 10.4.2:jar:linux64 0.17.3 0
echo "still so"
