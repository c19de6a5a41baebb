#!/usr/bin/env bash
# The rows of README's first table, and of summary.md: databases that are flushed and compacted while they are measured.
#
#   [SEED=1] [ROWS="text text3 pro64 pro64x3 z50 z10 mes pro4 ya"] [CACHES=...] results/written/run.sh MEZZ_REPLAY MEMORY OUT
#
# MEZZ_REPLAY is built for RocksDB 11.8.1; MEMORY is a folder on tmpfs with 2 GiB to spare; OUT takes ROW.json and ROW.txt.
# CACHES replaces those of the last five rows.
set -euo pipefail
replay=$1 memory=$2 out=$3
mkdir -p "$out" "$memory"
sample=$memory/headers
[[ -s $sample ]] || (cd /usr/include && find c++ fmt linux nlohmann rocksdb yaml-cpp -type f -print0 2>/dev/null |
  LC_ALL=C sort -z | xargs -0 cat | head -c 64M) >"$sample" || true

row() {
  local name=$1 caches=$2
  shift 2
  "$replay" --threads=2 "--seed=${SEED:-1}" --flash=nvme_flash --keys=400000 --dram=32M --scm=128M --pack=auto \
    "--scm_path=$memory/tier" "--db=$memory/db-$name" "--caches=$caches" "--json=$out/$name.json" "$@" >"$out/$name.txt"
  rm -rf "$memory/db-$name"
}

all=${CACHES:-lru+compressed_lz4,lru+compressed_lz4+warm,lru+compressed_zstd+warm,all_dram+warm,hybrid,hybrid:dram_first,hybrid+noheirs,hybrid+noheirs+nowarm}
few=lru+compressed_lz4+warm,lru+compressed_zstd+warm,hybrid,hybrid:dram_first
for name in ${ROWS:-text text3 pro64 pro64x3 z50 z10 mes pro4 ya}; do
  case $name in
    text) row text hcc,hcc+warm,all_dram,all_dram+warm,lru+compressed_lz4,lru+compressed_lz4+warm,lru+compressed_zstd,lru+compressed_zstd+warm,hybrid,hybrid:dram_first \
      --trace=gen:production --ops=1500000 --warmup=0.5 --repeats=5 --write_buffer=64M "--values=$sample" ;;
    text3) row text3 all_dram+warm,lru+compressed_lz4+warm,hybrid,hybrid:dram_first \
      --trace=gen:production --ops=3000000 --warmup=0.25 --repeats=11 --write_buffer=64M "--values=$sample" ;;
    pro64) row pro64 "$few" --trace=gen:production --ops=1500000 --warmup=0.5 --repeats=3 --write_buffer=64M --value_ratio=2 ;;
    pro64x3) row pro64x3 "$few" --trace=gen:production --ops=3000000 --warmup=0.25 --repeats=9 --write_buffer=64M --value_ratio=2 ;;
    z50) row z50 "$all" --trace=gen:zipf --skew=0.9 --put_share=0.5 --ops=800000 --warmup=0.5 --repeats=3 --write_buffer=8M --value_ratio=2 ;;
    z10) row z10 "$all" --trace=gen:zipf --skew=0.9 --put_share=0.1 --ops=800000 --warmup=0.5 --repeats=3 --write_buffer=8M --value_ratio=2 ;;
    mes) row mes "$all" --trace=gen:messaging --ops=800000 --warmup=0.5 --repeats=3 --write_buffer=4M --value_ratio=2 ;;
    pro4) row pro4 "$all" --trace=gen:production --ops=800000 --warmup=0.5 --repeats=3 --write_buffer=4M --value_ratio=2 ;;
    ya) row ya "$all" --trace=gen:ycsb_a --ops=800000 --warmup=0.5 --repeats=3 --write_buffer=4M --value_ratio=2 ;;
  esac
done
