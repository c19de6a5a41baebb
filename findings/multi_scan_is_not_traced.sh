#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A block-cache trace of RocksDB 11.8.1 has no record of what MultiScan looks up.
#
# Expected: the trace has every access of the block cache, as the comment of BlockCacheTraceWriter says.
# So it is: MultiScan of 11.8.1 looks its data blocks up by a way of its own. Tickers count them, the trace does not.
#   In 10.4.2 it is traced (and reads past its limits: multi_scan_reads_past_limits.sh).
# Seen: 27 November 2026, RocksDB 10.4.2 and 11.8.1:
#   10.4.2: iterator, warm: 4000 keys, 1000 look-ups, 1000 records of the trace
#   10.4.2: MultiScan, warm: 6000 keys, 1500 look-ups, 1500 records of the trace
#   11.8.1: iterator, warm: 4000 keys, 1000 look-ups, 1000 records of the trace
#   11.8.1: MultiScan, warm: 4000 keys, 1000 look-ups, 0 records of the trace
# Why it matters to a cache: a simulator or planner that is fed such a trace sees a service without its scans. Compare
#   the trace's records with the tickers first.
# Needs: mvn, cargo, unzip, g++.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $1 no longer behaves as described above"; exit 1; }

# Library: what RocksJava ships for Linux. Headers: the crate of the same release. ABI: of its std::string.
install_rocksdb() { # RELEASE ARTIFACT CRATE
  local to=$work/$1
  mkdir -p "$to/headers/src"
  mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
    -Dartifact="org.rocksdb:rocksdbjni:$2" -DoutputDirectory="$to" >"$to/log" 2>&1 || { cat "$to/log" >&2; exit 2; }
  unzip -qj "$to"/rocksdbjni-*.jar librocksdbjni-linux64.so -d "$to"
  : >"$to/headers/src/lib.rs"
  printf '%s\n' '[package]' 'name = "headers"' 'version = "0.1.0"' 'edition = "2021"' '[dependencies]' \
    "librocksdb-sys = { version = \"=$3\", default-features = false }" >"$to/headers/Cargo.toml"
  (cd "$to/headers" && CARGO_HOME=$work/cargo cargo fetch -q)
}

run() { # RELEASE ARTIFACT CRATE ABI
  install_rocksdb "$1" "$2" "$3"
  g++ -std=c++20 -O1 -fno-rtti -DNDEBUG -DROCKSDB_PLATFORM_POSIX -DOS_LINUX -D_GLIBCXX_USE_CXX11_ABI="$4" -w \
    -I"$(echo "$work"/cargo/registry/src/*/librocksdb-sys-"$3"+"$1"/rocksdb/include)" "$work/try.cc" -o "$work/try" \
    "$work/$1/librocksdbjni-linux64.so" -Wl,-rpath,"$work/$1" -pthread
  "$work/try" "$work/db-$1" || changed "RocksDB $1"
}

cat >"$work/try.cc" <<'EOF'
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/block_cache_trace_writer.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/multi_scan.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

using namespace rocksdb;

bool so = true;  // as it was seen then

void Claim(bool still, const char* what) {
  if (!still) printf("  not so any more: %s\n", what);
  so = so && still;
}
void Must(const Status& status) {
  if (!status.ok()) exit((fprintf(stderr, "%s\n", status.ToString().c_str()), 2));
}
std::unique_ptr<DB> Open(const Options& options, const std::string& path) {
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<DB> db;
  Must(DB::Open(options, path, &db));
  return db;
#else
  DB* db = nullptr;
  Must(DB::Open(options, path, &db));
  return std::unique_ptr<DB>(db);
#endif
}
Options With(std::shared_ptr<Cache> cache) {
  BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  Options options;
  options.create_if_missing = true;
  options.compression = kNoCompression;
  options.disable_auto_compactions = true;
  options.statistics = CreateDBStatistics();
  options.write_buffer_size = 256 << 20;
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  return options;
}
std::string Key(int i) {
  char key[16];
  snprintf(key, sizeof(key), "key%08d", i);
  return key;
}
void Fill(DB* db, int keys) {  // four make a block of some 4 KiB
  for (int i = 0; i < keys; ++i) {
    Must(db->Put(WriteOptions(), Key(i), std::string(1000, static_cast<char>('a' + i % 26))));
  }
  Must(db->Flush(FlushOptions()));
}
unsigned long long Ticks(const Options& options, Tickers ticker) {
  return options.statistics->getTickerCount(ticker);
}

struct Count : BlockCacheTraceWriter {
  explicit Count(unsigned long long* records) : records(records) {}
  Status WriteBlockAccess(const BlockCacheTraceRecord&, const Slice&, const Slice&, const Slice&) override {
    ++*records;
    return Status::OK();
  }
  Status WriteHeader() override { return Status::OK(); }
  unsigned long long* const records;
};

int Iterate(DB* db) {
  int keys = 0;
  const std::unique_ptr<Iterator> all(db->NewIterator(ReadOptions()));
  for (all->SeekToFirst(); all->Valid(); all->Next()) ++keys;
  return keys;
}
int ScanRanges(DB* db) {  // two ranges: all there is
  const std::string bounds[] = {Key(0), Key(2000), Key(4000)};
  int keys = 0;
#if ROCKSDB_MAJOR >= 11
  MultiScanArgs ranges(BytewiseComparator());
  for (int i = 0; i < 2; ++i) ranges.insert(bounds[i], bounds[i + 1]);
#else
  std::vector<ScanOptions> ranges;
  for (int i = 0; i < 2; ++i) ranges.emplace_back(Slice(bounds[i]), Slice(bounds[i + 1]));
#endif
  const auto scans = db->NewMultiScan(ReadOptions(), db->DefaultColumnFamily(), ranges);
  for (auto scan : *scans) {
    for (auto entry : scan) keys += entry.first.size() != 0;
  }
  return keys;
}

template <class Work>
void Traced(const char* name, DB* db, const Options& options, bool all, Work work) {
  unsigned long long records = 0;
  options.statistics->Reset();
  Must(db->StartBlockCacheTrace(BlockCacheTraceOptions(), std::make_unique<Count>(&records)));
  const int keys = work(db);
  Must(db->EndBlockCacheTrace());
  const auto lookups = Ticks(options, BLOCK_CACHE_HIT) + Ticks(options, BLOCK_CACHE_MISS);
  printf("  %s: %d keys, %llu look-ups, %llu records of the trace\n", name, keys, lookups, records);
  Claim(lookups >= 1000, "look-ups");
  Claim(all ? records == lookups : records == 0, "records of the trace");
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const Options options = With(NewLRUCache(64 << 20, 0));
  const auto db = Open(options, argv[1]);
  Fill(db.get(), 4000);
  Traced("iterator, cold", db.get(), options, true, Iterate);
  Traced("iterator, warm", db.get(), options, true, Iterate);
  Traced("MultiScan, warm", db.get(), options, ROCKSDB_MAJOR < 11, ScanRanges);
  return so ? 0 : 1;
}
EOF

run 10.4.2 10.4.2:jar:linux64 0.17.3 0
run 11.8.1 11.8.1 0.19.0 1
echo "still so"
