#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# RocksDB's own tools on one side, our reader and writer on the other: db_bench replays the trace that WRITER wrote, and
# READER counts in db_bench's recordings what db_bench did. Usage: db_bench_traces.sh DB_BENCH TOOL.
set -euo pipefail
db_bench=$1 tool=$2
command -v "$db_bench" >/dev/null || { echo "SKIPPED: there is no db_bench ($db_bench)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keys=20000 reads=5000
on_db=(--db="$work/db" --use_existing_db)
common=(--num=$keys --key_size=16 --value_size=100 --compression_type=none --seed=1)
"$db_bench" --db="$work/db" "${common[@]}" --benchmarks=fillseq >"$work/fill.log" 2>&1

fail() {
  echo "FAILED: $*"
  for log in "$work"/*.log; do tail -n 20 "$log"; done
  exit 1
}

"$tool" write gen:ycsb_a $keys 3000 "$work/ours" || fail "writing a trace"
# Without a second column family db_bench of 7.8 hands the replayer no handle at all, which its assertions refuse.
cp -r "$work/db" "$work/db2"
"$db_bench" --db="$work/db2" "${common[@]}" --num_column_families=2 --use_existing_db --benchmarks=replay \
  --trace_file="$work/ours" --statistics \
  >"$work/replay.log" 2>&1 || fail "db_bench does not replay our trace"
grep -q "Replay completed" "$work/replay.log" || fail "db_bench did not complete our trace"
"$tool" count "$work/ours" >"$work/ours.count"
puts=$(awk '$1 == "put" {print $2}' "$work/ours.count")
written=$(awk '$1 == "rocksdb.number.keys.written" {print $4}' "$work/replay.log")
gets=$(awk '$1 == "get" {print $2}' "$work/ours.count")
read_keys=$(awk '$1 == "rocksdb.number.keys.read" {print $4}' "$work/replay.log")
[[ $puts == "$written" && $gets == "$read_keys" ]] ||
  fail "we wrote $puts puts and $gets gets; db_bench did $written and $read_keys"
found=$(awk '$1 == "rocksdb.bytes.read" {print $4}' "$work/replay.log")
((found > 0)) || fail "db_bench found none of our keys in its own database"

"$db_bench" "${on_db[@]}" "${common[@]}" --benchmarks=readrandom --reads=$reads \
  --trace_file="$work/query" --block_cache_trace_file="$work/block" >"$work/record.log" 2>&1
[[ $("$tool" count "$work/query") == "get $reads" ]] ||
  fail "a recording of $reads gets: $("$tool" count "$work/query")"
"$tool" count "$work/block" | grep -q '^get [1-9]' || fail "the block-cache trace holds nothing"

"$db_bench" "${on_db[@]}" "${common[@]}" --benchmarks=mixgraph --reads=$reads --mix_get_ratio=0.83 \
  --mix_put_ratio=0.14 --mix_seek_ratio=0.03 --trace_file="$work/mix" >"$work/mix.log" 2>&1
expected=$(
  sed -nE 's/.*\( Gets:([0-9]+) Puts:([0-9]+) Seek:([0-9]+).*/get \1 put \2 seek \3/p' "$work/mix.log"
)
counted=$("$tool" count "$work/mix" | tr '\n' ' ' | sed 's/ $//')
[[ -n $expected && $counted == "$expected" ]] || fail "mixgraph did \"$expected\"; its trace holds \"$counted\""
echo "OK: $(cat "$work/ours.count" | tr '\n' ' '), $counted"
