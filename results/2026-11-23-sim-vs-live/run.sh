#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The runs behind this folder. Usage: MEZZ_TRACES=FOLDER run.sh MEZZ_REPLAY MEZZ_SIM WORK_FOLDER OUT_FOLDER [CELL...]
# MEZZ_TRACES names the folder with the public traces. WORK_FOLDER takes a file of all blocks of a trace (P12: 1.6 GB,
# removed afterwards) and the SCM tier's (at most 330 MB), and must take direct reads; hit ratios do not depend on how
# fast it is, so a tmpfs will do. MEZZ_REPLAY is built against RocksDB 11.8.1. A CELL, TRACE or TRACE_PERCENT_DRAMCACHE_PACK, runs alone.
# In the environment: POLICIES, separated by commas; PACKS, "off lz4"; FIRST_SEED and SEEDS.
set -euo pipefail
replay=$1 sim=$2 work=$3 out=$4
shift 4
only=("$@")
: "${MEZZ_TRACES:?name the folder of the public traces}"
policies=${POLICIES:-adaptive,dram_first,bidirectional,placeholder}
packs=${PACKS:-off lz4}
first=${FIRST_SEED:-1}

wanted() {  # a name that the arguments may hold
  [[ ${#only[@]} == 0 ]] && return 0
  local name
  for name in "$@"; do [[ " ${only[*]} " != *" $name "* ]] || return 0; done
  return 1
}

# Blocks and bytes of a block decide the footprint; the total is a share of it, one part DRAM to four parts SCM. Blocks
# of odd sizes are so that a segment of 256 KiB holds whole ones with little waste.
agree() {  # trace, file, blocks, unit, shares in percent
  local trace=$1 file=$2 blocks=$3 unit=$4
  shift 4
  for pack in $packs; do
    local values=()
    [[ $pack == off ]] || values=(--value_ratio=2)
    for percent in "$@"; do
      local dram=$((blocks * unit * percent / 100 / 5 / 4096 * 4096))
      for dram_cache in hcc lru; do
        wanted "$trace" "${trace}_${percent}_${dram_cache}_$pack" || continue
        for ((seed = first; seed < first + ${SEEDS:-1}; ++seed)); do
          local name=${trace}_${percent}_${dram_cache}_${pack}_$seed
          echo "== $name" >&2
          "$replay" --mode=block --verify --trace="$file" --unit="$unit" --dram=$dram --scm=$((4 * dram)) --pack="$pack" \
            "${values[@]}" --caches="hybrid:${policies//,/,hybrid:}" --dram_cache="$dram_cache" --shard_bits=0 --seed="$seed" \
            --warmup=0 --repeats=1 --threads=1 --scm_path="$work/scm" --db="$work/blocks" --json="$out/$name.live.json" \
            >"$out/$name.txt" 2>&1 || { echo "$name failed" >&2; cat "$out/$name.txt" >&2; return 1; }
          # The live cache takes its index and policy out of --dram, and says what is left for blocks and how they packed.
          "$here/simulate.py" "$sim" "$out/$name" "$pack" --trace="$file" --sizes=bytes --unit="$unit" \
            --dram_cache="$dram_cache" --dram_shards=1 --seed=$((seed - 1)) --threads=1
        done
      done
    done
  done
  rm -rf "$work/blocks"
}

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work" "$out"
# The loop repeats after 1011 blocks: 100 of its 500 rounds are enough, and blocks of 84.5 KiB make it slow.
{ zcat "$MEZZ_TRACES/lirs/loop.trace.gz" || true; } | head -n 101100 >"$work/loop.trace"
agree loop "$work/loop.trace" 1011 86528 25 50
agree multi1 "$MEZZ_TRACES/lirs/multi1.trace.gz" 2606 86528 10 25
agree sprite "$MEZZ_TRACES/lirs/sprite.trace.gz" 7075 36864 10 25
agree web07 "$MEZZ_TRACES/cache2k/web07.trace.xz" 20484 15872 10 25
agree OLTP "$MEZZ_TRACES/arc/OLTP.lis.zst" 186880 4096 10 25
agree P3 "$MEZZ_TRACES/arc/P3.lis.zst" 102348 4096 10 25
agree orm-busy "$MEZZ_TRACES/cache2k/orm-busy.trace.xz" 76349 4096 10 25
agree scarab-recs "$MEZZ_TRACES/scarab/scarab-recs.trace.xz" 258368 4096 10 25
agree cloudPhysicsIO "$MEZZ_TRACES/cloudphysics/cloudPhysicsIO.csv.zst" 269210 4096 10 25
agree P12 "$MEZZ_TRACES/arc/P12.lis.zst" 401596 4096 10 25
"$here/compare.py" "$out"
