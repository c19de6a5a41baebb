#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The crate of integration/rust: its tests and its example, over the crate rocksdb of the registry. librocksdb-sys
# compiles RocksDB for twelve minutes; here it links the one that is there, as its ROCKSDB_LIB_DIR asks.
source "$(dirname "$0")/common.sh"
command -v cargo >/dev/null || skip "cargo is not found: install Rust 1.88 or later, which the crate rocksdb needs"
newer cargo "$(cargo --version | cut -d' ' -f2)" 1.88
[[ $release == 11.8.* ]] || skip "the crate rocksdb 0.25 is for RocksDB 11.8, and this is $release"

export ROCKSDB_LIB_DIR=$(dirname "$rocksdb_library") ROCKSDB_INCLUDE_DIR=$rocksdb_include
export LD_LIBRARY_PATH=$ROCKSDB_LIB_DIR
cd "$root/integration/rust"
fetching 'failed to download|Could not resolve|unable to update|Unable to update|failed to get' cargo fetch --locked

# Its tests, quickly: over the C library that is built already.
libraries=$(dirname "$(find "$work/c" -name libmezzanine_c.so)")
mkdir -p "$made/lib"
cp -a "$libraries"/libmezzanine_c.so* "$made/lib/"  # a path that stays, or cargo would build all anew
MEZZANINE_LIB_DIR=$made/lib LD_LIBRARY_PATH=$made/lib:$LD_LIBRARY_PATH \
  cargo test --offline --locked --target-dir "$made/target" --no-fail-fast 2>&1 | tee "$made/test.log" |
  grep -E '^(test |error|warning|running|failures|thread)' || { tail -n 40 "$made/test.log" >&2; exit 1; }

# Its example as a program has it: our C++ compiled with the crate, and linked statically.
cargo build --offline --locked --quiet --release --example cache --target-dir "$made/static"
if ldd "$made/static/release/examples/cache" | grep libmezzanine; then exit 1; fi
"$made/static/release/examples/cache" "$work/db" >"$work/report"
grep -q '^scm.hit: [1-9]' "$work/report"
echo "$(cargo tree --offline --depth 0 -p rocksdb), RocksDB $release: the example read all as it was written"
