#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# db_bench's skewed reads over each cache. Usage: run.sh MEZZ_REPLAY DB_BENCH MEMORY_FOLDER OUT_FOLDER [RANGE_SEED_SHARE...]
# MEMORY_FOLDER in /dev/shm, 1 GiB free. MEZZ_REPLAY built against the RocksDB that DB_BENCH is of. Reads of flash are counted, not
# timed: what else runs does not matter. SEEDS, OPS and CACHES in the environment name others.
set -euo pipefail
replay=$1 db_bench=$2 memory=$3 out=$4
shift 4
only=("$@")
here=$(cd "$(dirname "$0")" && pwd)
caches=${CACHES:-hcc+compressed,lru+compressed,tiered,tiered:placeholder,hybrid+raw,hybrid}
ops=${OPS:-2000000} keys=1000000
mkdir -p "$memory" "$out"

bench=("$db_bench" --db="$memory/recorded" --num=$keys --value_size=100 --compression_type=none)
data=117000000  # a million keys of 16 bytes and values of 100, in blocks of 4 KiB
for seed in ${SEEDS:-1 2 3}; do
  for range in 10 15; do
    rm -rf "$memory/trace" "$memory/db"
    for share in 25 50; do
      name=range${range}_${share}_$seed
      [[ ${#only[@]} == 0 || " ${only[*]} " == *" $name "* ]] || continue
      if [[ ! -e $memory/trace ]]; then
        [[ -e $memory/recorded/CURRENT ]] || "${bench[@]}" --benchmarks=fillseq,compact >/dev/null 2>&1
        "${bench[@]}" --use_existing_db --benchmarks=readrandom --reads="$ops" --seed="$seed" --read_random_exp_range=$range \
          --trace_file="$memory/trace" >/dev/null 2>&1
        "$here/tail.py" "$memory/trace" $keys
      fi
      # The second half of the reads is the first window; the second one is the tail, and counts for nothing. Keys are of eight
      # bytes here, values eight longer, so blocks hold as many.
      dram=$((data * share / 100 / 5))
      echo "== $name" >&2
      "$replay" --trace="$memory/trace" --db="$memory/db" --scm_path="$memory/tier" --value_bytes=108 --threads=1 \
        --warmup_ops=$((ops / 2)) --repeats=2 --dram=$dram --scm=$((4 * dram)) --caches="$caches" \
        --json="$out/$name.json" >"$out/$name.txt"
    done
  done
done
rm -rf "$memory/trace" "$memory/db" "$memory/recorded" "$memory/tier"*
