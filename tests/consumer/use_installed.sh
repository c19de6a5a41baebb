#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs programs over what is installed where CMake, pkg-config and the loader look: through find_package,
# then through pkg-config, and the example in C.
#
#   use_installed.sh CXX CACHE_C      CACHE_C: integration/c/examples/cache.c
set -euo pipefail
cxx=$1 cache_c=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$here/CMakeLists.txt" "$here/main.cc" "$work/"
cmake -S "$work" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" || { cat "$work/log"; exit 1; }
echo "find_package: $("$work/build/consumer" "$work/db_cmake")"

include=$(pkg-config --variable=includedir mezzanine)
mapfile -t headers < <(cd "$include" && find mezzanine -name '*.h' | sort)
# That each compiles alone is known of the tree's (headers_stand_alone); here they must find each other.
printf '#include "%s"\n' "${headers[@]}" >"$work/headers.cc"
# shellcheck disable=SC2046  # flags are words
"$cxx" -fsyntax-only $(pkg-config --cflags mezzanine) "$work/headers.cc"
echo "headers: ${#headers[@]}"
# shellcheck disable=SC2046  # flags are words
"$cxx" "$work/main.cc" $(pkg-config --cflags --libs mezzanine) -o "$work/consumer"
echo "pkg-config: $("$work/consumer" "$work/db_pkgconfig")"

# By the example's own first line.
# shellcheck disable=SC2046  # flags are words
cc -std=c99 -Wall -Wextra -Werror "$cache_c" -o "$work/c" $(pkg-config --cflags --libs mezzanine_c)
"$work/c" "$work/db_c" >"$work/log" || { cat "$work/log"; exit 1; }
hits=$(sed -n 's/^scm.hit: \([0-9]*\).*/\1/p' "$work/log")
((hits > 1000)) || { echo "C: ${hits:-no} SCM hits"; exit 1; }
echo "C: scm.hit: $hits"
