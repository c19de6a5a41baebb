#!/usr/bin/env bash
# The runs behind this folder. Usage: run.sh MEZZ_REPLAY DATABASE_FOLDER SCM_FILE OUT_FOLDER [NAME...]
# DATABASE_FOLDER on a disk that takes direct reads; SCM_FILE in /dev/shm or on real SCM; TRACES names the folder with
# the public traces (their runs are left out without it). MEZZ_REPLAY built against RocksDB 11.8.1, for the runs
# named *_78 against Debian's 7.8.
set -euo pipefail
replay=$1 db=$2 scm=$3 out=$4
shift 4
traces=${TRACES:-}

run() {  # name, then flags
  local name=$1
  shift
  [[ ${#only[@]} == 0 || " ${only[*]} " == *" $name "* ]] || return 0
  echo "== $name" >&2
  "$replay" "$@" --threads=2 --seed=1 --scm_path="$scm" --db="$db/${name%%_*}" --json="$out/$name.json" \
    >"$out/$name.txt" 2>/dev/null || { echo "$name failed" >&2; cat "$out/$name.txt" >&2; }
}
only=("$@")

stock=hcc+compressed,lru+compressed,tiered
a=(--trace=gen:uniform --keys=200000 --dram=48M --scm=192M --seconds=2 --repeats=5 --warmup=0.5 --cold_windows=5)
b=(--trace=gen:zipf --skew=0.99 --keys=500000 --dram=32M --scm=128M --seconds=3 --repeats=5 --warmup=0.5)

run a_none "${a[@]}" --caches=hcc,$stock,hybrid,all_dram
run b_none "${b[@]}" --caches=hcc,$stock,hybrid,hybrid:bidirectional,all_dram
run a_optane100 "${a[@]}" --caches=hcc,$stock,naive_scm,hybrid --model=optane100
run a_cxl "${a[@]}" --caches=hcc,$stock,hybrid --model=cxl
run b_optane100 "${b[@]}" --caches=hcc,naive_scm,hybrid --model=optane100
run b_cxl "${b[@]}" --caches=hcc,hybrid --model=cxl
run fits_none --trace=gen:zipf --skew=0.99 --keys=100000 --dram=192M --scm=64M --seconds=2 --repeats=7 --warmup=0.2 \
  --caches=hcc,hybrid,hcc
if [[ -n $traces ]]; then
  run scarab_none --trace="$traces/scarab/scarab-recs.trace.xz" --dram=16M --scm=64M --repeats=5 --warmup=0.3 \
    --caches=hcc,$stock,hybrid,all_dram
  run orm_none --trace="$traces/cache2k/orm-busy.trace.xz" --dram=4M --scm=16M --repeats=5 --warmup=0.3 \
    --caches=hcc,hcc+compressed,lru+compressed,hybrid,all_dram
fi
if ((${#only[@]} > 0)); then
  run a_78 "${a[@]}" --caches=lru,lru+compressed,all_dram_lru,hybrid --dram_cache=lru
  run b_78 "${b[@]}" --caches=lru,lru+compressed,all_dram_lru,hybrid --dram_cache=lru
fi
