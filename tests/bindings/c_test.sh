#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The example of integration/c, by its own first line, over an installed C library.
source "$(dirname "$0")/common.sh"
command -v cc >/dev/null || skip "cc is not found"
export PKG_CONFIG_PATH=$(dirname "$(find "$work/c" -name mezzanine_c.pc)")
libraries=$(dirname "$(find "$work/c" -name libmezzanine_c.so)")
# shellcheck disable=SC2046  # flags are words
cc -std=c99 -Wall -Wextra -Werror "$root/integration/c/examples/cache.c" -o "$work/example" "-I$rocksdb_include" \
  $(pkg-config --cflags --libs mezzanine_c)
LD_LIBRARY_PATH=$libraries:$(dirname "$rocksdb_library") "$work/example" "$work/db" >"$work/report"
grep -q '^scm.hit: [1-9]' "$work/report"
echo "RocksDB $release: the example read all as it was written"
