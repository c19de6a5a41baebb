#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build, then builds and runs programs outside of the tree: through find_package, then through pkg-config,
# and one in C.
#
#   check_install.sh BUILD_FOLDER CXX
set -euo pipefail
build=$1 cxx=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
for file in libmezzanine_{rocksdb,preload,preloaded,c}.so mezz_replay mezzanine.pc mezzanine_c.pc; do
  [[ -n $(find "$prefix" -name "$file") ]] || { echo "not installed: $file"; exit 1; }
done

# Headers: all under mezzanine/, by which they name each other too; and none that no public one needs.
mapfile -t headers < <(cd "$prefix/include" && find . -name '*.h' -printf '%P\n' | sort)
[[ $(ls "$prefix/include") == mezzanine ]] || { echo "installed beside mezzanine/: $(ls "$prefix/include")"; exit 1; }
public=(mezzanine/c.h mezzanine/integration/{hybrid_cache,use_hybrid_cache,dead_file_listener,lineage_recorder}.h
        mezzanine/integration/companions/{companions,wal_file_system}.h
        mezzanine/admission/{policy,decision_counters}.h
        mezzanine/cache/scm_tier.h)
for header in "${public[@]}"; do
  [[ -f $prefix/include/$header ]] || { echo "not installed: $header"; exit 1; }
done
for header in "${headers[@]}"; do
  if [[ " ${public[*]} " != *" $header "* ]] && ! grep -rqF "#include \"$header\"" "$prefix/include"; then
    echo "installed, but neither public nor included by what is: $header"
    exit 1
  fi
done

cp "$here/CMakeLists.txt" "$here/main.cc" "$work/"
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" || { cat "$work/log"; exit 1; }
echo "find_package: $("$work/build/consumer" "$work/db_cmake")"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name mezzanine.pc)")
export PKG_CONFIG_PATH
# That each compiles alone is known of the tree's (headers_stand_alone); here they must find each other.
printf '#include "%s"\n' "${headers[@]}" >"$work/headers.cc"
# shellcheck disable=SC2046  # flags are words
"$cxx" -fsyntax-only $(pkg-config --cflags mezzanine) "$work/headers.cc"
echo "headers: ${#headers[@]}"
# shellcheck disable=SC2046  # flags are words
"$cxx" "$work/main.cc" $(pkg-config --cflags --libs mezzanine) -o "$work/consumer"
echo "pkg-config: $("$work/consumer" "$work/db_pkgconfig")"

# The example of C, by its own first line.
# shellcheck disable=SC2046  # flags are words
cc -std=c99 -Wall -Wextra -Werror "$here/../../integration/c/examples/cache.c" -o "$work/c" \
  $(pkg-config --cflags --libs mezzanine_c)
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libmezzanine_c.so)") "$work/c" "$work/db_c" >"$work/log" ||
  { cat "$work/log"; exit 1; }
hits=$(sed -n 's/^scm.hit: \([0-9]*\).*/\1/p' "$work/log")
((hits > 1000)) || { echo "C: ${hits:-no} SCM hits"; exit 1; }
echo "C: scm.hit: $hits"
