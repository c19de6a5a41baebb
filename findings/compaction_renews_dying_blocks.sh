#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A compaction renews the cached blocks of the files that it is about to delete, and a hot set goes in their place.
#
# Expected: compactions read with fill_cache=false, which does not change the order in which the cache evicts, as that
#   option's comment says. Nobody asks for the blocks of the old files any more, so these go first.
# So it is: the compaction looks each block up, and what it finds counts as used again, in LRUCache as in
#   HyperClockCache. The dead blocks then outlive hot ones. A scan with fill_cache=false does the same. The tickers tell
#   a compaction's hits and misses as if they were the readers'. uncache_aggressiveness (off by default; not in 8.10.0)
#   takes the dead blocks out.
# Seen: 29 November 2026, RocksDB 8.10.0, 10.4.2 and 11.8.1; 1000 KiB with 100 hot blocks, and with 100 of a file that
#   were read once. Of the hot ones so many are left after 130 new blocks; of 11.8.1:
#   LRU: no compaction 100, a compaction 19 (100 hits, 100 misses, 0 added), a scan 19, a compaction with uncaching 100
#   LRU, no high-priority pool: 100, 0 (the same), 0, 100
#   HyperClock, automatic: 100, 64 (the same), 60, 100
#   HyperClock, fixed: 100, 58 (the same), 60, 100
# Why it matters to a cache: it should not take a compaction's look-up for a use, and most policies cannot know. A
#   hit ratio has the compactions' look-ups in it.
# Needs: mvn, cargo, unzip, g++.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"

enum class Then { kNothing, kCompaction, kUncaching, kScan };

struct Outcome {
  int hot = 0;  // blocks of the hot set that are left
  unsigned long long hits = 0, misses = 0, adds = 0;
};

Outcome After(Then then, std::shared_ptr<Cache> cache, const std::string& path) {
  const Options options = With(cache);
  Options old_options = With(cache);
#if ROCKSDB_MAJOR >= 10
  if (then == Then::kUncaching) old_options.uncache_aggressiveness = 10000;
#endif
  Outcome outcome;
  {
    const auto hot = Open(options, path + "-hot"), fresh = Open(options, path + "-fresh");
    const auto old = Open(old_options, path + "-old");
    Fill(hot.get(), 400);
    Fill(fresh.get(), 520);
    Fill(old.get(), 400);
    Fill(old.get(), 400);  // a second file, which makes the first one's values obsolete
    Read(old.get(), 0, 400);
    for (int i = 0; i < 3; ++i) Read(hot.get(), 0, 400);
    old_options.statistics->Reset();
    if (then == Then::kScan) {
      ReadOptions no_fill;
      no_fill.fill_cache = false;
      const std::unique_ptr<Iterator> scan(old->NewIterator(no_fill));
      for (scan->SeekToFirst(); scan->Valid(); scan->Next()) {}
      Must(scan->status());
    } else if (then != Then::kNothing) {
      Must(old->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    }
    outcome.hits = Ticks(old_options, BLOCK_CACHE_DATA_HIT);
    outcome.misses = Ticks(old_options, BLOCK_CACHE_DATA_MISS);
    outcome.adds = Ticks(old_options, BLOCK_CACHE_DATA_ADD);
    Read(fresh.get(), 0, 520);
    options.statistics->Reset();
    Read(hot.get(), 0, 400);
    outcome.hot = static_cast<int>(Ticks(options, BLOCK_CACHE_HIT));
  }
  for (const char* name : {"-hot", "-fresh", "-old"}) Must(DestroyDB(path + name, options));
  return outcome;
}

std::shared_ptr<Cache> Lru(double high_priority) {
  LRUCacheOptions options;
  options.capacity = 1000 << 10;
  options.num_shard_bits = 0;
  options.high_pri_pool_ratio = high_priority;
  return NewLRUCache(options);
}

std::shared_ptr<Cache> HyperClock(size_t entry) {
  HyperClockCacheOptions options(1000 << 10, entry, 0);
  options.hash_seed = 1;
  return options.MakeSharedCache();
}

template <typename Make>
void Try(const char* name, Make make, int most, const std::string& path) {
  const Outcome nothing = After(Then::kNothing, make(), path), compaction = After(Then::kCompaction, make(), path),
                scan = After(Then::kScan, make(), path);
  printf("  %s: no compaction %d, a compaction %d (%llu hits, %llu misses, %llu added), a scan %d", name, nothing.hot,
         compaction.hot, compaction.hits, compaction.misses, compaction.adds, scan.hot);
  if (ROCKSDB_MAJOR >= 10) {
    const Outcome uncaching = After(Then::kUncaching, make(), path);
    printf(", a compaction with uncaching %d", uncaching.hot);
    Claim(uncaching.hot == 100, "uncaching helps");
  }
  printf("\n");
  Claim(nothing.hot == 100, "a hot set stays");
  Claim(compaction.hot <= most, "what a compaction leaves");
  Claim(compaction.hits == 100 && compaction.misses == 100 && compaction.adds == 0, "what a compaction counts");
  Claim(scan.hot <= most, "what a scan without fill_cache leaves");
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Try("LRU", [] { return Lru(0.5); }, 40, argv[1]);
  Try("LRU, no high-priority pool", [] { return Lru(0); }, 20, argv[1]);
  Try("HyperClock, automatic", [] { return HyperClock(0); }, 85, argv[1]);
  Try("HyperClock, fixed", [] { return HyperClock(4096); }, 85, argv[1]);
  return so ? 0 : 1;
}
EOF

run 8.10.0
run 10.4.2
run 11.8.1
echo "still so"
