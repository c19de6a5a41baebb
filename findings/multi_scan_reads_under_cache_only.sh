#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MultiScan of RocksDB 11.8.1 reads files under read_tier=kBlockCacheTier, which forbids it.
#
# Expected: what is not in the cache makes the scan end with Incomplete, as it ends an iterator.
# So it is: MultiScan fetches each block that the cache has not, returns all keys, and reports no error. It adds none of
#   them to the cache, so it does so again at each call.
# Seen: 27 November 2026, RocksDB 11.8.1, 4000 keys in 1000 blocks, of which the cache has 250:
#   iterator: 1000 keys, Result incomplete: no blocking io; 0 blocks read from files
#   MultiScan: 4000 keys, no error; 750 blocks read from files
# Why it matters to a cache: a thread that must not block asks in this way, and another that may block takes over at
#   Incomplete. Here the first one waits for the device, and its reads are no longer of the cache alone.
# Needs: mvn, cargo, unzip, g++.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"
#include "rocksdb/multi_scan.h"

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const auto cache = NewLRUCache(64 << 20, 0);
  const Options options = With(cache);
  const auto db = Open(options, argv[1]);
  Fill(db.get(), 4000);
  Read(db.get(), 0, 1000);
  const size_t usage = cache->GetUsage();
  ReadOptions cache_only;
  cache_only.read_tier = kBlockCacheTier;
  options.statistics->Reset();
  int keys = 0;
  const std::unique_ptr<Iterator> all(db->NewIterator(cache_only));
  for (all->SeekToFirst(); all->Valid(); all->Next()) ++keys;
  printf("  iterator: %d keys, %s; %llu blocks read from files\n", keys, all->status().ToString().c_str(),
         Ticks(options, MULTISCAN_BLOCKS_PREFETCHED));
  Claim(keys == 1000 && all->status().IsIncomplete(), "the iterator ends where the cache does");
  const std::string first = Key(0), middle = Key(2000), last = Key(4000);
  MultiScanArgs ranges(BytewiseComparator());
  ranges.insert(first, middle);
  ranges.insert(middle, last);
  std::string error = "no error";
  keys = 0;
  try {
    const auto scans = db->NewMultiScan(cache_only, db->DefaultColumnFamily(), ranges);
    for (auto scan : *scans) {
      for (auto entry : scan) keys += entry.first.size() != 0;
    }
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  const auto read = Ticks(options, MULTISCAN_BLOCKS_PREFETCHED);
  printf("  MultiScan: %d keys, %s; %llu blocks read from files\n", keys, error.c_str(), read);
  Claim(keys == 4000 && error == "no error" && read == 750, "MultiScan reads files");
  Claim(cache->GetUsage() == usage, "the cache keeps what it had");
  return so ? 0 : 1;
}
EOF

run 11.8.1
echo "still so"
