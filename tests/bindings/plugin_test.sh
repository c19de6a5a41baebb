#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mezzanine as a plug-in of RocksDB's own build: the static library of a release, its db_bench, and a program that knows
# nothing of Mezzanine but a URI.
#
#   plugin_test.sh RELEASE
#
# RocksDB's own files are compiled once, into the user's cache folder (some twenty minutes), ours as they change.
set -euo pipefail
release=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$here/../../tools

if ! source=$("$tools/rocksdb" "$release" --source-folder); then
  echo "skipped: the sources of RocksDB $release are not to be had" >&2
  exit 77
fi
plugin=$("$tools/package" plugin)
tree=${XDG_CACHE_HOME:-$HOME/.cache}/mezzanine/rocksdb/plugin-$release
mkdir -p "$tree"
exec 9>"$tree/.lock"
flock 9
if [[ ! -e $tree/source/CMakeLists.txt ]]; then
  rm -rf "$tree/copy"
  cp -r "$source" "$tree/copy"
  mv "$tree/copy" "$tree/source"
fi
# Files that did not change keep their times, so that they are not compiled again.
mkdir -p "$tree/source/plugin/mezzanine"
python3 - "$plugin" "$tree/source/plugin/mezzanine" <<'PYTHON'
import filecmp, shutil, sys
from pathlib import Path
made, there = Path(sys.argv[1]), Path(sys.argv[2])
names = {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
for old in [path for path in there.rglob("*") if path.is_file() and path.relative_to(there) not in names]:
    old.unlink()
for name in names:
    if (there / name).is_file() and filecmp.cmp(made / name, there / name, shallow=False):
        continue
    (there / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(made / name, there / name)
PYTHON

log=$tree/build.log
quietly() { "$@" >"$log" 2>&1 || { grep -nE 'error|FAILED' "$log" | head -n 40; tail -n 20 "$log"; exit 1; }; }
generator=(); command -v ninja >/dev/null && generator=(-G Ninja)
# What is tested is that it works, not how fast.
quietly cmake -S "$tree/source" -B "$tree/build" "${generator[@]}" -DROCKSDB_PLUGINS=mezzanine \
  -DCMAKE_BUILD_TYPE=Release '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG' -DROCKSDB_BUILD_SHARED=OFF -DWITH_TESTS=OFF \
  -DWITH_TOOLS=OFF -DWITH_CORE_TOOLS=OFF -DWITH_TRACE_TOOLS=OFF -DWITH_LIBURING=OFF -DFAIL_ON_WARNINGS=OFF
quietly cmake --build "$tree/build" --parallel "$(nproc)" --target rocksdb db_bench

shm=/dev/shm; [[ -w $shm ]] || shm=${TMPDIR:-/tmp}
work=$(mktemp -d "$shm/mezz_plugin.XXXXXX")
trap 'rm -rf "$work"' EXIT
"${CXX:-c++}" -std=c++20 -O1 -I "$tree/source/include" "$here/plugin_user.cc" -o "$work/user" \
  "$tree/build/librocksdb.a" -lpmem2 -lsodium -lnuma -llz4 -lzstd -ldl -lpthread

uri="mezzanine://dram=4M;scm=64M@$work/tier"
"$work/user" "$work/db" "$uri" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
# RocksDB does not write a cache into its OPTIONS files, and reads it there.
options=$(find "$work/db" -name 'OPTIONS-*' | sort | tail -n 1)
sed -i "/BlockBasedTable\b.*default/a \  block_cache={id={$uri}}" "$options"
"$work/user" "$work/db" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
for line in '^MezzanineHybridCache' '^scm.hit: [1-9]'; do
  grep -qE "$line" "$work/said" || { cat "$work/said"; echo "plugin_test: no line /$line/" >&2; exit 1; }
done
# A URI that cannot be had is an error with a sentence, and no crash.
! "$work/user" "$work/db2" 'mezzanine://dram=4M;scm=64M' >"$work/refused" 2>&1
grep -q 'names no place' "$work/refused" || { cat "$work/refused"; exit 1; }

MEZZANINE_REPORT=stderr "$tree/build/db_bench" --benchmarks=fillrandom,readrandom,readrandom --num=100000 \
  --value_size=400 --write_buffer_size=$((4 << 20)) --compression_type=none --db="$work/bench" "--cache_uri=$uri" \
  >"$work/bench.log" 2>&1 ||
  { tail -n 30 "$work/bench.log"; exit 1; }
grep -qE '^scm.hit: [1-9]' "$work/bench.log" || { tail -n 60 "$work/bench.log"; exit 1; }
grep -E '^readrandom' "$work/bench.log"
echo "RocksDB $release with Mezzanine inside: the program and db_bench read all as it was written"
