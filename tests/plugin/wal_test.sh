#!/usr/bin/env bash
# An unmodified db_bench names the log on SCM by URI.
source "$(dirname "$0")/common.sh"

# wal_bench URI [db_bench options]: 20,000 synced writes, too few for a flush, or what the options say.
wal_bench() {
  local uri=$1; shift
  MEZZANINE_REPORT=$work/report LD_PRELOAD=$LIBRARIES/libmezzanine_rocksdb.so "$DB_BENCH" --db="$work/db" \
    --fs_uri="$uri" --num=20000 --value_size=100 --compression_type=none --sync=1 "$@" >"$work/out" 2>&1
}

uri="mezzanine_wal://path=$scm/logs;size=128M"
wal_bench "$uri" --benchmarks=fillseq || fail "fillseq: db_bench ended with $?"
compgen -G "$work/db/*.log" >"$work/logs" && fail "the log lies in the base file system: $(cat "$work/logs")"
[[ -s $work/db/MEZZANINE_WAL ]] || fail "no MEZZANINE_WAL beside the logs"
[[ $(counter wal.sync) -ge 20000 ]] || fail "$(counter wal.sync) syncs in the report"
[[ $(counter wal.append_bytes) -ge 2000000 ]] || fail "$(counter wal.append_bytes) bytes in the report"
[[ $(counter wal.fallback.full) == 0 && $(counter wal.log_created) -ge 1 ]] || fail "no log here, or a fallback"
wal_bench "$uri" --benchmarks=readseq,readrandom --use_existing_db=1 || fail "readrandom: db_bench ended with $?"
grep -q '(20000 of 20000 found)' "$work/out" || fail "writes are lost: $(grep found "$work/out")"
echo "ok: 20000 synced writes came back from the log on SCM"

# A medium that takes less than is written: counted, and nothing is lost.
rm -rf "$work/db" "$work/report" "$scm/small"
wal_bench "mezzanine_wal://path=$scm/small;size=4M" --benchmarks=fillrandom,readrandom --value_size=1000 --sync=0 ||
  fail "a full medium: db_bench ended with $?"
[[ $(counter wal.fallback.full)$(counter wal.fallback.too_small) =~ [1-9] ]] || fail "no fallback in the report"
echo "ok: the report tells of $(counter wal.fallback.full) + $(counter wal.fallback.too_small) fallbacks"

# What stands beside it: companions, on a log on SCM, in a program that knows of neither.
if version_at_least 11.0.0; then
  rm -rf "$work/db" "$work/report"
  MEZZANINE_COMPANIONS='write_throttle=true;dynamic_level0=true;level0_many=24' \
    wal_bench "$uri" --benchmarks=fillrandom,readrandom --num=100000 --sync=0 \
    --write_buffer_size=1000000 --level0_file_num_compaction_trigger=2 --statistics ||
    fail "companions and the log: db_bench ended with $?"
  ! grep '^mezzanine: .*\(stays as it is\|was not taken\)' "$work/out" || fail "the companions stay out"
  # Writes alone cut Level 0 into many files: RocksDB's LOG says so.
  grep -q 'level0_file_num_compaction_trigger: 24' "$work/db/LOG" ||
    fail "dynamic_level0 set nothing"
  [[ $(counter wal.log_created) -ge 5 ]] || fail "$(counter wal.log_created) logs on SCM in the report"
  echo "ok: companions beside $(counter wal.log_created) logs on SCM"
else
  echo "skipped: companions by preload need RocksDB 11, and $DB_BENCH is of $VERSION"
fi

# refused WHAT URI: db_bench must end, and stderr must say what is wrong.
refused() {
  if wal_bench "$2" --benchmarks=fillseq; then fail "$2 was accepted"; fi
  grep -q "mezzanine: .*$1" "$work/out" || fail "$2: no sentence with '$1'"
  echo "ok: refused: $(grep '^mezzanine: ' "$work/out" | head -n 1)"
}
refused 'size is missing' "mezzanine_wal://path=$scm/logs"
refused 'the key "speed" is unknown' "mezzanine_wal://path=$scm/logs;size=128M;speed=1"
refused 'give that size' "mezzanine_wal://path=$scm/logs;size=256M"
refused 'is a directory' "mezzanine_wal://path=$scm;size=128M"
