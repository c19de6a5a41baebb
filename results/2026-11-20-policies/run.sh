#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tables of summary.md again, from the public traces in $MEZZ_TRACES. Deterministic: the figures come out as they
# stand, the speeds do not. About a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${MEZZ_TRACES:?the folder with arc/, cloudphysics/, scarab/, cache2k/ and lirs/}"
sim=${MEZZ_SIM:-build/release/bin/mezz_sim}
out=${OUT:-results/2026-11-20-policies}
json=$(mktemp -d)
t=$MEZZ_TRACES
traces=$t/arc/OLTP.lis.zst,$t/arc/P3.lis.zst,$t/arc/P12.lis.zst,$t/cloudphysics/cloudPhysicsIO.csv.zst
traces+=,$t/scarab/scarab-recs.trace.xz,$t/cache2k/orm-busy.trace.xz,$t/cache2k/web07.trace.xz
traces+=,$t/lirs/sprite.trace.gz,$t/lirs/loop.trace.gz,$t/lirs/multi1.trace.gz
policies=lru,clock,s3_fifo,w_tinylfu,opt,adaptive,dram_first,scm_first,bidirectional,placeholder,three_queue

# name, arguments
simulate() {
  local name=$1
  shift
  "$sim" --trace="$traces" --policies=$policies --total=0.01,0.05,0.1,0.25 --dram_share=0.2 --unit=4096 \
    --threads="${THREADS:-2}" --csv="$out/$name.csv" --json="$json/$name.json" "$@" > /dev/null
  echo "## $name ($*)"
  echo
  tools/policies.py "$json/$name.json"
  echo
}

{
  simulate lru --dram_cache=lru --high_priority_pool=0
  simulate stock_lru --dram_cache=lru
  simulate hcc --dram_cache=hcc
} > "$out/tables.md"
# Uniform access to data that just fits DRAM + SCM: 52,000 blocks of 4,071 bytes.
python3 -c 'import random; r = random.Random(1); print("\n".join(str(r.randrange(52000)) for _ in range(2000000)))' \
  > "$json/uniform.keys"
"$sim" --trace="$json/uniform.keys" --policies=adaptive,dram_first,bidirectional,lru --sizes=bytes --unit=4071 \
  --total=240M --dram_share=0.2 --dram_cache=hcc --dram_shards=16 --warmup=0.5 --csv="$out/uniform.csv" > /dev/null
# The curves, where matplotlib is installed (tools/install_deps plot).
tools/plot.py "$json/hcc.json" --out="$json" --policies=lru,s3_fifo,opt,dram_first,bidirectional,placeholder,adaptive
for trace in P12.lis.zst scarab-recs.trace.xz multi1.trace.gz; do
  cp "$json/$trace.miss.svg" "$out/${trace%%.*}.svg"
done
