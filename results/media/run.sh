#!/usr/bin/env bash
# Several media under one tier: ordered, and striped, beside one medium of the same cost or the same bytes.
#
#   [SEED=1] results/media/run.sh MEZZ_REPLAY MEMORY OUT
#
# MEZZ_REPLAY is built for RocksDB 11.8.1; MEMORY is a folder on tmpfs with 2 GiB to spare; OUT takes NAME.json and NAME.txt.
# Of the same cost: CXL costs 1.18 of DRAM a GB (workloads/plan/prices/2026.yaml), Optane 0.38 (atc21.yaml), so 32 MiB and
# 128 MiB of them cost as much as 73 MiB or 227 MiB of one.
set -euo pipefail
replay=$1 memory=$2 out=$3
mkdir -p "$out" "$memory"

row() {
  local name=$1
  shift
  "$replay" --threads=2 "--seed=${SEED:-1}" --flash=nvme_flash --keys=400000 --dram=32M --value_ratio=2 \
    "--db=$memory/db-$name" "--json=$out/$name.json" "$@" >"$out/$name.txt"
  rm -rf "$memory/db-$name"
}

fast=$memory/fast slow=$memory/slow
ordered=("--scm=32M@$fast>128M@$slow" --model=cxl,optane100
  --caches=hybrid,hybrid+striped,hybrid+last_medium,hybrid+first_medium@32M+73M,hybrid+last_medium@32M+227M)
striped=("--scm=64M@$fast,64M@$slow" --caches=hybrid+first_medium,hybrid)
reads=(--trace=gen:zipf --skew=0.9 --put_share=0.1 --ops=800000 --warmup=0.5 --repeats=5 --write_buffer=8M)
production=(--trace=gen:production --ops=1500000 --warmup=0.5 --repeats=5 --write_buffer=64M)
for name in ${ROWS:-ordered-zipf ordered-production ordered-raw ordered-fits striped-production striped-zipf}; do
  case $name in
    ordered-zipf) row "$name" "${ordered[@]}" "${reads[@]}" ;;
    ordered-production) row "$name" "${ordered[@]}" "${production[@]}" ;;
    ordered-raw) row "$name" "${ordered[@]}" "${production[@]}" --pack=off ;;
    ordered-fits) row "$name" "${ordered[@]}" "${reads[@]}" --scale=2 ;;
    striped-production) row "$name" "${striped[@]}" "${production[@]}" ;;
    striped-zipf) row "$name" "${striped[@]}" "${reads[@]}" ;;
  esac
done
