#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A dump of the block cache, loaded into RocksDB's own secondary cache, is OK and brings no block.
#
# Expected: the header's use: dump the cache, load the dump into a secondary cache, open the database warm.
# So it is: the only secondary cache that RocksDB ships takes no uncompressed block in this way. It says OK to each
#   and keeps none, so the load is OK, too, whatever its compression. Besides, a dump without a filter holds nothing
#   in 8.10.0, and everything in 11.8.1.
# Seen: 27 November 2026, RocksDB 8.10.0 and 11.8.1; of 8.10.0:
#   1000 blocks in the cache, dumped without a filter: OK, 362 bytes
#   1000 blocks in the cache, dumped with a filter: OK, 4130562 bytes
#   loaded into a CompressedSecondaryCache, uncompressed: OK; of 1000 blocks 0 found there, 1000 read again
#   loaded into a CompressedSecondaryCache, LZ4: OK; of 1000 blocks 0 found there, 1000 read again
# Why it matters to a cache: RocksDB has this one way to carry a cache over a restart. It needs a secondary cache of
#   one's own that accepts what is saved, and hits instead of a status as its proof.
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

#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/file_system.h"
#include "rocksdb/statistics.h"
#include "rocksdb/system_clock.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/cache_dump_load.h"
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
  const std::string file = std::string(argv[1]) + ".dump";
  const auto cache = NewLRUCache(64 << 20, 0);
  const Options options = With(cache);
  CacheDumpOptions dump;
  dump.clock = SystemClock::Default().get();
  {
    const auto db = Open(options, argv[1]);
    Fill(db.get(), 4000);
    Read(db.get(), 0, 4000);
    for (const bool filter : {false, true}) {
      std::unique_ptr<CacheDumpWriter> writer;
      Must(NewToFileCacheDumpWriter(FileSystem::Default(), FileOptions(), file, &writer));
      std::unique_ptr<CacheDumper> dumper;
      Must(NewDefaultCacheDumper(dump, cache, std::move(writer), &dumper));
      if (filter) Must(dumper->SetDumpFilter({db.get()}));
      const Status status = dumper->DumpCacheEntriesToWriter();
      const auto size = std::filesystem::file_size(file);
      printf("  1000 blocks in the cache, dumped %s a filter: %s, %zu bytes\n", filter ? "with" : "without",
             status.ToString().c_str(), static_cast<size_t>(size));
      Claim(status.ok(), "the dump succeeds");
      Claim((size > 4000000) == (filter || ROCKSDB_MAJOR >= 10), "what a dump holds");
    }
  }
  for (const CompressionType compression : {kNoCompression, kLZ4Compression}) {
    CompressedSecondaryCacheOptions below;
    below.capacity = 64 << 20;
    below.num_shard_bits = 0;
    below.compression_type = compression;
    const auto second = NewCompressedSecondaryCache(below);
    std::unique_ptr<CacheDumpReader> reader;
    Must(NewFromFileCacheDumpReader(FileSystem::Default(), FileOptions(), file, &reader));
    std::unique_ptr<CacheDumpedLoader> loader;
    Must(NewDefaultCacheDumpedLoader(dump, *options.table_factory->GetOptions<BlockBasedTableOptions>(), second,
                                     std::move(reader), &loader));
    const Status loaded = loader->RestoreCacheEntriesToSecondaryCache();
    LRUCacheOptions lru;
    lru.capacity = 64 << 20;
    lru.num_shard_bits = 0;
    lru.secondary_cache = second;
    const Options warm = With(NewLRUCache(lru));
    const auto db = Open(warm, argv[1]);
    Read(db.get(), 0, 4000);
    printf("  loaded into a CompressedSecondaryCache, %s: %s; of 1000 blocks %llu found there, %llu read again\n",
           compression == kNoCompression ? "uncompressed" : "LZ4", loaded.ToString().c_str(),
           Ticks(warm, SECONDARY_CACHE_HITS), Ticks(warm, BLOCK_CACHE_MISS));
    Claim(loaded.ok(), "the load succeeds");
    Claim(Ticks(warm, SECONDARY_CACHE_HITS) == 0, "blocks found after a load");
  }
  return so ? 0 : 1;
}
EOF

run 8.10.0 8.10.0:jar:linux64 0.16.0 0
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
