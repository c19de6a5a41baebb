# Our own rules, the installed package, and the programs of RocksDB that run for minutes.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME tools/conventions COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/conventions.py)
add_test(NAME tools/mutants COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/mutants/run --check)
add_test(NAME tools/quickstart_summary
         COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/quickstart_summary.py --self-test)
add_test(NAME tools/results COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/results.py --self-test)
add_test(NAME tools/results_check COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/results.py --check)
add_test(NAME tools/pages COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/pages.py)
add_test(NAME tools/db_bench COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/db_bench.py --self-test)
add_test(NAME tools/ispass20 COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/ispass20.py)
set_tests_properties(tools/conventions tools/mutants tools/quickstart_summary tools/results tools/results_check
                     tools/pages tools/db_bench tools/ispass20 PROPERTIES LABELS "unit;same" TIMEOUT 60)
foreach(test called changed claims measuring plot progress)
  add_test(NAME tools/${test} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tools/${test}_test.py)
  set_tests_properties(tools/${test} PROPERTIES LABELS "unit;same" TIMEOUT 120)
endforeach()

# 77: no Python here has PyYAML, or there is no systemd-analyze; ctest then lists the test as skipped.
foreach(test pages systemd)
  add_test(NAME tools/${test}_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tools/${test}_test.py)
  set_tests_properties(tools/${test}_test PROPERTIES LABELS "unit;same" TIMEOUT 60 SKIP_RETURN_CODE 77)
endforeach()

# 77: no Python here has PyYAML, or no db_bench loads RocksDB 11; ctest then lists the test as skipped.
add_test(NAME tools/tune COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tune/tune_test.py)
set_tests_properties(tools/tune PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)
if(TARGET mezzanine_flash AND NOT MEZZ_SANITIZE AND NOT MEZZ_COVERAGE
   AND RocksDBLibrary_VERSION VERSION_GREATER_EQUAL 11)
  add_test(NAME plugin/tune COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tune/tune_db_bench_test.py
           ${PROJECT_BINARY_DIR} ${MEZZ_ROCKSDB_ROOT}/bin/db_bench)
  set_tests_properties(plugin/tune PROPERTIES LABELS plugin TIMEOUT 300 SKIP_RETURN_CODE 77)
  foreach(paper ispass20 trocksdb)
    add_test(NAME plugin/${paper} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/papers/reproduce_test.py
             ${paper} ${PROJECT_BINARY_DIR} ${MEZZ_ROCKSDB_ROOT}/bin/db_bench)
    set_tests_properties(plugin/${paper} PROPERTIES LABELS plugin TIMEOUT 300 SKIP_RETURN_CODE 77)
  endforeach()
endif()

# Its quick half is a step of .ci/run.
if(NOT MEZZ_SANITIZE AND NOT MEZZ_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL "Release" AND MEZZ_LONG_TESTS)
  find_program(CLANG_TIDY clang-tidy)
  if(CLANG_TIDY)
    add_test(NAME tools/lint COMMAND ${PROJECT_SOURCE_DIR}/tools/lint --all ${PROJECT_BINARY_DIR})
    set_tests_properties(tools/lint PROPERTIES LABELS unit TIMEOUT 600)
  else()
    message(STATUS "clang-tidy not found: tools/lint is left out")
  endif()
endif()

# 77: no man here; ctest then lists the test as skipped.
if(TARGET mezz_pages)
  add_test(NAME tools/man
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tools/man_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(tools/man PROPERTIES LABELS unit TIMEOUT 120 SKIP_RETURN_CODE 77)
endif()

if(TARGET mezz_replay AND NOT MEZZ_SANITIZE)
  add_test(NAME tools/command_lines
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tools/command_lines_test.py
                   ${PROJECT_BINARY_DIR}/bin)
  set_tests_properties(tools/command_lines PROPERTIES LABELS unit TIMEOUT 60)
endif()

if(MEZZ_WITH_ROCKSDB)
  add_test(NAME tools/snippets COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tools/snippets_test.py
           ${PROJECT_BINARY_DIR})
  set_tests_properties(tools/snippets PROPERTIES LABELS unit TIMEOUT 120)
endif()

# A sanitized library needs a sanitized consumer; that is not what is installed.
if(MEZZ_WITH_ROCKSDB AND NOT MEZZ_SANITIZE AND NOT MEZZ_COVERAGE)
  add_test(NAME install/consumer
           COMMAND consumer/check_install.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(install/consumer PROPERTIES LABELS install TIMEOUT 300)
endif()

if(MEZZ_LONG_TESTS AND MEZZ_WITH_ROCKSDB AND NOT MEZZ_SANITIZE)
  if(EXISTS ${MEZZ_ROCKSDB_ROOT}/bin/db_stress)
    foreach(way secondary preload shares wal)
      add_test(NAME long/db_stress_${way}
               COMMAND long/db_stress.sh ${way} ${MEZZ_ROCKSDB_ROOT}/bin/db_stress ${PROJECT_BINARY_DIR}/lib
               WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      set_tests_properties(long/db_stress_${way} PROPERTIES LABELS long TIMEOUT 3600 RUN_SERIAL ON)
    endforeach()
  else()
    message(STATUS "db_stress not found in MEZZ_ROCKSDB_ROOT: its tests are left out")
  endif()
endif()
