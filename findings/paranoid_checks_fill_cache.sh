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
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"

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
run 11.8.1
echo "still so"
