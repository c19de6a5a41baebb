#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# foyer's with_compression compresses nothing: its disk tier writes with Zstd and Lz4 what it writes with None.
#
# Expected: with_compression sets the compression algorithm of the disk cache, as its comment says, and its README sets
#   Lz4 in this way. So values of one repeated byte take a small part of the device.
# So it is: the setting comes as far as the store. The block engine, which writes the entries, has one of its own that
#   nothing sets. Nothing tells it: entries are written and read as they are.
# Seen: 29 November 2026, foyer 0.22.6, 100 values of 60,000 times the same byte; a few pages more or less a run:
#   None: 6172672 bytes written, 100 of 100 found after a restart
#   Lz4: 6176768 bytes written, 100 of 100 found after a restart
#   Zstd: 6172672 bytes written, 100 of 100 found after a restart
# Why it matters to a cache: a disk tier that was planned with a factor of two or four for compression holds what its
#   device has, and writes, and wears it, as much more. Compress values before they are inserted.
# Needs: cargo 1.91 or later, gcc.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/src"
printf '%s\n' '[package]' 'name = "try"' 'version = "0.1.0"' 'edition = "2021"' \
  '[dependencies]' 'foyer = "=0.22.6"' 'foyer-common = "=0.22.6"' 'foyer-memory = "=0.22.6"' \
  'foyer-storage = "=0.22.6"' 'tokio = { version = "1", features = ["rt-multi-thread"] }' \
  '[profile.dev]' 'debug = 0' >"$work/Cargo.toml"
cat >"$work/src/main.rs" <<'EOF'
use foyer::{
    BlockEngineConfig, Compression, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder, HybridCachePolicy,
};

async fn open(folder: &str, compression: Compression) -> HybridCache<u64, Vec<u8>> {
    let device = FsDeviceBuilder::new(folder).with_capacity(64 << 20).build().unwrap();
    HybridCacheBuilder::new()
        .with_policy(HybridCachePolicy::WriteOnInsertion)
        .memory(1 << 20)
        .with_weighter(|_, value: &Vec<u8>| value.len())
        .storage()
        .with_engine_config(BlockEngineConfig::new(device).with_block_size(1 << 20))
        .with_compression(compression)
        .build()
        .await
        .unwrap()
}

// Whether it is as it was seen then.
async fn attempt(folder: &str, compression: Compression) -> bool {
    let folder = format!("{folder}/{compression:?}");
    let value = |key: u64| vec![key as u8; 60_000];
    let cache = open(&folder, compression).await;
    for key in 0..100 {
        cache.insert(key, value(key));
    }
    cache.close().await.unwrap();
    let written = cache.statistics().disk_write_bytes();
    drop(cache);
    let cache = open(&folder, compression).await;
    let mut found = 0;
    for key in 0..100 {
        found += i32::from(cache.get(&key).await.unwrap().is_some_and(|entry| *entry.value() == value(key)));
    }
    cache.close().await.unwrap();
    println!("  {compression:?}: {written} bytes written, {found} of 100 found after a restart");
    (6_000_000..7_000_000).contains(&written) && found == 100
}

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut so = true;
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        so &= runtime.block_on(attempt(&folder, compression));
    }
    std::process::exit(if so { 0 } else { 1 });
}
EOF

(cd "$work" && CARGO_HOME=$work/cargo cargo build -q)
"$work/target/debug/try" "$work/tiers" || { echo "changed: foyer no longer behaves as described above"; exit 1; }
echo "still so"
