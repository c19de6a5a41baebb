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
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"
#include "rocksdb/multi_scan.h"

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

run 11.8.1
echo "still so"
