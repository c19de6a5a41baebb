#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# HyperClockCache keeps the old value when a key is inserted again, says OK, and drops the new one.
#
# Expected: an insertion under a key that is there replaces the value, as in LRUCache.
# So it is: LRUCache replaces it and tells so (IsOkOverwritten). HyperClockCache, with either table, returns a plain OK,
#   frees the new value and goes on serving the old one. No comment in cache.h or advanced_cache.h says which it is.
# Seen: 27 November 2026, RocksDB 8.10.0, 10.4.2 and 11.8.1, alike:
#   LRU: inserted 1, then 2 (OK, overwritten); a look-up gives 2, and 1 of the two lives
#   HyperClock, automatic: inserted 1, then 2 (OK); a look-up gives 1, and 1 of the two lives
#   HyperClock, fixed: inserted 1, then 2 (OK); a look-up gives 1, and 1 of the two lives
# Why it matters to a cache: a wrapper that changes what lies under a key must erase it first. Who counts insertions by
#   their status counts values that were never kept.
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

int live = 0;
const Cache::CacheItemHelper kHelper{CacheEntryRole::kMisc, [](Cache::ObjectPtr, MemoryAllocator*) { --live; }};

void Try(const char* name, std::shared_ptr<Cache> cache, int wanted) {
  const std::string key(16, 'k');
  int first = 1, second = 2;
  live = 2;
  Must(cache->Insert(key, &first, &kHelper, 100));
  const Status status = cache->Insert(key, &second, &kHelper, 100);
  Must(status);
  Cache::Handle* const found = cache->Lookup(key);
  const int value = found == nullptr ? 0 : *static_cast<int*>(cache->Value(found));
  if (found != nullptr) cache->Release(found);
  printf("  %s: inserted 1, then 2 (%s%s); a look-up gives %d, and %d of the two lives\n", name,
         status.ToString().c_str(), status.IsOkOverwritten() ? ", overwritten" : "", value, live);
  Claim(value == wanted && live == 1, "which value stays");
}

int main() {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Try("LRU", NewLRUCache(32 << 20, 0), 2);
  Try("HyperClock, automatic", HyperClockCacheOptions(32 << 20, 0, 0).MakeSharedCache(), 1);
  Try("HyperClock, fixed", HyperClockCacheOptions(32 << 20, 4096, 0).MakeSharedCache(), 1);
  return so ? 0 : 1;
}
EOF

run 8.10.0 8.10.0:jar:linux64 0.16.0 0
run 10.4.2 10.4.2:jar:linux64 0.17.3 0
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
