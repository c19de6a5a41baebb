#!/usr/bin/env bash
# An unmodified db_bench names our caches by URI.
source "$(dirname "$0")/common.sh"
library=libmezzanine_rocksdb.so

bench $library --secondary_cache_uri="mezzanine_scm://scm=64M@$scm/mezz" --cache_type=lru_cache ||
  fail "--secondary_cache_uri: db_bench ended with $?"
expect_hits "--secondary_cache_uri under lru_cache"
if version_at_least 8.9; then
  bench $library --secondary_cache_uri="mezzanine_scm://scm=64M@dram;policy=bidirectional" \
    --cache_type=auto_hyper_clock_cache || fail "--secondary_cache_uri: db_bench ended with $?"
  expect_hits "--secondary_cache_uri under auto_hyper_clock_cache"
fi
if version_at_least 9.7; then
  for dram_cache in hcc lru; do
    bench $library --cache_uri="mezzanine://dram=4M;scm=64M@$scm/mezz;dram_cache=$dram_cache" ||
      fail "--cache_uri: db_bench ended with $?"
    expect_hits "--cache_uri over $dram_cache"
  done
  bench $library "$flushes_often" --cache_uri="mezzanine://dram=4M;scm=64M@dram" ||
    fail "--cache_uri: db_bench ended with $?"
  expect_heirs "--cache_uri"
  bench $library "$flushes_often" --cache_uri="mezzanine://dram=4M;scm=64M@dram;heirs=off" ||
    fail "heirs=off: db_bench ended with $?"
  expect_options "heirs=off" kDisable
  uri_option=--cache_uri scheme=mezzanine://dram=4M\;
else
  uri_option=--secondary_cache_uri scheme=mezzanine_scm://
fi

# refused WHAT REST-OF-URI: db_bench must end, and stderr must say what is wrong.
refused() {
  if bench $library "$uri_option=$scheme$2"; then fail "$2 was accepted"; fi
  grep -q "^mezzanine: .*$1" "$work/out" || fail "$2: no sentence with '$1'"
  echo "ok: refused: $(grep '^mezzanine: ' "$work/out")"
}
refused 'the key "speed"' 'scm=64M@dram;speed=fast'
refused 'the index of scm=4T.*this machine\|the index of scm=4T.*the control group' 'scm=4T@dram;block=64'
if version_at_least 9.7; then
  scheme=mezzanine:// refused 'dram=4000000T needs.*lower dram' 'dram=4000000T;scm=64M@dram'
  scheme=mezzanine:// refused 'shard_bits=19 cuts dram=8M' 'dram=8M;scm=64M@dram;shard_bits=19'
fi
refused 'scm=many' 'scm=many@dram'
refused 'names no place' 'scm=64M'
refused "$scm" "scm=64M@$scm"
