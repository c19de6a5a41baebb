// SPDX-License-Identifier: Apache-2.0
//! A block cache of two tiers for RocksDB, for programs that use the crate `rocksdb`.
//!
//! ```no_run
//! let cache = mezzanine_rocksdb::Cache::open("mezzanine://dram=256M;scm=1G@/dev/shm/mezz")?;
//! let mut options = rocksdb::Options::default();
//! options.create_if_missing(true);
//! cache.apply_to(&mut options)?; // then open the database as ever
//! let db = rocksdb::DB::open(&options, "/var/lib/db")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is no good is an [`Error`] with a sentence; nothing panics, and nothing ends the process.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CStr, CString};
use std::fmt;
use std::ptr::{null_mut, NonNull};

use rocksdb::AsRawPtr;

/// A sentence that names what is no good, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// An open cache. Dropping it lets go of it: databases that have it keep it until they are closed, so it may go before
/// or after them. Its medium is closed with the last of them.
#[derive(Debug)]
pub struct Cache {
    native: NonNull<native::Cache>,
}

// All functions but the last may be called at the same time, and by any thread.
unsafe impl Send for Cache {}
unsafe impl Sync for Cache {}

impl Cache {
    /// Opens the cache that the URI tells of. Its keys are in docs/reference/options.md of Mezzanine's repository.
    ///
    /// # Errors
    /// If the URI or the medium is no good, or the program runs another release of RocksDB than [`rocksdb_release`].
    pub fn open(uri: &str) -> Result<Cache, Error> {
        let uri = text_without_nul(uri, "the URI")?;
        let mut sentence = null_mut();
        let native = unsafe { native::mezzanine_cache_open(uri.as_ptr(), &mut sentence) };
        NonNull::new(native).map(|native| Cache { native }).ok_or_else(|| taken_error(sentence))
    }

    /// Prepares options for the cache: the block cache, what warms it, and a listener for deleted files. Replaces their
    /// table factory, so call it after setting one. A database with column families: call it for the options of each,
    /// and for those that the database is opened with.
    ///
    /// # Errors
    /// If their tables are not block-based.
    pub fn apply_to(&self, options: &mut rocksdb::Options) -> Result<(), Error> {
        // RocksDB's own handle, which `options` keeps alive meanwhile; the C function sees that it is what it knows.
        let handle = unsafe { options.as_raw_ptr() };
        self.answer(|cache, sentence| unsafe { native::mezzanine_cache_use(cache, handle, sentence) })
    }

    /// Text to be read by people: options, medium, sizes, what was decided. Empty if there is no memory for it.
    pub fn report(&self) -> String {
        taken(unsafe { native::mezzanine_cache_report(self.native.as_ptr()) })
    }

    /// All counters by their names: what ever happened.
    pub fn statistics(&self) -> BTreeMap<String, u64> {
        let lines = taken(unsafe { native::mezzanine_cache_statistics(self.native.as_ptr()) });
        let counters = lines.lines().filter_map(|line| line.split_once(": "));
        counters.filter_map(|(name, count)| Some((name.to_owned(), count.parse().ok()?))).collect()
    }

    /// One of these. None: no counter has that name.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let name = CString::new(name).ok()?;
        let mut value = 0;
        let found = unsafe { native::mezzanine_cache_counter(self.native.as_ptr(), name.as_ptr(), &mut value) };
        (found == 0).then_some(value)
    }

    /// The size of the DRAM tier.
    pub fn dram_bytes(&self) -> u64 {
        unsafe { native::mezzanine_cache_dram_bytes(self.native.as_ptr()) }
    }

    /// Changes it, while the cache is used.
    pub fn set_dram_bytes(&self, bytes: u64) -> Result<(), Error> {
        self.answer(|cache, sentence| unsafe { native::mezzanine_cache_set_dram_bytes(cache, bytes, sentence) })
    }

    /// The size of the SCM tier.
    pub fn scm_bytes(&self) -> u64 {
        unsafe { native::mezzanine_cache_scm_bytes(self.native.as_ptr()) }
    }

    /// Changes it, while the cache is used.
    ///
    /// # Errors
    /// If it is more than it was opened with.
    pub fn set_scm_bytes(&self, bytes: u64) -> Result<(), Error> {
        self.answer(|cache, sentence| unsafe { native::mezzanine_cache_set_scm_bytes(cache, bytes, sentence) })
    }

    /// The name of what decides.
    pub fn policy(&self) -> String {
        taken(unsafe { native::mezzanine_cache_policy(self.native.as_ptr()) })
    }

    /// Changes what decides, while the cache is used.
    ///
    /// # Errors
    /// If there is no such policy.
    pub fn set_policy(&self, name: &str) -> Result<(), Error> {
        let name = text_without_nul(name, "the policy's name")?;
        self.answer(|cache, sentence| unsafe { native::mezzanine_cache_set_policy(cache, name.as_ptr(), sentence) })
    }

    fn answer(&self, ask: impl FnOnce(*mut native::Cache, *mut *mut c_char) -> c_int) -> Result<(), Error> {
        let mut sentence = null_mut();
        match ask(self.native.as_ptr(), &mut sentence) {
            0 => Ok(()),
            _ => Err(taken_error(sentence)),
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        unsafe { native::mezzanine_cache_close(self.native.as_ptr()) }
    }
}

/// The release of RocksDB whose headers this was built with.
pub fn rocksdb_release() -> &'static str {
    let release = unsafe { CStr::from_ptr(native::mezzanine_rocksdb_release()) };
    release.to_str().unwrap_or("?")
}

fn text_without_nul(text: &str, what: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error(format!("{what} has a NUL in it")))
}

/// What the library gave, and the caller must free. A path in it need not be UTF-8.
fn taken(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    unsafe { native::mezzanine_free(text) };
    copy
}

fn taken_error(sentence: *mut c_char) -> Error {
    Error(if sentence.is_null() { "no memory".to_owned() } else { taken(sentence) })
}

/// mezzanine_c.h, which has the contracts.
mod native {
    use super::{c_char, c_int};

    #[repr(C)]
    pub struct Cache {
        private: [u8; 0],
    }

    extern "C" {
        pub fn mezzanine_cache_open(uri: *const c_char, error: *mut *mut c_char) -> *mut Cache;
        pub fn mezzanine_cache_close(cache: *mut Cache);
        pub fn mezzanine_cache_use(
            cache: *const Cache,
            options: *mut librocksdb_sys::rocksdb_options_t,
            error: *mut *mut c_char,
        ) -> c_int;
        pub fn mezzanine_cache_report(cache: *const Cache) -> *mut c_char;
        pub fn mezzanine_cache_statistics(cache: *const Cache) -> *mut c_char;
        pub fn mezzanine_cache_counter(cache: *const Cache, name: *const c_char, value: *mut u64) -> c_int;
        pub fn mezzanine_cache_dram_bytes(cache: *const Cache) -> u64;
        pub fn mezzanine_cache_set_dram_bytes(cache: *mut Cache, bytes: u64, error: *mut *mut c_char) -> c_int;
        pub fn mezzanine_cache_scm_bytes(cache: *const Cache) -> u64;
        pub fn mezzanine_cache_set_scm_bytes(cache: *mut Cache, bytes: u64, error: *mut *mut c_char) -> c_int;
        pub fn mezzanine_cache_policy(cache: *const Cache) -> *mut c_char;
        pub fn mezzanine_cache_set_policy(cache: *mut Cache, name: *const c_char, error: *mut *mut c_char) -> c_int;
        pub fn mezzanine_rocksdb_release() -> *const c_char;
        pub fn mezzanine_free(text: *mut c_char);
    }
}
