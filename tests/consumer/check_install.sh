#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build, then builds and runs a program outside of the tree: through find_package, then through pkg-config.
#
#   check_install.sh BUILD_FOLDER CXX
set -euo pipefail
build=$1 cxx=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
for file in libmezzanine_rocksdb.so libmezzanine_preload.so libmezzanine_preloaded.so mezz_replay mezzanine.pc; do
  [[ -n $(find "$prefix" -name "$file") ]] || { echo "not installed: $file"; exit 1; }
done

cp "$here/CMakeLists.txt" "$here/main.cc" "$work/"
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" || { cat "$work/log"; exit 1; }
echo "find_package: $("$work/build/consumer" "$work/db_cmake")"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name mezzanine.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # flags are words
"$cxx" "$work/main.cc" $(pkg-config --cflags --libs mezzanine) -o "$work/consumer"
echo "pkg-config: $("$work/consumer" "$work/db_pkgconfig")"
