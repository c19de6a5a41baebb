// SPDX-License-Identifier: Apache-2.0
use std::path::Path;
use std::process::Command;

use mezzanine_rocksdb::{rocksdb_release, Cache};
use rocksdb::{ColumnFamilyDescriptor, DBCompressionType, Options, DB};

const URI: &str = "mezzanine://dram=4M;scm=64M@dram";

fn key(i: usize) -> String {
    format!("key{i:08}")
}

fn value(i: usize) -> Vec<u8> {
    let mut value = vec![b'a' + (i % 26) as u8; 1000];
    value.extend_from_slice(key(i).as_bytes());
    value
}

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(4 << 20);
    options
}

fn open_with(cache: &Cache, folder: &Path) -> DB {
    let mut options = options();
    cache.apply_to(&mut options).unwrap();
    DB::open(&options, folder).unwrap()
}

fn write(db: &DB, keys: usize) {
    // Some twice, so that there is something to compact, and a file to delete.
    for i in (0..keys).chain(0..keys / 8) {
        db.put(key(i), value(i)).unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
}

fn read_all(db: &DB, keys: usize) {
    for n in 0..keys {
        let i = n * 7919 % keys; // not in the order of the blocks
        assert_eq!(db.get(key(i)).unwrap(), Some(value(i)));
    }
}

fn why_not(uri: &str) -> String {
    Cache::open(uri).err().map_or_else(|| "it was opened".to_owned(), |error| error.to_string())
}

fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{text}: expected {part}");
}

#[test]
fn options_that_were_prepared_have_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(URI).unwrap();
    let db = open_with(&cache, folder.path());
    write(&db, 16_000);
    read_all(&db, 16_000);
    read_all(&db, 16_000);
    let counters = cache.statistics();
    assert!(counters["scm.hit"] > 1000, "{}", cache.report());
    assert!(counters["scm.file_forgotten"] > 0);
    assert_eq!(counters["scm.checksum_mismatch"], 0);
    assert_eq!(cache.counter("scm.checksum_mismatch"), Some(0));
    assert_contains(&cache.report(), "heirs: on, warming arrives");
}

#[test]
fn column_families_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(URI).unwrap();
    let mut database = options();
    cache.apply_to(&mut database).unwrap();
    let families = ["default", "second"].map(|name| {
        let mut family = options();
        cache.apply_to(&mut family).unwrap();
        ColumnFamilyDescriptor::new(name, family)
    });
    let db = DB::open_cf_descriptors(&database, folder.path(), families).unwrap();
    let second = db.cf_handle("second").unwrap();
    for i in 0..16_000 {
        db.put_cf(second, key(i), value(i)).unwrap();
    }
    db.compact_range_cf(second, None::<&[u8]>, None::<&[u8]>);
    for n in 0..32_000 {
        let i = n * 7919 % 16_000;
        assert_eq!(db.get_cf(second, key(i)).unwrap(), Some(value(i)));
    }
    assert!(cache.counter("scm.hit") > Some(1000), "{}", cache.report());
}

#[test]
fn a_database_keeps_the_cache_that_is_dropped_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let medium = folder.path().join("medium");
    let uri = format!("mezzanine://dram=4M;scm=64M@{}", medium.display());
    let cache = Cache::open(&uri).unwrap();
    let db = open_with(&cache, &folder.path().join("db"));
    write(&db, 8000);
    drop(cache);
    read_all(&db, 8000);
    assert_contains(&why_not(&uri), "medium"); // in use
    drop(db);
    assert_contains(&Cache::open(&uri).unwrap().report(), "recovery.");
}

#[test]
fn a_cache_that_is_never_dropped_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(URI).unwrap();
    let db = open_with(&cache, folder.path());
    write(&db, 1000);
    read_all(&db, 1000);
    std::mem::forget(cache);
    std::mem::forget(db); // the process ends with both open
}

#[test]
fn threads_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(URI).unwrap();
    let db = open_with(&cache, folder.path());
    write(&db, 8000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                read_all(&db, 8000);
                assert!(!cache.report().is_empty());
            });
        }
    });
}

#[test]
fn what_may_change_does() {
    let cache = Cache::open(URI).unwrap();
    cache.set_policy("dram_first").unwrap();
    assert_eq!(cache.policy(), "dram_first");
    cache.set_dram_bytes(2 << 20).unwrap();
    assert_eq!(cache.dram_bytes(), 2 << 20);
    cache.set_scm_bytes(32 << 20).unwrap();
    assert!(cache.scm_bytes() <= 32 << 20);
    assert_contains(&cache.set_policy("wise").unwrap_err().to_string(), "wise");
    assert_contains(&cache.set_policy("a\0b").unwrap_err().to_string(), "NUL");
    assert_contains(&cache.set_scm_bytes(1 << 40).unwrap_err().to_string(), "67108864");
    assert_eq!(cache.counter("no.such"), None);
    assert_eq!(cache.counter("a\0b"), None);
}

#[test]
fn what_is_no_good_is_a_sentence() {
    assert_contains(&why_not(""), "mezzanine://");
    assert_contains(&why_not(&format!("{URI};speed=fast")), "\"speed\"");
    assert_contains(&why_not("mezzanine://dram=4M;scm=64M@/no/such/folder/mezz"), "/no/such/folder");
    assert_contains(&why_not("mezzanine://dram=4M;scm=64M@/dev/shm/a\0b"), "NUL");
    assert_contains(&why_not(&format!("{URI};policy=\u{fc}\u{1f600}")), "\u{fc}\u{1f600}");
    assert_contains(&why_not("mezzanine://dram=4000000T;scm=64M@dram"), "dram=4000000T");
}

#[test]
fn other_tables_are_refused_and_stay() {
    let cache = Cache::open(URI).unwrap();
    let mut plain = options();
    plain.set_plain_table_factory(&rocksdb::PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: 0.75,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: rocksdb::KeyEncodingType::Plain,
        full_scan_mode: false,
        store_index_in_file: false,
    });
    assert_contains(&cache.apply_to(&mut plain).unwrap_err().to_string(), "block-based");
}

/// MEZZANINE_OTHER_RELEASE: a library whose RocksDB says that it is another release.
#[test]
fn another_release_is_refused() {
    if std::env::var_os("MEZZANINE_ASKED").is_some() {
        println!("answer: {}", why_not(URI));
        return;
    }
    let Some(library) = std::env::var_os("MEZZANINE_OTHER_RELEASE") else {
        eprintln!("skipped: MEZZANINE_OTHER_RELEASE names no library");
        return;
    };
    let mut asked = Command::new(std::env::current_exe().unwrap());
    asked.args(["--exact", "another_release_is_refused", "--nocapture"]);
    let said = asked.env("LD_PRELOAD", library).env("MEZZANINE_ASKED", "1").output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_contains(&said, "RocksDB");
    assert_contains(&said, rocksdb_release());
    assert!(!said.contains("it was opened"), "{said}");
}
