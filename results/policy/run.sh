#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# traces.csv, packed.csv, generated.csv and loop.csv again, of one program. Deterministic, a minute.
# Usage: MEZZ_TRACES=FOLDER run.sh MEZZ_SIM GENERATED OUT, with SEEDS="1 2 ..." for traces.csv
# GENERATED: prod, z99 and z90 .1.be64 and .2.be64 by gen of results/policy/generated.md, 1.4 million operations each, seeds 1
# and 2; and loop3.be64, 30,720 blocks fourteen times in one order.
set -euo pipefail
sim=$1 generated=$2 out=$3
: "${MEZZ_TRACES:?the folder with arc/, cloudphysics/, scarab/, cache2k/ and lirs/}"
half=$(cd "$(dirname "$0")" && pwd)/half.csv
t=$MEZZ_TRACES
traces=$t/arc/OLTP.lis.zst,$t/arc/P3.lis.zst,$t/arc/P12.lis.zst,$t/cloudphysics/cloudPhysicsIO.csv.zst
traces+=,$t/scarab/scarab-recs.trace.xz,$t/cache2k/orm-busy.trace.xz,$t/cache2k/web07.trace.xz
traces+=,$t/lirs/sprite.trace.gz,$t/lirs/loop.trace.gz,$t/lirs/multi1.trace.gz
mkdir -p "$out"
part=$(mktemp)
append() {  # CSV RUN SEED, then flags: one row a cell, which run and seed in front
  local csv=$1 run=$2 seed=$3
  shift 3
  "$sim" --unit=4096 --dram_cache=hcc --dram_share=0.2 --threads=2 --seed="$seed" "$@" --csv="$part" >/dev/null
  [[ -s $csv ]] || sed -n '1s/^/run,seed,/p' "$part" >"$csv"
  sed "1d;s#^[^,]*/##;s/^/$run,$seed,/" "$part" >>"$csv"
}
rm -f "$out"/{traces,packed,generated,loop}.csv
for seed in ${SEEDS:-1 2 3 4}; do
  append "$out/traces.csv" raw "$seed" --trace="$traces" --policies=adaptive --total=0.01,0.05,0.1,0.25,0.5
done
append "$out/traces.csv" others 1 --trace="$traces" --total=0.01,0.05,0.1,0.25,0.5 \
  --policies=lru,clock,s3_fifo,w_tinylfu,opt,dram_first,scm_first,bidirectional,placeholder,three_queue
for seed in 1 2; do
  append "$out/packed.csv" lz4 "$seed" --trace="$traces" --policies=adaptive --total=0.01,0.05,0.1,0.25,0.5 --pack=lz4 --pack_ratio=2.2
  append "$out/packed.csv" zstd "$seed" --trace="$traces" --policies=adaptive --total=0.01,0.05,0.1,0.25,0.5 --pack=zstd --pack_ratio=3.3
  append "$out/packed.csv" lz4_half "$seed" --trace="$traces" --policies=adaptive --total=0.01,0.05,0.1,0.25,0.5 --pack=lz4 \
    --pack_ratio="$half"
done
for load in prod:158M z99:158M z90:316M; do
  both=$generated/${load%%:*}.1.be64,$generated/${load%%:*}.2.be64
  append "$out/generated.csv" "${load%%:*}.half" 1 --trace="$both" --policies=adaptive,dram_first --total="${load##*:}" --warmup=0.6 \
    --pack=lz4 --pack_ratio=1.92
  append "$out/generated.csv" "${load%%:*}.raw" 1 --trace="$both" --policies=adaptive,dram_first --total="${load##*:}" --warmup=0.6
done
for seed in 1 2 3; do
  append "$out/loop.csv" loop "$seed" --trace="$generated/loop3.be64" --policies=adaptive --total=0.333,0.6,0.9 --warmup=0.3
done
rm -f "$part"
