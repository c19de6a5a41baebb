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
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include <filesystem>

#include "probe.h"
#include "rocksdb/file_system.h"
#include "rocksdb/system_clock.h"
#include "rocksdb/utilities/cache_dump_load.h"

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

run 8.10.0
run 11.8.1
echo "still so"
