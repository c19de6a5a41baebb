#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# RocksDB's own db_stress, unmodified, over our caches: it writes, reads, scans, compacts and reopens, and checks every
# value it sees. Rounds of random options (after RocksDB's tools/db_crashtest.py), tiny caches, so that blocks keep
# moving between the tiers. Any wrong value ends a round with a non-zero status.
#
#   db_stress.sh secondary | preload | shares | wal  DB_STRESS  PLUGIN_FOLDER
#
#   secondary     the SCM tier under RocksDB's LRUCache and HyperClockCache: --secondary_cache_uri
#   preload       the hybrid cache in place of whatever cache db_stress makes: MEZZANINE_CACHE
#   shares        the hybrid cache, which four databases of one process share (share=*). Each makes a cache of its own
#                 by --options_file; --cache_size would be one for all. Killed as wal is. Whichever database comes
#                 first opens the medium again
#   wal           the log on SCM: --fs_uri. Killed (-9) twice a round and begun again, as db_crashtest's blackbox does:
#                 what it wrote before has to be there
#
# DURATION  seconds in which rounds start (180)
# SEED      of the first round; the time if not given
# FORM      what records are packed with (pack=); drawn in each round if not given
# WARM      of what RocksDB writes (prepopulate_block_cache: 0 nothing, 1 flushes, 2 compactions too); drawn likewise
set -euo pipefail
way=$1 db_stress=$2 plugins=$3
duration=${DURATION:-180}
seed=${SEED:-$(($(date +%s) % 32768))}

work=$(mktemp -d)
scm=$(mktemp -u /dev/shm/mezz-db-stress.XXXXXX)
trap 'rm -rf "$work" "$scm"' EXIT

# Sets `picked` to one of the arguments. (In a subshell RANDOM would forget its seed.)
pick() { shift $((RANDOM % $#)); picked=$1; }
# Appends FLAG=VALUE to `flags`, with one of the values given.
any() { pick "${@:2}"; flags+=("$1=$picked"); }

choose_flags() {
  flags=(
    --seed="$seed" --db="$work/db" --expected_values_dir="$work/expected" --destroy_db_initially=1
    --threads=8 --ops_per_thread=50000 --reopen=2 --max_key=100000 --nooverwritepercent=1 --value_size_mult=32
    --readpercent=50 --prefixpercent=5 --iterpercent=10 --writepercent=30 --delpercent=4 --delrangepercent=1
    --verify_db_one_in=20000 --verify_checksum_one_in=20000 --acquire_snapshot_one_in=1000 --snapshot_hold_ops=10000
    # small files and many compactions
    --write_buffer_size=1048576 --target_file_size_base=524288 --max_bytes_for_level_base=4194304
    --max_background_compactions=2 --compact_range_one_in=5000 --flush_one_in=2000
    --periodic_compaction_seconds=0 --compaction_ttl=0
    # blob files share the block cache
    --min_blob_size=64 --use_blob_cache=1 --use_shared_block_and_blob_cache=1 --cache_numshardbits=0
    # faults are injected in debug builds only; the rest tests other things than caches
    --sync_fault_injection=0 --read_fault_one_in=0 --write_fault_one_in=0
    --metadata_read_fault_one_in=0 --metadata_write_fault_one_in=0
    --checkpoint_one_in=0 --backup_one_in=0 --clear_column_family_one_in=0 --remote_compaction_worker_threads=0
    --get_sorted_wal_files_one_in=0 --get_current_wal_file_one_in=0
  )
  any --column_families 1 4
  any --cache_size 524288 2097152 8388608
  any --block_size 1024 4096 16384
  any --format_version 5 6 7
  any --index_type 0 2
  any --cache_index_and_filter_blocks 0 1
  any --bloom_bits 0 10
  any --prepopulate_block_cache ${WARM:-0 1 2 2}
  any --compression_parallel_threads 1 1 4
  any --compression_type none lz4 zstd
  any --compression_max_dict_bytes 0 16384
  any --use_multiget 0 1
  any --async_io 0 1
  any --use_direct_reads 0 1
  any --uncache_aggressiveness 0 10 1000
  any --charge_table_reader 0 1
  any --charge_filter_construction 0 1
  any --enable_blob_files 0 1
  any --subcompactions 1 3
  any --open_files -1 100
  any --paranoid_file_checks 0 1
}

choose_log() {
  local size
  pick 4M 16M 64M; size=$picked
  preload=$plugins/libmezzanine_rocksdb.so uri=''
  flags+=("--fs_uri=mezzanine_wal://path=$scm;size=$size" --get_sorted_wal_files_one_in=500
    --get_current_wal_file_one_in=500 --checkpoint_one_in=5000 --backup_one_in=10000 --use_blob_cache=0)
  any --sync 0 1
  any --sync_wal_one_in 0 100
  any --manual_wal_flush_one_in 0 100
  any --recycle_log_file_num 0 1 4
  any --avoid_flush_during_recovery 0 1
  any --avoid_flush_during_shutdown 0 1
  any --wal_compression none zstd
  any --max_write_buffer_number 2 6
  any --db_write_buffer_size 0 4194304
}

# Of the flags above db_stress takes those of the table, of compaction and of compression from this file instead.
write_options() {
  cat <<END
[Version]
  rocksdb_version=11.8.1
  options_file_version=1.1
[DBOptions]
  max_background_jobs=2
END
  echo '[CFOptions "default"]'
  printf '  %s\n' write_buffer_size=1048576 target_file_size_base=524288 max_bytes_for_level_base=4194304 \
    prefix_extractor=rocksdb.FixedPrefix.7 table_factory=BlockBasedTable
  [[ $pack == image ]] || one compression kNoCompression kLZ4Compression kZSTD
  [[ $pack != image ]] || one compression kLZ4Compression kZSTD kSnappyCompression
  one uncache_aggressiveness 0 10 1000
  echo '[TableOptions/BlockBasedTable "default"]'
  one block_cache 262144 1048576 4194304
  one block_size 1024 4096 16384
  one format_version 5 6 7
  one index_type kBinarySearch kTwoLevelIndexSearch
  one cache_index_and_filter_blocks false true
  one prepopulate_block_cache kDisable kFlushOnly
}
# Prints NAME=VALUE, with one of the values given.
one() { pick "${@:2}"; echo "  $1=$picked"; }

choose_shares() {
  local limits
  choose_cache
  pick '' :max=50% :reserve=10%,max=60% :reserve=15%,priority=high; limits=$picked
  uri+=";segment=256K;share=*$limits"
  write_options >"$work/options"
  flags+=(--num_dbs=4 --threads=2 --cache_size=0 --options_file="$work/options" --use_blob_cache=0)
}
# How many databases have put blocks under their names.
sharing() { grep -o "^share[.]$work/db/db_[0-9]: scm [1-9]" "$work/report" | sort -u | wc -l; }

# Begins the round's database anew, and kills it: twice. Its threads are killed wherever they are.
kill_twice() {
  local run
  for run in 1 2; do
    (export LD_PRELOAD=$preload; exec "$db_stress" "${flags[@]}" --ops_per_thread=100000000) \
      >"$work/log" 2>"$work/err" &
    local pid=$!
    sleep $((3 + RANDOM % 6))
    kill -9 "$pid" 2>/dev/null || { wait "$pid" || true; return 1; }
    wait "$pid" 2>/dev/null || true
    flags+=(--destroy_db_initially=0)
  done
}

choose_cache() {
  local scm_size policy serve forms=(off lz4 zstd auto) scm_uri
  pick 8M 16M 48M; scm_size=$picked
  pick adaptive dram_first scm_first bidirectional placeholder; policy=$picked
  pick auto in_place copy; serve=$picked
  # A secondary cache is never handed a block as its file holds it; the other is, where that is compressed.
  [[ $way == secondary ]] || forms+=(image)
  pick "${forms[@]}"; pack=${FORM:-$picked}
  [[ $pack != image ]] || any --compression_type lz4 zstd snappy
  any --compression_manager none mixed
  scm_uri="scm=$scm_size@$scm;policy=$policy;pack=$pack"
  if [[ $way == secondary ]]; then
    preload=$plugins/libmezzanine_rocksdb.so uri=''
    any --cache_type lru_cache auto_hyper_clock_cache fixed_hyper_clock_cache
    flags+=("--secondary_cache_uri=mezzanine_scm://$scm_uri")
  else
    preload=$plugins/libmezzanine_preload.so
    pick on on off
    uri="mezzanine://$scm_uri;serve=$serve;heirs=$picked"
    any --cache_type lru_cache auto_hyper_clock_cache
  fi
}

# What the round's caches counted under this name; or, where it ends in a point, under all that begin so.
counted() {
  awk -v name="$1" '$1 == name ":" || (name ~ /[.]$/ && index($1, name) == 1) { sum += $2 } END { print sum + 0 }' \
    "$work/report"
}

run_round() {
  rm -rf "$work/db" "$work/expected" "$scm" "$work/report"
  mkdir "$work/db" "$work/expected"
  RANDOM=$seed
  choose_flags
  local status=0
  case $way in
    wal) choose_log ;;
    shares) choose_shares ;;
    *) choose_cache ;;
  esac
  # Preloaded into db_stress alone: env and timeout would inherit it.
  export MEZZANINE_CACHE=$uri MEZZANINE_REPORT=$work/report
  [[ $way != wal && $way != shares ]] || kill_twice || status=1
  ((status != 0)) ||
    (export LD_PRELOAD=$preload; exec "$db_stress" "${flags[@]}") >"$work/log" 2>"$work/err" ||
    status=$?
  # The medium's file is the proof that db_stress took our cache, or log.
  [[ $way != shares || $status != 0 ]] || (($(sharing) >= 3)) || status=1  # the fourth has what they leave
  if ((status != 0)) || ! grep -qi 'verification successful' "$work/log" || [[ ! -s $scm ]]; then
    tail -n 20 "$work/log"
    tail -n 40 "$work/err"
    echo "db_stress ended with status $status after: MEZZANINE_CACHE='$uri' LD_PRELOAD=$preload ${flags[*]}"
    echo "again: SEED=$seed $0 $way $db_stress $plugins"
    return 1
  fi
}

pack='' rounds=0 heirs=0
declare -A rounds_of=() packed_by=()
while ((SECONDS < duration)); do
  run_round || exit 1
  seed=$(((seed + 1) % 32768)) rounds=$((rounds + 1))
  [[ $way != wal ]] || continue
  rounds_of[$pack]=$((${rounds_of[$pack]:-0} + 1))
  what=scm.packed_put
  [[ $pack != image ]] || what=scm.image_put
  packed_by[$pack]=$((${packed_by[$pack]:-0} + $(counted $what)))
  heirs=$((heirs + $(counted decision.warm.to_scm.)))
done
for pack in "${!rounds_of[@]}"; do
  echo "pack=$pack: ${rounds_of[$pack]} rounds, ${packed_by[$pack]} blocks stored so"
done
[[ $way != preload ]] || echo "$heirs blocks that flushes and compactions wrote were kept in SCM"
echo "db_stress ($way): $rounds rounds in $SECONDS s, every value as expected"
