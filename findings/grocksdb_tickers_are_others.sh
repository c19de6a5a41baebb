#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# In grocksdb most tickers are others than their names say: GET_HIT_L0 is RocksDB's hits in a second tier.
#
# Expected: GetTickerCount(TickerType_X) is RocksDB's ticker X, in the release that grocksdb says it is for (1.11.1:
#   RocksDB 11.1.2, which its build.sh fetches).
# So it is: the names are numbered as in a RocksDB of years ago. The first 18, most of the block cache's, are right.
#   Those behind them are off, as RocksDB put new ones among them, and so are the later histograms. No error tells it:
#   a ticker of another name is read, most often one that is 0. GetStatisticsString is right. Reported for 1.9.3
#   (issue 162 of grocksdb, open since 2024).
# Seen: 29 November 2026, grocksdb 1.11.1 over RocksDB 11.1.2: 1000 keys put, 900 read:
#   BLOCK_CACHE_HIT: 229, which is rocksdb.block.cache.hit; rocksdb.block.cache.hit is 229
#   BLOCK_CACHE_DATA_ADD: 79, which is rocksdb.block.cache.data.add; rocksdb.block.cache.data.add is 79
#   BLOOM_FILTER_USEFUL: 0, which is rocksdb.block.cache.compression.dict.miss; rocksdb.bloom.filter.useful is 494
#   MEMTABLE_HIT: 0, which is rocksdb.block.cache.data.add.redundant; rocksdb.memtable.hit is 100
#   GET_HIT_L0: 0, which is rocksdb.secondary.cache.hits; rocksdb.l0.hit is 300
#   NUMBER_KEYS_WRITTEN: 300, which is rocksdb.bloom.filter.full.true.positive; rocksdb.number.keys.written is 1000
#   SECONDARY_CACHE_HITS: 0, which is rocksdb.blobdb.cache.add; rocksdb.secondary.cache.hits is 0
#   sum of the histogram BYTES_PER_READ is that of the bytes read (400000): false
# Why it matters to a cache: hits of memtable, filter, level and second tier are what a dashboard in Go sets beside the
#   block cache's, and they are of something else. Read the text, or take numbers from statistics.h.
# Needs: go 1.24 or later, gcc, mvn, unzip.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

cat >"$work/try.go" <<'EOF'
package main

import (
  "fmt"
  "os"
  "strings"

  "MODULE"
)

func must(err error) {
  if err != nil {
    panic(err)
  }
}

// RocksDB's own text has a line for each ticker, in the order of their numbers, and then one for each histogram.
func tickers(options *grocksdb.Options) (names []string, counts map[string]uint64) {
  counts = map[string]uint64{}
  for _, line := range strings.Split(options.GetStatisticsString(), "\n") {
    var name string
    var count uint64
    if n, _ := fmt.Sscanf(line, "%s COUNT : %d", &name, &count); n == 2 {
      names, counts[name] = append(names, name), count
    }
  }
  return names, counts
}

func main() {
  table := grocksdb.NewDefaultBlockBasedTableOptions()
  table.SetFilterPolicy(grocksdb.NewBloomFilterFull(10))
  options := grocksdb.NewDefaultOptions()
  options.SetCreateIfMissing(true)
  options.SetCompression(grocksdb.NoCompression)
  options.SetBlockBasedTableFactory(table)
  options.EnableStatistics()
  folder, err := os.MkdirTemp("", "")
  must(err)
  defer os.RemoveAll(folder)
  db, err := grocksdb.OpenDb(options, folder)
  must(err)

  write, read := grocksdb.NewDefaultWriteOptions(), grocksdb.NewDefaultReadOptions()
  key := func(i int) []byte { return []byte(fmt.Sprintf("key%08d", i)) }
  get := func(from, to int) {
    for i := from; i < to; i += 2 {
      value, err := db.Get(read, key(i))
      must(err)
      value.Free()
    }
  }
  for i := 0; i < 2000; i += 2 {
    must(db.Put(write, key(i), make([]byte, 1000)))
  }
  get(0, 200) // 100 from the memtable
  must(db.Flush(grocksdb.NewDefaultFlushOptions()))
  get(0, 600)  // 300 from a file
  get(1, 1001) // 500 that are not there

  names, counts := tickers(options)
  for _, one := range []struct {
    name, text string
    number     grocksdb.TickerType
    right      bool
  }{
    {"BLOCK_CACHE_HIT", "rocksdb.block.cache.hit", grocksdb.TickerType_BLOCK_CACHE_HIT, true},
    {"BLOCK_CACHE_DATA_ADD", "rocksdb.block.cache.data.add", grocksdb.TickerType_BLOCK_CACHE_DATA_ADD, true},
    {"BLOOM_FILTER_USEFUL", "rocksdb.bloom.filter.useful", grocksdb.TickerType_BLOOM_FILTER_USEFUL, false},
    {"MEMTABLE_HIT", "rocksdb.memtable.hit", grocksdb.TickerType_MEMTABLE_HIT, false},
    {"GET_HIT_L0", "rocksdb.l0.hit", grocksdb.TickerType_GET_HIT_L0, false},
    {"NUMBER_KEYS_WRITTEN", "rocksdb.number.keys.written", grocksdb.TickerType_NUMBER_KEYS_WRITTEN, false},
    {"SECONDARY_CACHE_HITS", "rocksdb.secondary.cache.hits", grocksdb.TickerType_SECONDARY_CACHE_HITS, false},
  } {
    said := options.GetTickerCount(one.number)
    fmt.Printf("  %s: %d, which is %s; %s is %d\n", one.name, said, names[one.number], one.text, counts[one.text])
    claim((names[one.number] == one.text) == one.right && said == counts[names[one.number]], one.name)
  }
  bytes := counts["rocksdb.bytes.read"]
  same := options.GetHistogramData(grocksdb.HistogramType_BYTES_PER_READ).Sum == bytes
  fmt.Printf("  sum of the histogram BYTES_PER_READ is that of the bytes read (%d): %v\n", bytes, same)
  claim(!same && bytes == 400000, "a histogram")
  db.Close()
  end()
}
EOF

module=github.com/linxGnu/grocksdb version=v1.11.1
rocksdbjni 11.1.2 "$work/jar"
unzip -qj "$work"/jar/rocksdbjni-11.1.2.jar librocksdbjni-linux64.so -d "$work"
# The module has a copy of RocksDB's header, under another name than it includes.
(cd "$work" && go mod download "$module@$version")
mkdir -p "$work/include/rocksdb"
cp "$work/gopath/pkg/mod/github.com/linx!gnu/grocksdb@$version/c.h" "$work/include/rocksdb/"
run_go "$module" "$version" GOFLAGS="$GOFLAGS -tags=grocksdb_no_link" CGO_CFLAGS="-I$work/include" \
  CGO_LDFLAGS="$work/librocksdbjni-linux64.so -Wl,-rpath,$work"
echo "still so"
