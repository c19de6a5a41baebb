# Sourced by the plug-in tests. Expects LIBRARIES, DB_BENCH, VERSION and SANITIZE in the environment.
set -euo pipefail

skip() { echo "SKIPPED: $*" >&2; exit 77; }
fail() { echo "FAILED: $*" >&2; tail -n 30 "$work/out" "$work/report" >&2 2>/dev/null || true; exit 1; }

[[ -z $SANITIZE ]] || skip "an uninstrumented program cannot load a library built with -fsanitize=$SANITIZE"
[[ -x $DB_BENCH ]] || skip "db_bench not found: install rocksdb-tools, or build RocksDB with tools/rocksdb"
[[ $(ldd "$DB_BENCH") == *librocksdb* ]] || skip "$DB_BENCH does not load RocksDB dynamically"

# The SCM stand-in: tmpfs where there is one.
shm=/dev/shm; [[ -w $shm ]] || shm=${TMPDIR:-/tmp}
work=$(mktemp -d)
scm=$(mktemp -d "$shm/mezz_test.XXXXXX")
trap 'rm -rf "$work" "$scm"' EXIT
[[ $("$DB_BENCH" --benchmarks= --db="$work/db" 2>&1) == *"version $VERSION"* ]] ||
  skip "$DB_BENCH is not of RocksDB $VERSION"

# bench LIBRARY [db_bench options]: 30 MB of data, read at random twice through 4 MiB of DRAM.
bench() {
  local library=$1; shift
  rm -rf "$work/db" "$work/report"
  MEZZANINE_REPORT=$work/report LD_PRELOAD=$LIBRARIES/$library "$DB_BENCH" --db="$work/db" \
    --benchmarks=fillrandom,compact,readrandom,readrandom --num=30000 --value_size=1000 --compression_type=none \
    --disable_wal=1 --threads=2 --cache_size=$((4 << 20)) "$@" >"$work/out" 2>&1
}

# counter NAME: its value in the last report.
counter() { sed -n "s/^$1: \([0-9]*\).*/\1/p" "$work/report" 2>/dev/null | tail -n 1; }

expect_hits() {
  local hits puts
  hits=$(counter scm.hit) puts=$(counter scm.put)
  [[ ${hits:-0} -gt 1000 ]] || fail "$1: ${hits:-no} SCM hits in the report"
  [[ ${puts:-0} -gt 100 ]] || fail "$1: ${puts:-no} SCM puts in the report"
  [[ $(counter scm.checksum_mismatch) == 0 ]] || fail "$1: checksum mismatches"
  grep -q "readrandom" "$work/out" || fail "$1: db_bench printed no result"
  echo "ok: $1: $hits SCM hits, $puts puts"
}

# For bench: so that there are tables to compact.
flushes_often=--write_buffer_size=$((4 << 20))

# expect_heirs NAME: what the database wrote was offered to the cache, though nobody has asked RocksDB to.
expect_heirs() {
  local some='[1-9][0-9]*'
  local want="^heirs: on, warming arrives: $some blocks of flushes, $some of compactions"
  version_at_least 11.1 || want="^heirs: on, RocksDB $VERSION warms with flushes only ($some blocks arrived);"
  version_at_least 11.1 || want+=" $some blocks of $some files were read back"
  grep -q "$want" "$work/report" || fail "$1: no heirs in the report: $(grep '^heirs' "$work/report")"
  [[ $(counter scm.file_forgotten) -gt 0 ]] || fail "$1: the cache was not told of deleted files"
  echo "ok: $1: $(grep '^heirs' "$work/report")"
}

# expect_options NAME WARMING: what the database was opened with.
expect_options() {
  local found
  found=$(grep -ho "prepopulate_block_cache=[A-Za-z]*" "$work"/db/OPTIONS-* | sort -u)
  [[ $found == "prepopulate_block_cache=$2" ]] || fail "$1: the database was opened with $found, not $2"
  echo "ok: $1: $found"
}

version_at_least() { [[ $(printf '%s\n' "$1" "$VERSION" | sort -V | head -n 1) == "$1" ]]; }
