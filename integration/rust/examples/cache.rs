// SPDX-License-Identifier: Apache-2.0
//! cargo run --release --example cache FOLDER
use mezzanine_rocksdb::Cache;
use rocksdb::{Options, DB};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("FOLDER is missing")?;
    let cache = Cache::open("mezzanine://dram=4M;scm=64M@dram")?;
    let mut options = Options::default();
    options.create_if_missing(true);
    cache.apply_to(&mut options)?;
    let db = DB::open(&options, folder)?;
    for i in 0..40_000 {
        db.put(format!("key{i:08}"), [b'v'; 1000])?;
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    for i in 0..80_000_u64 {
        let key = format!("key{:08}", i * 7919 % 40_000);
        let value = db.get(&key)?.ok_or_else(|| format!("{key} is lost"))?;
        assert_eq!(value, [b'v'; 1000]);
    }
    println!("{}", cache.report());
    Ok(())
}
