#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# After a MultiScan over more than the cache holds, the hot set is gone, and the cache is nearly empty or too large.
#
# Expected: MultiScan pins the blocks of its ranges, as its comment says, and lets them go like an iterator: hot blocks
#   stay, and the cache is as full as it may be.
# So it is: while all are pinned, everything else is evicted, the upper half of LRUCache too. Then a cache over a second
#   tier is left empty, and a HyperClockCache alone stays at three times its capacity with nothing pinned.
# Seen: 27 November 2026, RocksDB 11.8.1, 1 MiB, 200 hot blocks, a scan of 800 others; second tier: 64 MiB:
#   LRU alone: an iterator leaves 122 of 200 hot blocks and 1.04 MB in use, MultiScan 0 and 1.04 MB
#   LRU over a second tier: an iterator leaves 200 of 200 hot blocks and 1.04 MB in use, MultiScan 0 and 0.00 MB
#   HyperClock alone: an iterator leaves 0 of 200 hot blocks and 1.03 MB in use, MultiScan 0 and 3.44 MB
#   HyperClock over a second tier: an iterator leaves 200 of 200 hot blocks and 1.04 MB in use, MultiScan 0 and 0.11 MB
# Why it matters to a cache: scan resistance ends at pins. One scan costs the first tier all of its blocks; capacity is
#   no bound of its memory before the next insertions.
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

std::shared_ptr<Cache> Make(bool hyper, bool second_tier) {
  CompressedSecondaryCacheOptions below;
  below.capacity = 64 << 20;
  below.num_shard_bits = 0;
  below.compression_type = kNoCompression;
  const auto second = second_tier ? NewCompressedSecondaryCache(below) : nullptr;
  HyperClockCacheOptions clock(1 << 20, 0, 0);
  clock.secondary_cache = second;
  LRUCacheOptions lru;
  lru.capacity = 1 << 20;
  lru.num_shard_bits = 0;
  lru.secondary_cache = second;
  return hyper ? clock.MakeSharedCache() : NewLRUCache(lru);
}
int Iterate(DB* db) {
  int keys = 0;
  const std::unique_ptr<Iterator> all(db->NewIterator(ReadOptions()));
  for (all->Seek(Key(800)); all->Valid(); all->Next()) ++keys;
  return keys;
}
int ScanRanges(DB* db) {
  const std::string first = Key(800), middle = Key(2000), last = Key(4000);
  MultiScanArgs ranges(BytewiseComparator());
  ranges.insert(first, middle);
  ranges.insert(middle, last);
  int keys = 0;
  const auto scans = db->NewMultiScan(ReadOptions(), db->DefaultColumnFamily(), ranges);
  for (auto scan : *scans) {
    for (auto entry : scan) keys += entry.first.size() != 0;
  }
  return keys;
}

void Try(const char* name, bool hyper, bool second_tier, const std::string& path) {
  int hot[2];
  size_t usage[2];
  for (const bool multi : {false, true}) {
    const auto cache = Make(hyper, second_tier);
    const Options options = With(cache);
    {
      const auto db = Open(options, path);
      Fill(db.get(), 4000);
      for (int i = 0; i < 4; ++i) Read(db.get(), 0, 4000);  // into the second tier, if there is one
      for (int i = 0; i < 8; ++i) Read(db.get(), 0, 800);
      Claim((multi ? ScanRanges(db.get()) : Iterate(db.get())) == 3200, "keys");
      Claim(cache->GetPinnedUsage() < 200000, "nothing is pinned");
      usage[multi] = cache->GetUsage();
      options.statistics->Reset();
      Read(db.get(), 0, 800);
      hot[multi] = static_cast<int>(Ticks(options, BLOCK_CACHE_HIT) - Ticks(options, SECONDARY_CACHE_HITS));
    }
    Must(DestroyDB(path, options));
  }
  printf("  %s: an iterator leaves %d of 200 hot blocks and %.2f MB in use, MultiScan %d and %.2f MB\n", name, hot[0],
         usage[0] / 1e6, hot[1], usage[1] / 1e6);
  Claim(hot[1] == 0 && usage[0] > 900000 && usage[0] < (1 << 20), "hot blocks, and usage after an iterator");
  Claim(second_tier ? usage[1] < 200000 : hyper ? usage[1] > (3 << 20) : usage[1] < (1 << 20), "usage after MultiScan");
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Try("LRU alone", false, false, argv[1]);
  Try("LRU over a second tier", false, true, argv[1]);
  Try("HyperClock alone", true, false, argv[1]);
  Try("HyperClock over a second tier", true, true, argv[1]);
  return so ? 0 : 1;
}
EOF

run 11.8.1 11.8.1 0.19.0 1
echo "still so"
