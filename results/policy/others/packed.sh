#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The CSVs again, from the public traces in $MEZZ_TRACES. Deterministic, some minutes. variants.csv and the rows "before" come
# from programs whose rules could be set from outside.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${MEZZ_TRACES:?the folder with arc/, cloudphysics/, scarab/, cache2k/ and lirs/}"
sim=${MEZZ_SIM:-build/release/bin/mezz_sim}
out=${OUT:-results/policy/others}
t=$MEZZ_TRACES
traces=$t/arc/OLTP.lis.zst,$t/arc/P3.lis.zst,$t/arc/P12.lis.zst,$t/cloudphysics/cloudPhysicsIO.csv.zst
traces+=,$t/scarab/scarab-recs.trace.xz,$t/cache2k/orm-busy.trace.xz,$t/cache2k/web07.trace.xz
traces+=,$t/lirs/sprite.trace.gz,$t/lirs/loop.trace.gz,$t/lirs/multi1.trace.gz
run() {  # NAME POLICIES, then flags
  local name=$1 policies=$2
  shift 2
  "$sim" --trace="$traces" --policies="$policies" --total=0.01,0.05,0.1,0.25,0.5 --dram_share=0.2 --unit=4096 \
    --dram_cache=hcc --threads="${THREADS:-2}" --seed=1 --csv="$out/$name.csv" "$@" > /dev/null
}
run raw lru,opt,adaptive
run lz4 adaptive --pack=lz4 --pack_ratio=2.2
run zstd adaptive --pack=zstd --pack_ratio=3.3
run lz4_half adaptive --pack=lz4 --pack_ratio="$out/half.csv"
run zstd_half adaptive --pack=zstd --pack_ratio="$out/half.csv"
