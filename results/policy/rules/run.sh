#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rules.csv and tables.md again, from the public traces in $MEZZ_TRACES. Deterministic, about a minute.
# Programs of other commits: before.csv (POLICIES=adaptive NAME=before) and promotion_feedback.csv, by the commits that brought
# them; variants.csv by one whose constants could be set from outside. seeds.csv: SEED=1 to 4, POLICIES=adaptive.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${MEZZ_TRACES:?the folder with arc/, cloudphysics/, scarab/, cache2k/ and lirs/}"
sim=${MEZZ_SIM:-build/release/bin/mezz_sim}
out=${OUT:-results/policy/rules}
name=${NAME:-rules}
json=$(mktemp)
t=$MEZZ_TRACES
traces=$t/arc/OLTP.lis.zst,$t/arc/P3.lis.zst,$t/arc/P12.lis.zst,$t/cloudphysics/cloudPhysicsIO.csv.zst
traces+=,$t/scarab/scarab-recs.trace.xz,$t/cache2k/orm-busy.trace.xz,$t/cache2k/web07.trace.xz
traces+=,$t/lirs/sprite.trace.gz,$t/lirs/loop.trace.gz,$t/lirs/multi1.trace.gz
policies=${POLICIES:-lru,clock,s3_fifo,w_tinylfu,opt,adaptive,dram_first,scm_first,bidirectional,placeholder,three_queue}
"$sim" --trace="$traces" --policies="$policies" --total=0.01,0.05,0.1,0.25 --dram_share=0.2 --unit=4096 \
  --dram_cache=hcc --threads=2 --seed="${SEED:-1}" --csv="$out/$name.csv" --json="$json" > /dev/null
if [[ -z ${POLICIES:-} ]]; then tools/policies.py "$json" > "$out/tables.md"; fi
