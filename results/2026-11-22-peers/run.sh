#!/usr/bin/env bash
# Every cache that mezz_replay knows, side by side. Usage: run.sh MEZZ_REPLAY WORK_FOLDER SCM_FOLDER OUT_FOLDER [TRACES]
# WORK_FOLDER on a disk that takes direct reads, SCM_FOLDER in /dev/shm or on real SCM, TRACES with scarab-recs.trace.xz.
# MEZZ_REPLAY built against RocksDB 11.8.1; as root, for page_cache's memory group. Nothing else may run on the machine.
set -euo pipefail
replay=$1 work=$2 scm=$3 out=$4 traces=${5:-}
mkdir -p "$work" "$out"

run() {  # name, then flags
  local name=$1
  shift
  echo "== $name" >&2
  "$replay" "$@" --threads=2 --seed=1 --repeats=7 --scm_path="$scm/tier" --json="$out/$name.json" \
    --html="$out/$name.html" >"$out/$name.txt"
}

dram_only=hcc,lru
stock=hcc+compressed,lru+compressed,hcc+compressed_lz4,lru+compressed_lz4,tiered,tiered:placeholder
ours=scm_secondary+lru,scm_secondary+hcc,hybrid:dram_first,hybrid:placeholder,hybrid:adaptive
every=$dram_only,$stock,naive_scm,page_cache,$ours,all_dram

# The quick start's workload, with values that compress to half, so that LZ4 has something to do.
production=(--trace=gen:production --keys=400000 --ops=420000 --warmup=0.5 --value_random=0.5 --dram=32M --scm=128M
  "--db=$work/production")
run production.none "${production[@]}" --caches=$every
run production.optane100 "${production[@]}" --caches=$every --model=optane100
run production.cxl "${production[@]}" --caches=$every --model=cxl
rm -rf "$work/production"

# Blocks that lie compressed on flash: what three_queue's second tier takes.
run production_lz4.none "${production[@]}" --compression=lz4 \
  --caches=hcc,hcc+compressed,tiered,tiered:three_queue,hybrid:adaptive,all_dram
rm -rf "$work/production"

# A real trace, whole.
if [[ -n $traces ]]; then
  run scarab-recs.none "--trace=$traces/scarab-recs.trace.xz" --warmup=0.3 --dram=16M --scm=64M "--db=$work/scarab" \
    --caches=$every
  rm -rf "$work/scarab"
fi
