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
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"

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

run 8.10.0
run 10.4.2
run 11.8.1
echo "still so"
