#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Flash reads with the blocks of deleted files dropped, and without. Usage: run.sh MEZZ_REPLAY MEMORY_FOLDER OUT_FOLDER
# MEMORY_FOLDER in /dev/shm, 3 GiB free. MEZZ_REPLAY built against RocksDB 11.8.1. Reads are counted, not timed.
set -euo pipefail
replay=$1 memory=$2 out=$3
mkdir -p "$memory" "$out"
for seed in 1 2 3; do
  for puts in 50 10; do
    "$replay" --threads=2 --seed=$seed --repeats=5 --scm_path="$memory/tier" --db="$memory/puts" --trace=gen:zipf --skew=0.9 \
      --keys=400000 --ops=1000000 --warmup=0.3 --dram=32M --scm=128M --write_buffer=8M --value_ratio=2 --pack=lz4 \
      --put_share=0.$puts --caches=hybrid+keep_dead,hybrid --json="$out/puts${puts}_$seed.json" >"$out/puts${puts}_$seed.txt"
  done
done
rm -rf "$memory/puts"
