#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The runs behind this folder. Usage: MEZZ_TRACES=FOLDER run.sh MEZZ_REPLAY DB_BENCH WORK_FOLDER OUT_FOLDER
# Both programs are of RocksDB 11.8.1. WORK_FOLDER takes 2.5 GB and must take direct reads. About five minutes.
set -euo pipefail
replay=$1 db_bench=$2 work=$3 out=$4
: "${MEZZ_TRACES:?name the folder of the public traces}"
mkdir -p "$work" "$out"

# Every public trace, on two threads.
for trace in arc/OLTP.lis.zst arc/P3.lis.zst arc/P12.lis.zst cloudphysics/cloudPhysicsIO.csv.zst \
  cloudphysics/cloudPhysicsIO.vscsi.zst scarab/scarab-recs.trace.xz cache2k/orm-busy.trace.xz cache2k/web07.trace.xz \
  lirs/sprite.trace.gz lirs/loop.trace.gz lirs/multi1.trace.gz mqsim/tpcc-small.trace meta/kv_traces_1.csv \
  meta/block_traces_1.csv twitter/twitter_sample.csv; do
  "$replay" --mode=block --trace="$MEZZ_TRACES/$trace" --unit=4096 --sizes=unit --caches=hcc,hybrid,all_dram \
    --dram=16M --scm=64M --threads=2 --db="$work" --scm_path="$work/scm" --csv="$out/${trace##*/}.csv"
done

# Block-cache traces that db_bench records, against the run they were recorded from.
bench() {
  "$db_bench" --db="$work/db" --num=400000 --value_size=1000 --compression_type=none --use_direct_reads=true \
    --cache_index_and_filter_blocks=true --bloom_bits=10 "$@"
}
bench --benchmarks=fillrandom,compact
for cache in lru_cache auto_hyper_clock_cache; do
  bench --use_existing_db --benchmarks=readrandom --reads=400000 --read_random_exp_range=8 --threads=1 \
    --cache_type=$cache --cache_high_pri_pool_ratio=0.5 --cache_size=67108864 \
    --block_cache_trace_file="$work/$cache.trace" --statistics | grep -E 'rocksdb.block.cache.(hit|miss) '
  "$replay" --mode=block --trace="$work/$cache.trace" --caches=lru,hcc,hybrid --dram=64M --scm=256M --db="$work" \
    --scm_path="$work/scm" --json="$out/recorded_$cache.json"
done
