#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ours beside RocksDB's caches where flash reads decide. Usage: run.sh MEZZ_REPLAY MEMORY_FOLDER OUT_FOLDER [NAME...]
# MEMORY_FOLDER in /dev/shm, 6 GiB free: databases, modelled flash, the SCM tier's file. MEZZ_REPLAY built against RocksDB
# 11.8.1. TRACES names the folder with the public traces; SAMPLE a file of text that values are cut from (here: the *.cc
# files of RocksDB 11.8.1, sorted by path, one after the other). Runs whose variable is missing are left out and said so.
# Nothing else may run on the machine.
set -euo pipefail
replay=$1 memory=$2 out=$3
shift 3
only=("$@")
mkdir -p "$memory" "$out"

run() {  # NAME DATABASE, then flags
  local name=$1 database=$2
  shift 2
  [[ ${#only[@]} == 0 || " ${only[*]} " == *" $name "* ]] || return 0
  echo "== $name" >&2
  "$replay" --flash=nvme_flash --threads=2 --seed=1 --repeats=5 --scm_path="$memory/tier" --db="$memory/$database" "$@" \
    --json="$out/$name.json" >"$out/$name.txt"
}

raw=hcc,lru,hcc+compressed,lru+compressed
packed=hcc+compressed_lz4,lru+compressed_lz4,hcc+compressed_zstd,lru+compressed_zstd
every=$raw,$packed,tiered,tiered:placeholder,naive_scm,scm_secondary+lru,scm_secondary+hcc,hybrid:dram_first,hybrid+raw
every+=,hybrid,all_dram
few=hcc,hcc+compressed,lru+compressed,hcc+compressed_lz4,lru+compressed_lz4,tiered,hybrid+raw,hybrid,all_dram

production=(--trace=gen:production --keys=400000 --ops=420000 --warmup=0.5 --dram=32M --scm=128M)
run production.none production "${production[@]}" --value_ratio=2 --caches=$every
run production.cxl production "${production[@]}" --value_ratio=2 --caches=$every --model=cxl
run production.optane100 production "${production[@]}" --value_ratio=2 --caches=$every --model=optane100
if [[ -n ${SAMPLE:-} ]]; then
  run text.none text "${production[@]}" --values="$SAMPLE" --caches=hcc,$packed,hybrid+lz4,hybrid+zstd,hybrid,all_dram
else
  echo "text.none left out: no SAMPLE" >&2
fi
run production_lz4.none production_lz4 "${production[@]}" --value_ratio=2 --compression=lz4 \
  --caches=hcc,hcc+compressed_lz4,lru+compressed_lz4,tiered:three_queue,hybrid+image,hybrid+lz4,hybrid,all_dram
if [[ -n ${TRACES:-} ]]; then
  run scarab-recs.none scarab --trace="$TRACES/scarab/scarab-recs.trace.xz" --warmup=0.3 --dram=16M --scm=64M --caches=$few
else
  echo "scarab-recs.none left out: no TRACES" >&2
fi

a=(--trace=gen:uniform --keys=200000 --ops=1000000 --warmup=0.5 --dram=48M --scm=192M)
b=(--trace=gen:zipf --skew=0.99 --keys=500000 --ops=1000000 --warmup=0.5 --dram=32M --scm=128M)
z=(--trace=gen:zipf --skew=0.9 --keys=1000000 --ops=1000000 --warmup=0.5 --dram=64M --scm=256M)
run a.none a "${a[@]}" --caches=$few
run b.none b "${b[@]}" --caches=$few
run b_half.none b_half "${b[@]}" --value_ratio=2 --caches=$few
run zipf.none zipf "${z[@]}" --caches=$few
run zipf_half.none zipf_half "${z[@]}" --value_ratio=2 --caches=$few

# Compactions that run all the time, and what they leave dead in the tier.
puts=(--trace=gen:zipf --skew=0.9 --keys=400000 --ops=1000000 --warmup=0.3 --dram=32M --scm=128M --write_buffer=8M)
dead=hcc+compressed_lz4,lru+compressed_lz4,hybrid+keep_dead,hybrid
run puts10.none puts "${puts[@]}" --value_ratio=2 --put_share=0.1 --caches=$dead
run puts50.none puts "${puts[@]}" --value_ratio=2 --put_share=0.5 --caches=$dead
