# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of bindings that stand on libmezzanine_c:
#
#   LANGUAGE_test.sh BUILD_FOLDER ROCKSDB_RELEASE ROCKSDB_INCLUDE ROCKSDB_LIBRARY OTHER_RELEASE
#
# OTHER_RELEASE: tests/bindings/other_release.cc, built. In $work, which goes, `c` is what `cmake --install` makes of
# the C library alone; in $made lies what is worth keeping for the next time.
set -euo pipefail
language=$(basename "$0" _test.sh)
build=$1 release=$2 rocksdb_include=$3 rocksdb_library=$4
export MEZZANINE_OTHER_RELEASE=$5
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
made=$build/bindings-$language

skip() { echo "skipped: the tests of integration/$language: $*" >&2; exit 77; }

# newer PROGRAM VERSION LEAST: what it needs of a toolchain.
newer() {
  [[ $(printf '%s\n' "$2" "$3" | sort -V | head -n 1) == "$3" ]] || skip "$1 is $2, and $3 is needed"
}

# fetching WORDS COMMAND: COMMAND, whose failure with one of WORDS (an extended regular expression) is the registry's.
fetching() {
  local words=$1 log=$made/fetch.log
  shift
  if ! "$@" >"$log" 2>&1; then
    if grep -qE "$words" "$log"; then
      skip "the registry is not reached: $(grep -E "$words" "$log" | head -n 1 | cut -c1-200)"
    fi
    tail -n 60 "$log" >&2
    exit 1
  fi
}

mkdir -p "$made"
shm=/dev/shm; [[ -w $shm ]] || shm=${TMPDIR:-/tmp}
work=$(mktemp -d "$shm/mezz_$language.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export TMPDIR=$work
cmake --install "$build" --component c --prefix "$work/c" >/dev/null
