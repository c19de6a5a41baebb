# Options, the URI, ScmSecondaryCache, RocksDB 7.8's hybrid cache, and the libraries that unmodified programs preload.
if(NOT MEZZ_WITH_ROCKSDB)
  return()
endif()
mezz_test(unit/integration/options_test LABELS unit DEPS mezz::rocksdb)
mezz_test(unit/integration/cache_uri_test LABELS unit DEPS mezz::rocksdb)
mezz_test(unit/integration/machine_test LABELS unit DEPS mezz::rocksdb)
mezz_test(unit/integration/option_table_test LABELS unit DEPS mezz::rocksdb
          DEFINITIONS MEZZ_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
mezz_test(unit/integration/scm_secondary_cache_test APART LABELS unit DEPS mezz::rocksdb)
mezz_test(fuzz/cache_uri_fuzz_test LABELS fuzz DEPS mezz::rocksdb TSAN_LONG)  # one thread, minutes
# Linked before RocksDB, the library's makers hide RocksDB's as they do when it is preloaded. Each case is a child that
# ends with _exit, by a signal and the like: the sanitizer takes threads that nobody joined there for leaked ones.
mezz_test(unit/integration/preload_test LABELS unit DEPS mezzanine_preload RocksDBLibrary::rocksdb ALONE
          TSAN report_thread_leaks=0)
mezz_test(unit/integration/preload_report_test LABELS unit DEPS mezzanine_preload RocksDBLibrary::rocksdb ALONE
          TSAN report_thread_leaks=0)
mezz_test(unit/integration/c_cache_test LABELS unit DEPS mezz::c RocksDBLibrary::rocksdb ALONE)
if(RocksDBLibrary_VERSION VERSION_LESS 8.9)
  mezz_test(unit/integration/hybrid_cache_v7_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(model/hybrid_cache_v7_fuzz_test LABELS model DEPS mezz::rocksdb)
endif()

# A program that opens a RocksDB of its own, or what passes for one.
add_executable(dlopen_host plugin/dlopen_host.cc)
target_link_libraries(dlopen_host PRIVATE ${CMAKE_DL_LIBS})
add_library(rocksdb_user MODULE plugin/rocksdb_user.cc)
target_link_libraries(rocksdb_user PRIVATE RocksDBLibrary::rocksdb)
add_library(other_rocksdb MODULE plugin/other_rocksdb.cc)
add_executable(cache_maker plugin/cache_maker.cc)
target_link_libraries(cache_maker PRIVATE ${CMAKE_DL_LIBS})
foreach(target dlopen_host rocksdb_user other_rocksdb cache_maker)
  mezz_warnings(${target})
endforeach()

find_program(MEZZ_DB_BENCH db_bench HINTS ${MEZZ_ROCKSDB_ROOT}/bin NO_CACHE)
foreach(test plugin_test preload_test dlopen_test other_release_test wal_test limits_test)
  add_test(NAME plugin/${test} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/plugin/${test}.sh)
  set(environment "LIBRARIES=${PROJECT_BINARY_DIR}/lib" "DB_BENCH=${MEZZ_DB_BENCH}" "SANITIZE=${MEZZ_SANITIZE}"
                  "VERSION=${RocksDBLibrary_VERSION}" "HOST=$<TARGET_FILE:dlopen_host>"
                  "USER_OBJECT=$<TARGET_FILE:rocksdb_user>" "OTHER_OBJECT=$<TARGET_FILE:other_rocksdb>"
                  "MAKER=$<TARGET_FILE:cache_maker>")
  set_tests_properties(plugin/${test} PROPERTIES LABELS plugin TIMEOUT 300 SKIP_RETURN_CODE 77
                       ENVIRONMENT "${environment}")
endforeach()

find_package(Python3 COMPONENTS Interpreter REQUIRED)
if(NOT MEZZ_ROCKSDB_ROOT AND NOT MEZZ_SANITIZE)
  add_test(NAME plugin/strangers COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/plugin/strangers_test.py
           ${PROJECT_BINARY_DIR}/lib)
  set_tests_properties(plugin/strangers PROPERTIES LABELS plugin TIMEOUT 600)
endif()

# Its programs are those that the page builds.
if(TARGET mezz_sim AND TARGET mezz_inspect)
  add_test(NAME plugin/first_cache
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/plugin/first_cache_test.py ${PROJECT_BINARY_DIR}
                   ${MEZZ_DB_BENCH} ${RocksDBLibrary_VERSION} "${MEZZ_SANITIZE}")
  set_tests_properties(plugin/first_cache PROPERTIES LABELS plugin TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

add_test(NAME plugin/metrics
         COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/plugin/metrics_test.py ${PROJECT_BINARY_DIR}
                 ${MEZZ_DB_BENCH} ${RocksDBLibrary_VERSION} "${MEZZ_SANITIZE}")
set_tests_properties(plugin/metrics PROPERTIES LABELS plugin TIMEOUT 600 SKIP_RETURN_CODE 77)
