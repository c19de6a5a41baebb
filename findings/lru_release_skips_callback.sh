#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LRUCache tells its eviction callback nothing of blocks that leave when their last handle is released.
#
# Expected: the callback hears of each entry that leaves for want of room.
# So it is: entries that are held while the cache is over its capacity are freed as they are released. The callback is
#   not called for them, in any of the three releases.
# Seen: 27 November 2026, RocksDB 8.10.0, 10.4.2 and 11.8.1, alike; 1 MiB, 1000 entries of 4 KiB:
#   750 of 1000 gone after their release, 0 told; 3000 gone by 3000 insertions, 3000 told
# Why it matters to a cache: a second tier that lives on this callback loses what it never had a copy of, whenever
#   iterators or MultiScan pinned more than the first tier holds. It shows as misses of what was hot.
# Needs: mvn, cargo, unzip, g++.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"

const Cache::CacheItemHelper kHelper{CacheEntryRole::kMisc, [](Cache::ObjectPtr object, MemoryAllocator*) {
                                       delete static_cast<int*>(object);
                                     }};
std::string Name(int i) {
  std::string key(16, 'k');
  snprintf(key.data(), key.size(), "%08d", i);
  return key;
}

int main() {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const auto cache = NewLRUCache(1 << 20, 0);
  int heard = 0;
  cache->SetEvictionCallback([&heard](const Slice&, Cache::Handle*, bool) {
    ++heard;
    return false;
  });
  Cache::Handle* held[1000];
  for (int i = 0; i < 1000; ++i) Must(cache->Insert(Name(i), new int(i), &kHelper, 4096, &held[i]));
  for (Cache::Handle* one : held) cache->Release(one);
  const int left = static_cast<int>(cache->GetOccupancyCount()), heard_of_release = heard;
  for (int i = 1000; i < 4000; ++i) Must(cache->Insert(Name(i), new int(i), &kHelper, 4096));
  const int gone = left + 3000 - static_cast<int>(cache->GetOccupancyCount());
  printf("  %d of 1000 gone after their release, %d told; %d gone by 3000 insertions, %d told\n", 1000 - left,
         heard_of_release, gone, heard - heard_of_release);
  Claim(left < 300 && heard_of_release == 0, "a release over capacity frees and tells nothing");
  Claim(gone > 2900 && heard - heard_of_release == gone, "an insertion tells what it evicts");
  return so ? 0 : 1;
}
EOF

run 8.10.0
run 10.4.2
run 11.8.1
echo "still so"
