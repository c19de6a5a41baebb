# Options, the URI, ScmSecondaryCache, RocksDB 7.8's hybrid cache, and the libraries that unmodified programs preload.
if(NOT MEZZ_WITH_ROCKSDB)
  return()
endif()
mezz_test(unit/integration/options_test LABELS unit DEPS mezz::rocksdb)
mezz_test(unit/integration/cache_uri_test LABELS unit DEPS mezz::rocksdb)
mezz_test(unit/integration/machine_test LABELS unit DEPS mezz::rocksdb)
mezz_test(unit/integration/option_table_test LABELS unit DEPS mezz::rocksdb
          DEFINITIONS MEZZ_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
mezz_test(unit/integration/scm_secondary_cache_test LABELS unit DEPS mezz::rocksdb)
mezz_test(fuzz/cache_uri_fuzz_test LABELS fuzz DEPS mezz::rocksdb)
# Linked before RocksDB, the library's makers hide RocksDB's as they do when it is preloaded.
mezz_test(unit/integration/preload_test LABELS unit DEPS mezzanine_preload RocksDBLibrary::rocksdb ALONE)
mezz_test(unit/integration/preload_report_test LABELS unit DEPS mezzanine_preload RocksDBLibrary::rocksdb ALONE)
if(RocksDBLibrary_VERSION VERSION_LESS 8.9)
  mezz_test(unit/integration/hybrid_cache_v7_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(model/hybrid_cache_v7_fuzz_test LABELS model DEPS mezz::rocksdb)
endif()

find_program(MEZZ_DB_BENCH db_bench HINTS ${MEZZ_ROCKSDB_ROOT}/bin NO_CACHE)
foreach(test plugin_test preload_test)
  add_test(NAME plugin/${test} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/plugin/${test}.sh)
  set(environment "LIBRARIES=${PROJECT_BINARY_DIR}/lib" "DB_BENCH=${MEZZ_DB_BENCH}" "SANITIZE=${MEZZ_SANITIZE}"
                  "VERSION=${RocksDBLibrary_VERSION}")
  set_tests_properties(plugin/${test} PROPERTIES LABELS plugin TIMEOUT 300 SKIP_RETURN_CODE 77
                       ENVIRONMENT "${environment}")
endforeach()
