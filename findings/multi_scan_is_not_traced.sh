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
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"
#include "rocksdb/block_cache_trace_writer.h"
#include "rocksdb/multi_scan.h"

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

run 10.4.2
run 11.8.1
echo "still so"
