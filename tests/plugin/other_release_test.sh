#!/usr/bin/env bash
# A true RocksDB of another release under the preload: told, left alone, and the end of a strict program; whatever
# functions make its caches. Of the releases that are here: the distribution's, and that of tools/rocksdb. Expects MAKER
# beside what common.sh expects.
source "$(dirname "$0")/common.sh"
tools=$(dirname "$0")/../../tools

# make LIBRARY KIND: what it says is in $work/out.
make() {
  local status=0
  LD_PRELOAD=$LIBRARIES/libmezzanine_preload.so "$MAKER" "$1" "$2" >"$work/out" 2>&1 || status=$?
  echo "$status"
}

export MEZZANINE_CACHE='mezzanine://scm=64M@dram'
mapfile -t libraries < <(
  ldconfig -p | sed -n 's/^\s*librocksdb\.so\..* => //p'
  built=$("$tools/rocksdb" 11.8.1 --if-built) && ls "$built"/lib/librocksdb.so
)
tested=0
for library in "${libraries[@]}"; do
  file=$(basename "$(realpath "$library")")
  release=${file#librocksdb.so.}
  [[ $release != "$VERSION" ]] || continue
  for kind in lru lru_opts; do
    [[ $(make "$library" $kind) == 0 ]] || fail "$release $kind: the program did not go on"
    grep -q '^made a cache of 4194304 bytes' "$work/out" || fail "$release $kind: not its own cache"
    grep -q "built for RocksDB $VERSION and .* is $release: it stays out" "$work/out" || fail "$release $kind: not told"
    status=$(MEZZANINE_STRICT=1 make "$library" $kind)
    [[ $status == 2 ]] || fail "$release $kind: MEZZANINE_STRICT=1: the program ended with $status"
    echo "ok: $release $kind: $(grep -o 'this library was.*' "$work/out")"
  done
  MEZZANINE_CACHE='' make "$library" lru >/dev/null
  if grep -q mezzanine "$work/out"; then fail "$release: MEZZANINE_CACHE unset, and something was said"; fi
  tested=$((tested + 1))
done
((tested > 0)) || skip "no RocksDB but $VERSION here: tools/rocksdb 11.8.1, or librocksdb-dev, brings another"
