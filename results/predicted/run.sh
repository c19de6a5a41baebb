#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What mezz_plan predicts beside what mezz_replay measures. Usage: run.sh STEP BIN DB_BENCH MEMORY_FOLDER OUT_FOLDER [NAME...]
# STEP prepare (the databases, the traces, their curves), measure (some 20 minutes, nothing else may run), predict, or all.
# BIN holds mezz_replay and mezz_plan, built for release against RocksDB 11.8.1, which DB_BENCH is of. MEMORY_FOLDER in
# /dev/shm, 4 GiB free. MEZZ_TRACES names the folder of the public traces; without it scarab is left out.
set -euo pipefail
step=$1 bin=$2 db_bench=$3 memory=$4 out=$5
shift 5
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=(zipf packed scarab query production)
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$memory" "$out"

# Costs are fitted to these, without a medium's model; none of them is predicted.
calibrated=hcc@16M,hcc@256M,hybrid+raw@16M+192M,hybrid+raw@96M+48M
held_dram=hcc@48M,hcc@96M,hcc@160M
held_scm=OURS@24M+96M,OURS@32M+160M,OURS@48M+128M
held_sizes=48M,96M,160M,24M+96M,32M+160M,48M+128M

flags_of() {  # NAME: sets flags, pack, ours
  pack=(--pack=off) ours=hybrid+raw
  case $1 in
    zipf) flags=(--trace=gen:zipf --skew=0.9 --keys=400000 --ops=500000) ;;
    packed)
      flags=(--trace=gen:zipf --skew=0.7 --keys=400000 --ops=400000 --value_ratio=2)
      pack=(--pack=lz4 --pack_ratio=2) ours=hybrid+lz4 ;;
    production)  # packed records, and scans
      flags=(--trace=gen:production --keys=400000 --ops=500000 --value_ratio=2)
      pack=(--pack=lz4 --pack_ratio=2) ours=hybrid+lz4 ;;
    scarab) flags=(--trace="${MEZZ_TRACES:?}/scarab/scarab-recs.trace.xz" --ops=600000) ;;
    query) flags=(--trace="$memory/query.trace") ;;
    *) echo "$1 is none of zipf, packed, scarab, query, production" >&2; exit 2 ;;
  esac
  flags+=(--warmup=0.5 --threads=2 --seed=1 --db="$memory/$1" --scm_path="$memory/tier")
}

record_queries() {  # of a database, as its operator would
  [[ ! -e $memory/query.trace ]] || return 0
  local bench=("$db_bench" --db="$memory/recorded" --num=800000 --value_size=1000 --compression_type=none --seed=1)
  "${bench[@]}" --benchmarks=fillseq,compact >"$memory/recorded.txt" 2>&1
  "${bench[@]}" --use_existing_db --benchmarks=readrandom --reads=500000 --read_random_exp_range=6 \
    --trace_file="$memory/query.trace" >>"$memory/recorded.txt" 2>&1
  rm -rf "$memory/recorded"
}

prepare() {
  [[ $1 != query ]] || record_queries
  flags_of "$1"
  rm -f "$memory/$1.blocks"
  "$bin/mezz_replay" "${flags[@]}" --flash=optane_ssd --caches=hcc@256M --repeats=1 --block_trace="$memory/$1.blocks"
  # Sizes about which is asked, as a planner knows them; ours has less DRAM for blocks than it is given, so some beneath.
  "$bin/mezz_plan" curve "$memory/$1.blocks" --warmup=0.5 --exact --scm=0,48M,96M,128M,160M,192M \
    --dram=8M,16M,20M,24M,28M,32M,40M,48M,64M,96M,128M,160M,256M "${pack[@]}" --out="$out/$1.curve"
}

measure() {
  flags_of "$1"
  local timed=(--flash=nvme_flash --repeats=4)
  "$bin/mezz_replay" "${flags[@]}" "${timed[@]}" --caches=$calibrated --json="$out/$1.calibrated.json"
  "$bin/mezz_replay" "${flags[@]}" "${timed[@]}" --caches="$held_dram,${held_scm//OURS/$ours}" --json="$out/$1.none.json"
  for model in optane100 cxl; do
    "$bin/mezz_replay" "${flags[@]}" "${timed[@]}" --caches="${held_scm//OURS/$ours}" --model=$model --json="$out/$1.$model.json"
  done
}

predict() {
  "$bin/mezz_plan" calibrate "$out/$1.calibrated.json" --out="$out/$1.calibration" | tee "$out/$1.predicted.txt"
  for model in none optane100 cxl; do
    "$bin/mezz_plan" predict "$out/$1.curve" --sizes=$held_sizes --calibration="$out/$1.calibration" --model=$model \
      --emulated --flash=nvme_flash --threads=2 --cores=2 --json="$out/$1.$model.predicted.json"
  done | tee -a "$out/$1.predicted.txt"
}

for name in "${names[@]}"; do
  if [[ $name == scarab && -z ${MEZZ_TRACES:-} ]]; then
    echo "scarab left out: no MEZZ_TRACES" >&2
    continue
  fi
  echo "== $step $name" >&2
  case $step in
    prepare | measure | predict) $step "$name" ;;
    all) prepare "$name"; measure "$name"; predict "$name" ;;
    *) echo "STEP is prepare, measure, predict or all, not $step" >&2; exit 2 ;;
  esac
done
[[ $step == prepare || $step == measure ]] || "$here/table.py" "$out" "${names[@]}"
