#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The CSVs and the table again, from the public traces in $MEZZ_TRACES. Deterministic, some minutes.
# DRAM : SCM is 1 : 8, the 32-256 server of the paper; dram_only has the ninth that is DRAM.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${MEZZ_TRACES:?the folder with arc/, cloudphysics/, scarab/, cache2k/ and lirs/}"
sim=${MEZZ_SIM:-build/release/bin/mezz_sim}
out=${OUT:-results/planner/alternatives}
t=$MEZZ_TRACES
traces=$t/arc/OLTP.lis.zst,$t/arc/P3.lis.zst,$t/arc/P12.lis.zst,$t/cloudphysics/cloudPhysicsIO.csv.zst
traces+=,$t/scarab/scarab-recs.trace.xz,$t/cache2k/orm-busy.trace.xz,$t/cache2k/web07.trace.xz
policies=dram_only,memory_mode,naive_scm,dram_first,scm_first,bidirectional,adaptive
others=compressed,page_cache,inline_memory
run() {  # NAME CACHE POLICIES TOTALS WARMUP
  "$sim" --trace="$traces" --policies="$3" --total="$4" --dram_share=0.1111 --unit=4096 --dram_cache="$2" --warmup="$5" \
    --threads="${THREADS:-2}" --seed=1 --csv="$out/$1.csv" > /dev/null
}
for cache in hcc lru; do
  run $cache $cache $policies,$others 0.02,0.05,0.1,0.25 0.2
  # Nearly all fits, and half of the trace has filled it: what is left is where a hit is found.
  run ${cache}_nearly_all $cache dram_only,memory_mode,naive_scm,dram_first,adaptive 0.99 0.5
done
for name in hcc lru hcc_nearly_all lru_nearly_all; do python3 results/planner/alternatives/table.py "$out/$name.csv"; done
