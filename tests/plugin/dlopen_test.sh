#!/usr/bin/env bash
# A process that opens a RocksDB of its own under the preload: what it calls is what it would call without us, and no
# two RocksDBs are ever mixed. Expects HOST, USER_OBJECT and OTHER_OBJECT beside what common.sh expects.
source "$(dirname "$0")/common.sh"

# host MODE OBJECT: runs it under the preload. What it says is in $work/out, its report in $work/report.
host() {
  rm -rf "$work/db" "$work/report"
  MEZZANINE_REPORT=$work/report LD_PRELOAD=$LIBRARIES/libmezzanine_preload.so "$HOST" "$1" "$2" "$work/db" \
    >"$work/out" 2>&1
}
said() { grep -q "$1" "$work/out" || fail "$2: nothing said of '$1'"; }

export MEZZANINE_CACHE="mezzanine://scm=64M@$scm/mezz"
for mode in local global; do
  host $mode "$USER_OBJECT" || fail "$mode: the program ended with $?"
  hits=$(counter scm.hit)
  [[ ${hits:-0} -gt 1000 ]] || fail "$mode: ${hits:-no} SCM hits in the report"
  grep -q '^report: the program has ended' "$work/report" || fail "$mode: main returned and there is no report"
  echo "ok: $mode: the object's RocksDB has the SCM tier, $hits SCM hits"
done

host deepbind "$USER_OBJECT" || fail "deepbind: the program ended with $?"
said 'read everything through a LRUCache' deepbind
[[ ! -e $work/report ]] || fail "deepbind: there is a report"
echo "ok: deepbind: the object does not see the preload, and nothing changes"

# other NAME VERSION SENTENCE MODE...: an object of that name with a RocksDB of that release reaches its own functions.
other() {
  mkdir -p "$work/other"
  cp "$OTHER_OBJECT" "$work/other/$1"
  for mode in "${@:4}"; do
    OTHER_VERSION=$2 host $mode "$work/other/$1" || fail "$1 $2 $mode: ended with $?"
    said "^reached 3 of $2" "$1 $2 $mode"
    [[ ! -e $work/report ]] || fail "$1 $2 $mode: there is a report"
    [[ $mode == deepbind ]] || said "$3" "$1 $2 $mode"
  done
  echo "ok: $1 of release $2, opened ${*:4}: told '$3'"
}
all="local global deepbind"
other libplugin.so 6.0.0 'a part of .*libplugin.so, not a librocksdb.so.*goes on with its own cache' $all
other librocksdb.so.6 6.0.0 "was built for RocksDB $VERSION and .*librocksdb.so.6 is 6.0.0: it stays out" $all
# Opened global it would be the one RocksDB of the process.
other librocksdb.so.x "$VERSION" 'has two RocksDBs, .*librocksdb.so.x and .*must not be mixed' local deepbind
status=0; MEZZANINE_STRICT=1 OTHER_VERSION=6.0.0 host local "$work/other/librocksdb.so.6" || status=$?
[[ $status == 2 ]] || fail "MEZZANINE_STRICT=1: the program ended with $status"
echo "ok: MEZZANINE_STRICT=1 ends a program whose RocksDB does not fit"

unset MEZZANINE_CACHE
host local "$OTHER_OBJECT" || fail "MEZZANINE_CACHE unset: ended with $?"
said '^reached 3 of 6.0.0' "MEZZANINE_CACHE unset"
if grep -q '^mezzanine' "$work/out"; then fail "MEZZANINE_CACHE unset: something was said"; fi
LD_DEBUG=libs LD_PRELOAD=$LIBRARIES/libmezzanine_preload.so env true >"$work/out" 2>&1
if grep -q librocksdb "$work/out"; then fail "the preload brings a RocksDB into programs that have none"; fi
echo "ok: MEZZANINE_CACHE unset: nothing changes, and programs without RocksDB stay without"
