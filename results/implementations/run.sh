#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Miss ratios of other people's caches beside ours, on public traces; capacities in entries, all of weight 1.
#
#   results/implementations/run.sh TRACES BIN OUT
#
# TRACES has the traces, BIN has mezz_trace and mezz_sim, OUT takes TRACE.csv: name,capacity,miss ratio.
# Needs: cargo, python3 with venv. Builds in a temporary folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
traces=$1 bin=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

cp "$here/Cargo.toml" "$here/main.rs" "$work"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$work/target}
(cd "$work" && cargo build -q --release)
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q libcachesim==0.3.5

for trace in arc/OLTP.lis.zst scarab/scarab-recs.trace.xz lirs/multi1.trace.gz; do
  name=$(basename "${trace%%.*}")
  "$bin/mezz_trace" convert "$traces/$trace" --to=be64 --out="$work/keys" >/dev/null
  "$bin/mezz_trace" convert "$traces/$trace" --to=oracle_general --out="$work/oracle" >/dev/null
  "$bin/mezz_sim" --trace="$traces/$trace" --policies=lru,s3_fifo,w_tinylfu,opt,adaptive \
    --total=0.01,0.1 --csv="$work/ours.csv" >/dev/null
  {
    awk -F, 'NR > 1 {printf "ours %s,%s,%.4f\n", $2, $5, $8}' "$work/ours.csv"
    mapfile -t capacities < <(awk -F, 'NR > 1 {print $5}' "$work/ours.csv" | sort -nu)
    "$CARGO_TARGET_DIR/release/implementations" "$work/keys" "${capacities[@]}"
    "$work/venv/bin/python3" "$here/libcachesim_caches.py" "$work/oracle" "${capacities[@]}"
  } >"$out/$name.csv"
done
