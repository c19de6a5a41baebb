// SPDX-License-Identifier: Apache-2.0
//! Builds Mezzanine's C++ against the headers of the librocksdb-sys in the same build, and links it statically; or links
//! the libmezzanine_c.so in MEZZANINE_LIB_DIR.
use std::env;
use std::path::{Path, PathBuf};

const LIBRARIES: [&str; 5] = ["mezzanine_c_static", "mezz_rocksdb", "mezz_curves", "mezz_admission", "mezz_cache"];
const NEEDED: [&str; 5] = ["libpmem2", "numa", "liblz4", "libzstd", "libsodium"];

fn fail(sentence: &str) -> ! {
    println!("cargo:warning=mezzanine-rocksdb: {sentence}");
    std::process::exit(1);
}

fn folder_of(variable: &str) -> Option<PathBuf> {
    println!("cargo:rerun-if-env-changed={variable}");
    env::var_os(variable).map(PathBuf::from)
}

/// Inside of the crate that was published, or in Mezzanine's repository.
fn sources(here: &Path) -> PathBuf {
    let places = [here.join("mezzanine"), here.join("../..")];
    let found = places.into_iter().find(|folder| folder.join("integration/c/mezzanine_c.cc").exists());
    found.unwrap_or_else(|| fail("its C++ sources are missing from the crate"))
}

/// The headers and the library that librocksdb-sys has built, or was told to link to.
fn rocksdb() -> (PathBuf, PathBuf) {
    let of_crate = |key: &str| {
        let told = env::var_os(format!("DEP_ROCKSDB_{key}")).map(PathBuf::from);
        told.unwrap_or_else(|| fail("librocksdb-sys does not tell where it lies: 0.19 does"))
    };
    let headers =
        folder_of("ROCKSDB_INCLUDE_DIR").unwrap_or_else(|| of_crate("CARGO_MANIFEST_DIR").join("rocksdb/include"));
    let is_static = folder_of("ROCKSDB_STATIC").is_some();
    let library = match folder_of("ROCKSDB_LIB_DIR") {
        Some(folder) => folder.join(if is_static { "librocksdb.a" } else { "librocksdb.so" }),
        None => of_crate("OUT_DIR").join("librocksdb.a"),
    };
    (headers, library)
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let source = sources(&here);
    for part in ["CMakeLists.txt", "cache", "admission", "integration", "tools/cmake"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        fail("it is for Linux");
    }
    if let Some(folder) = folder_of("MEZZANINE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=dylib=mezzanine_c");
        return;
    }
    // Without the system's folders: ahead of librocksdb-sys's, they would have the distribution's RocksDB linked.
    let mut system = pkg_config::Config::new();
    for library in NEEDED {
        if let Err(why) = system.print_system_libs(false).probe(library) {
            fail(&format!(
                "{library} is missing; its README has the packages to install ({})",
                why.to_string().replace('\n', " ")
            ));
        }
    }

    let (headers, library) = rocksdb();
    let lib = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("lib");
    cmake::Config::new(&source)
        .profile("Release")
        .no_default_flags(true) // Mezzanine's own
        .define("MEZZ_DEVELOPER_MODE", "OFF")
        .define("MEZZ_PROGRAMS", "OFF")
        .define("MEZZ_FMT_HEADER_ONLY", "ON")
        .define("CMAKE_ARCHIVE_OUTPUT_DIRECTORY", &lib)
        .define("RocksDBLibrary_INCLUDE_DIR", headers)
        .define("RocksDBLibrary_LIBRARY", library)
        .build_target(LIBRARIES[0])
        .build();
    println!("cargo:rustc-link-search=native={}", lib.display());
    for library in LIBRARIES {
        println!("cargo:rustc-link-lib=static={library}");
    }
    println!("cargo:rustc-link-lib=dylib=stdc++");
}
