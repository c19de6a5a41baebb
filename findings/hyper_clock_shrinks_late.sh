#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A HyperClockCache that is made smaller keeps its memory until thousands of blocks have been inserted.
#
# Expected: SetCapacity purges what it can, as its header says and as LRUCache does, so that memory comes back at once.
# So it is: usage stays as it was. Hits free nothing. Each insertion evicts a little more than it brings: it takes
#   two and a half times the new capacity in inserted bytes with the automatic table, and four times with the fixed one.
# Seen: 27 November 2026, RocksDB 8.10.0, 10.4.2 and 11.8.1; of 11.8.1, where 64 MiB becomes 4 MiB:
#   LRU: 21.4 MB, after SetCapacity 4.2, after 5000 hits 4.2; insertions until it fits: 0
#   HyperClock, automatic: 21.5 MB, after SetCapacity 21.5, after 5000 hits 21.5; insertions until it fits: 2500
#   HyperClock, fixed: 23.1 MB, after SetCapacity 23.1, after 5000 hits 23.1; insertions until it fits: 4000
# Why it matters to a cache: who lowers a cache to give memory back, to a second tier or to a control group, must not
#   count on it before traffic has missed a lot. A service that only hits never gives it back.
# Needs: mvn, cargo, unzip, g++.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"

void Shrink(const char* name, std::shared_ptr<Cache> cache, const std::string& path, bool late) {
  const Options options = With(cache);
  {
    const auto db = Open(options, path);
    Fill(db.get(), 60000);
    Read(db.get(), 0, 20000);
    const size_t before = cache->GetUsage(), target = 4 << 20;
    cache->SetCapacity(target);
    const size_t at_once = cache->GetUsage();
    if (late) Read(db.get(), 0, 20000);  // hits
    const size_t after_hits = cache->GetUsage();
    int inserted = 0;
    for (; cache->GetUsage() > target && inserted < 10000; inserted += 500) {
      Read(db.get(), 20000 + 4 * inserted, 20000 + 4 * (inserted + 500));
    }
    printf("  %s: %.1f MB, after SetCapacity %.1f, after 5000 hits %.1f; insertions until it fits: %d\n", name,
           before / 1e6, at_once / 1e6, after_hits / 1e6, inserted);
    Claim((at_once == before) == late, "usage right after SetCapacity");
    Claim((after_hits == before) == late, "usage after hits");
    Claim(late ? inserted >= 1500 : inserted == 0, "insertions until it fits");
  }
  Must(DestroyDB(path, options));
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Shrink("LRU", NewLRUCache(64 << 20, 0), argv[1], false);
  Shrink("HyperClock, automatic", HyperClockCacheOptions(64 << 20, 0, 0).MakeSharedCache(), argv[1], true);
  Shrink("HyperClock, fixed", HyperClockCacheOptions(64 << 20, 4096, 0).MakeSharedCache(), argv[1], true);
  return so ? 0 : 1;
}
EOF

run 8.10.0
run 10.4.2
run 11.8.1
echo "still so"
