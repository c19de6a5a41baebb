#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build, then builds and runs programs outside of the tree over it.
#
#   check_install.sh BUILD_FOLDER CXX
set -euo pipefail
build=$1 cxx=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
for file in libmezzanine_{rocksdb,preload,preloaded,c}.so mezz_replay mezzanine.pc mezzanine_c.pc mezzanine.7 \
  mezz_{inspect,plan,replay,sim,trace}.1 mezzanine-db.service; do
  [[ -n $(find "$prefix" -name "$file") ]] || { echo "not installed: $file"; exit 1; }
done

# The component that the bindings of other languages take has the C library, its header and its .pc file.
cmake --install "$build" --component c --prefix "$work/c" >"$work/log" || { cat "$work/log"; exit 1; }
installed=$(cd "$work/c" && find . ! -type d -printf '%f\n' | LC_ALL=C sort | tr '\n' ' ')
[[ $installed == "c.h libmezzanine_c.so libmezzanine_c.so.0 libmezzanine_c.so.0."*" mezzanine_c.pc " ]] ||
  { echo "the component c is: $installed"; exit 1; }

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

CMAKE_PREFIX_PATH=$prefix
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name mezzanine.pc)")
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libmezzanine_c.so)")
export CMAKE_PREFIX_PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
"$here/use_installed.sh" "$cxx" "$here/../../integration/c/examples/cache.c"
