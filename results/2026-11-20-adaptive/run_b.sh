#!/usr/bin/env bash
# Region B of the first issue with the adaptive policy. Usage: run_b.sh MEZZ_REPLAY DATABASE_FOLDER SCM_FILE OUT_FOLDER
# [NAME...]   DATABASE_FOLDER on a disk that takes direct reads; SCM_FILE in /dev/shm or on real SCM. MEZZ_REPLAY built
# against RocksDB 11.8.1. Caches are interleaved window by window, three windows each. Nothing else may run on the
# machine. SECONDS_READ and SECONDS_PUTS in the environment are the seconds of a window (5 and 10).
set -euo pipefail
replay=$1 db=$2 scm=$3 out=$4
shift 4
only=("$@")
mkdir -p "$db" "$out"

run() {  # name, then flags
  local name=$1
  shift
  [[ ${#only[@]} == 0 || " ${only[*]} " == *" $name "* ]] || return 0
  echo "== $name" >&2
  "$replay" "$@" --trace=gen:zipf --skew=0.99 --keys=500000 --dram=32M --scm=128M --threads=2 --seed=1 --repeats=3 \
    --warmup=0.5 --scm_path="$scm" --db="$db/b" --json="$out/$name.json" >"$out/$name.txt" 2>/dev/null ||
    { echo "$name failed" >&2; cat "$out/$name.txt" >&2; }
}

read_seconds=${SECONDS_READ:-5} put_seconds=${SECONDS_PUTS:-10}
ours=hybrid:dram_first,hybrid:adaptive
stock=hcc+compressed,lru+compressed,tiered
run b_none --seconds="$read_seconds" --caches=hcc,$stock,$ours,all_dram
run b_optane100 --seconds="$read_seconds" --model=optane100 --caches=hcc,naive_scm,$ours
# Puts of a tenth of the requests, and a memtable small enough that flushes and compactions run in every window.
puts=(--seconds="$put_seconds" --put_share=0.1 --write_buffer=8M)
run b_puts_optane100 "${puts[@]}" --model=optane100 --caches=$ours
run b_puts_none "${puts[@]}" --caches=hcc,$ours,all_dram
