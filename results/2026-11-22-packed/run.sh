#!/usr/bin/env bash
# Packed records beside raw ones and beside RocksDB's compressing second tiers. Usage: run.sh MEZZ_REPLAY WORK_FOLDER
# SCM_FOLDER OUT_FOLDER. WORK_FOLDER on a disk that takes direct reads, SCM_FOLDER in /dev/shm or on real SCM. MEZZ_REPLAY
# built against RocksDB 11.8.1. Nothing else may run on the machine.
set -euo pipefail
replay=$1 work=$2 scm=$3 out=$4
mkdir -p "$work" "$out"
"$replay" --trace=gen:production --keys=400000 --ops=420000 --warmup=0.5 --value_random=0.5 --dram=32M --scm=128M \
  --db="$work/production" --threads=2 --seed=1 --repeats=5 --scm_path="$scm/tier" \
  --caches=hcc,hcc+compressed_lz4,lru+compressed_lz4,tiered,hybrid+raw,hybrid+lz4,hybrid+zstd,all_dram \
  --json="$out/production.none.json" >"$out/production.none.txt"
rm -rf "$work/production"
