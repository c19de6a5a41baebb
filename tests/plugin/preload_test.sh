#!/usr/bin/env bash
# A db_bench that knows nothing of us runs on the hybrid cache because the library was preloaded.
source "$(dirname "$0")/common.sh"
library=libmezzanine_preload.so

export MEZZANINE_CACHE="mezzanine://scm=64M@$scm/mezz"
bench $library --cache_type=lru_cache "$flushes_often" || fail "lru_cache: db_bench ended with $?"
expect_hits "preloaded under lru_cache"
expect_heirs "preloaded under lru_cache"
if version_at_least 8.9; then
  bench $library --cache_type=auto_hyper_clock_cache || fail "auto_hyper_clock_cache: db_bench ended with $?"
  expect_hits "preloaded under auto_hyper_clock_cache"
fi

MEZZANINE_CACHE+=';heirs=off'
bench $library --cache_type=lru_cache "$flushes_often" || fail "heirs=off: db_bench ended with $?"
grep -q '^heirs: off$' "$work/report" || fail "heirs=off is not in the report"
expect_options "heirs=off" kDisable

unset MEZZANINE_CACHE
bench $library --cache_type=lru_cache || fail "MEZZANINE_CACHE unset: db_bench ended with $?"
[[ ! -e $work/report ]] || fail "MEZZANINE_CACHE unset: there is a report"
if grep -q '^mezzanine: ' "$work/out"; then fail "MEZZANINE_CACHE unset: something was said"; fi
echo "ok: MEZZANINE_CACHE unset: nothing changes"

export MEZZANINE_CACHE='mezzanine://scm=0'
LD_PRELOAD=$LIBRARIES/$library env true >"$work/out" 2>&1 || fail "env ended with $?"
[[ ! -s $work/out ]] || fail "env inherited the preload and said something"
echo "ok: programs without a cache are not judged"
bench $library --cache_type=lru_cache || fail "a bad URI must not end the program, and it ended with $?"
grep -q '^mezzanine: MEZZANINE_CACHE: .*scm=0.*goes on' "$work/out" || fail "a bad URI was not told"
echo "ok: told: $(grep '^mezzanine: ' "$work/out")"
export MEZZANINE_STRICT=1
status=0; bench $library --cache_type=lru_cache || status=$?
[[ $status == 2 ]] || fail "MEZZANINE_STRICT=1: db_bench ended with $status"
echo "ok: MEZZANINE_STRICT=1 ends the program with status 2"
