#!/usr/bin/env bash
# Five loads that write: a live cache, recorded with the parents of its blocks, and the same simulated.
#
#   [SEEDS="1"] [LOADS="z50 z10 mes pro4 ya"] results/written-sim/run.sh MEZZ_REPLAY MEZZ_SIM MEMORY OUT
#
# MEZZ_REPLAY is built for RocksDB 11.8.1; MEMORY is a folder on tmpfs with 2 GiB to spare; OUT takes rows.csv, and of
# each run the report and both simulations.
set -euo pipefail
here=$(dirname "$0") replay=$1 sim=$2 memory=$3 out=$4
mkdir -p "$out" "$memory"

run() {
  local load=$1 name=$1-$seed recording=$memory/$1-$seed.csv
  shift
  rm -f "$recording"
  "$replay" --threads=2 "--seed=$seed" --repeats=1 --flash=nvme_flash --keys=400000 --ops=800000 --warmup=0.5 \
    --dram=32M --scm=128M --value_ratio=2 --caches=hybrid+lz4 "--scm_path=$memory/tier" "--db=$memory/db-$load" \
    "--lineage_trace=$recording" "--json=$out/$name.json" "$@" >"$out/$name.txt"
  "$here/compare.py" "$sim" "$recording" "$out" "$name" >>"$out/rows.csv"
  rm -f "$recording"
}

echo "load,seed,live,with_parents,as_new_blocks,live_flash_reads,flash_reads_with_parents,flash_reads_as_new_blocks" >"$out/rows.csv"
for load in ${LOADS:-z50 z10 mes pro4 ya}; do
  for seed in ${SEEDS:-1}; do
    case $load in
      z50) run z50 --trace=gen:zipf --skew=0.9 --put_share=0.5 --write_buffer=8M ;;
      z10) run z10 --trace=gen:zipf --skew=0.9 --put_share=0.1 --write_buffer=8M ;;
      mes) run mes --trace=gen:messaging --write_buffer=4M ;;
      pro4) run pro4 --trace=gen:production --write_buffer=4M ;;
      ya) run ya --trace=gen:ycsb_a --write_buffer=4M ;;
    esac
  done
  rm -rf "$memory/db-$load"
done
