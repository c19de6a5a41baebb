#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The live curves of mezz_replay, and the exact curve of the same requests at the same sizes. Counts only; some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${MEZZ_TRACES:?the folder with arc/, cache2k/ and lirs/}"
bin=${MEZZ_BIN:-build/release/bin}
out=${OUT:-results/planner/live-curve}
table=results/planner/live-curve/table.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {  # NAME TRACE UNIT DRAM SCM OPS POLICY
  local trace=$MEZZ_TRACES/$2 live=$work/$1.curve
  "$bin/mezz_replay" --mode=block --trace="$trace" --unit="$3" --sizes=unit --dram="$4" --scm="$5" --ops="$6" \
    --caches="hybrid:$7" --pack=off --medium=anon --threads=1 --repeats=2 --db="$work/db" \
    --curve_file="$live" --curve_rate=1 > /dev/null
  rm -rf "$work/db"
  $table grid "$live" > "$work/grid"
  # shellcheck disable=SC2046
  "$bin/mezz_plan" curve "$trace" --unit="$3" --policy="$7" --exact --warmup=0.5 $(cat "$work/grid") \
    --out="$work/$1.exact" > /dev/null
  $table rows "$1" "$live" "$work/$1.exact" >> "$out/points.csv"
}
$table header > "$out/points.csv"
run oltp arc/OLTP.lis.zst 2048 24M 64M 0 adaptive
run p3 arc/P3.lis.zst 4096 24M 64M 0 adaptive
run web07 cache2k/web07.trace.xz 4096 14M 16M 0 adaptive
run sprite lirs/sprite.trace.gz 4096 12M 6M 0 adaptive
$table tables "$out/points.csv" | tee "$out/tables.md"
