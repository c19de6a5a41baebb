#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ours beside RocksDB's caches where flash reads decide, all of them warm. Usage: run.sh MEZZ_REPLAY MEMORY_FOLDER OUT_FOLDER [NAME...]
# MEMORY_FOLDER in /dev/shm, 6 GiB free: databases, modelled flash, the SCM tier's file. MEZZ_REPLAY built against RocksDB
# 11.8.1. TRACES names the folder with the public traces; SAMPLE a file of text that values are cut from (here: the *.cc
# files of RocksDB 11.8.1, sorted by path, one after the other). DISK: a folder on a disk, for the rows with real files.
# Runs whose variable is missing are left out and said so. Nothing else may run on the machine.
set -euo pipefail
replay=$1 memory=$2 out=$3
shift 3
only=("$@")
mkdir -p "$memory" "$out"

run() {  # NAME DATABASE, then flags
  local name=$1 database=$2
  shift 2
  [[ ${#only[@]} == 0 || " ${only[*]} " == *" $name "* ]] || return 0
  echo "== $name $(date +%T)" >&2
  "$replay" --threads=2 --seed=1 --repeats=5 --scm_path="$memory/tier" --db="$database" "$@" --json="$out/$name.json" \
    >"$out/$name.txt"
  rm -rf "$database"
}
emulated() {
  local name=$1
  shift
  run "$name" "$memory/database" --flash=nvme_flash "$@"
}

raw=hcc,lru,hcc+compressed,lru+compressed
lz4=hcc+compressed_lz4,lru+compressed_lz4
packed=$lz4,hcc+compressed_zstd,lru+compressed_zstd
every=$raw,$packed,tiered,tiered:placeholder,naive_scm,scm_secondary+lru,scm_secondary+hcc,hybrid:dram_first
every+=,hybrid+raw:dram_first,hybrid+raw,hybrid,all_dram
few=hcc,hcc+compressed,lru+compressed,tiered,hybrid:dram_first,hybrid+raw,hybrid,all_dram
half=hcc,$packed,tiered,hybrid:dram_first,hybrid+raw,hybrid,all_dram

production=(--trace=gen:production --keys=400000 --ops=1400000 --warmup=0.7 --dram=32M --scm=128M --write_buffer=256M)
a=(--trace=gen:uniform --keys=200000 --ops=1400000 --warmup=0.7 --dram=48M --scm=192M)
b=(--trace=gen:zipf --skew=0.99 --keys=500000 --ops=1400000 --warmup=0.7 --dram=32M --scm=128M)
z=(--trace=gen:zipf --skew=0.9 --keys=1000000 --ops=1400000 --warmup=0.7 --dram=64M --scm=256M)

emulated production "${production[@]}" --value_ratio=2 --caches=$every
emulated production.again "${production[@]}" --value_ratio=2 --caches=$lz4,hybrid,all_dram
emulated production.again2 "${production[@]}" --value_ratio=2 --caches=$lz4,hybrid,all_dram
emulated production.cxl "${production[@]}" --value_ratio=2 --caches=$half --model=cxl
emulated production.optane100 "${production[@]}" --value_ratio=2 --caches=$half --model=optane100
emulated production_lz4 "${production[@]}" --value_ratio=2 --compression=lz4 \
  --caches=hcc,$lz4,tiered,tiered:three_queue,hybrid+image,hybrid,all_dram
if [[ -n ${SAMPLE:-} ]]; then
  emulated text "${production[@]}" --values="$SAMPLE" --caches=$half
  emulated text.again "${production[@]}" --values="$SAMPLE" --caches=$packed,hybrid
else
  echo "text left out: no SAMPLE" >&2
fi
if [[ -n ${TRACES:-} ]]; then
  emulated scarab-recs --trace="$TRACES/scarab/scarab-recs.trace.xz" --warmup=0.5 --dram=16M --scm=64M --caches=$few
else
  echo "scarab-recs left out: no TRACES" >&2
fi
emulated a "${a[@]}" --caches=$few
emulated b "${b[@]}" --caches=$few
emulated zipf "${z[@]}" --caches=$few
emulated b_half "${b[@]}" --value_ratio=2 --caches=$half
emulated zipf_half "${z[@]}" --value_ratio=2 --caches=$half
if [[ -n ${DISK:-} ]]; then
  run production.disk "$DISK/database" --flash=disk "${production[@]}" --value_ratio=2 --caches=$lz4,hybrid,all_dram
else
  echo "production.disk left out: no DISK" >&2
fi
