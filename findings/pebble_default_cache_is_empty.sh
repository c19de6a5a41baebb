#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pebble's default block cache holds no block at all once its memtables have grown, and none until the next start.
#
# Expected: Options.Cache and CacheSize tell of a cache for blocks of 8 MB, MemTableSize of memtables of 4 MB, and
#   nothing of one in the other. So blocks of less than 8 MB that are read again are hits.
# So it is: each memtable takes its size out of the block cache. There are two of them, the one that is written and one
#   that is kept for reuse, so the defaults of 8 MB and 4 MB leave nothing, not even for index blocks. Memtables begin
#   with 256 KiB and double, so the cache is as large as it is said to be at first, and again after each open. MaxSize
#   and the metrics of the cache show none of this; MemTable.Size and ZombieSize do.
# Seen: 29 November 2026, Pebble 1.1.5 and 2.1.7, 4 MB in values of 1000 bytes, 200 of them read twice; of 2.1.7:
#   default options
#     after the first 0.2 MB: 400 hits and 0 misses, 51 blocks held; memtables 0.50 + 0.25 MiB
#     after 8.2 MB: 0 hits and 600 misses, 0 blocks held; memtables 4.00 + 4.00 MiB
#     opened again: 600 hits and 0 misses, 209 blocks held; memtables 0.50 + 0.25 MiB
#   a cache of 16 MiB, after 8.2 MB: 600 hits and 0 misses, 209 blocks held; memtables 4.00 + 4.00 MiB
#   memtables of 1 MiB, after 8.2 MB: 600 hits and 0 misses, 212 blocks held; memtables 1.00 + 1.00 MiB
# Why it matters to a cache: a load that was tried on a fresh database has a hit ratio of 1, and the same load has 0 in
#   production. The room for blocks is what is given less two memtables of each database that shares it.
# Needs: go 1.24 or later.
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

cat >"$work/try.go" <<'EOF'
package main

import (
  "fmt"
  "math/rand"
  "time"

  "MODULE"
  "MODULE/vfs"
)

type quiet struct{}

func (quiet) Infof(string, ...interface{})  {}
func (quiet) Errorf(string, ...interface{}) {}
func (quiet) Fatalf(what string, of ...interface{}) {
  panic(fmt.Sprintf(what, of...))
}

func must(err error) {
  if err != nil {
    panic(err)
  }
}

func key(i int) []byte { return []byte(fmt.Sprintf("key%08d", i)) }

// All 4000 values are written, and flushed.
func write(db *pebble.DB) {
  random, value := rand.New(rand.NewSource(1)), make([]byte, 1000)
  for i := 0; i < 4000; i++ {
    random.Read(value)
    must(db.Set(key(i), value, pebble.NoSync))
  }
  must(db.Flush())
}

// Reads 200 values, and those again. Returns whether these were all hits, and whether none was.
func read(db *pebble.DB, when string) (all, none bool) {
  for quiet := 0; quiet < 30; quiet++ {  // a compaction may begin a little later
    time.Sleep(10 * time.Millisecond)
    if m := db.Metrics(); m.Compact.NumInProgress > 0 || m.Flush.NumInProgress > 0 {
      quiet = 0
    }
  }
  var before, after *pebble.Metrics
  for pass := 0; pass < 2; pass++ {
    before = db.Metrics()
    for i := 0; i < 4000; i += 20 {
      _, closer, err := db.Get(key(i))
      must(err)
      must(closer.Close())
    }
    after = db.Metrics()
  }
  hits, misses := after.BlockCache.Hits-before.BlockCache.Hits, after.BlockCache.Misses-before.BlockCache.Misses
  fmt.Printf("    %s: %d hits and %d misses, %d blocks held; memtables %.2f + %.2f MiB\n", when, hits, misses,
    after.BlockCache.Count, float64(after.MemTable.Size)/(1<<20), float64(after.MemTable.ZombieSize)/(1<<20))
  return hits > 200 && misses == 0, hits == 0 && misses > 200 && after.BlockCache.Count == 0
}

func try(name string, options *pebble.Options, holds bool) {
  options.FS, options.Logger = vfs.NewMem(), quiet{}
  fmt.Printf("  %s\n", name)
  db, err := pebble.Open("db", options)
  must(err)
  for i := 0; i < 200; i++ {
    must(db.Set(key(20*i), make([]byte, 1000), pebble.NoSync))
  }
  must(db.Flush())
  all, _ := read(db, "after the first 0.2 MB")
  claim(all, "a new database has its cache")
  write(db)
  write(db)
  all, none := read(db, "after 8.2 MB")
  claim(all == holds && none == !holds, "what memtables leave")
  must(db.Close())
  db, err = pebble.Open("db", options)
  must(err)
  all, _ = read(db, "opened again")
  claim(all, "a database that is opened again has its cache")
  must(db.Close())
}

func main() {
  try("default options", &pebble.Options{}, false)
  try("a cache of 16 MiB", &pebble.Options{Cache: pebble.NewCache(16 << 20)}, true)
  try("memtables of 1 MiB", &pebble.Options{MemTableSize: 1 << 20}, true)
  end()
}
EOF

run_go github.com/cockroachdb/pebble v1.1.5 CGO_ENABLED=0
run_go github.com/cockroachdb/pebble/v2 v2.1.7 CGO_ENABLED=0
echo "still so"
