# Our own rules, the installed package, and the programs of RocksDB that run for minutes.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME tools/tidy COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/tidy.py)
add_test(NAME tools/verdict COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/verdict.py --self-test)
add_test(NAME tools/results COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/results.py --self-test)
set_tests_properties(tools/tidy tools/verdict tools/results PROPERTIES LABELS unit TIMEOUT 60)

# clang-tidy waits for nothing: beside the tests that wait for the disk it costs no time.
if(NOT MEZZ_SANITIZE AND NOT MEZZ_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  find_program(CLANG_TIDY clang-tidy)
  if(CLANG_TIDY)
    add_test(NAME tools/lint
             COMMAND ${PROJECT_SOURCE_DIR}/tools/lint $<$<BOOL:${MEZZ_LONG_TESTS}>:--all> ${PROJECT_BINARY_DIR}
             COMMAND_EXPAND_LISTS)
    set_tests_properties(tools/lint PROPERTIES LABELS unit TIMEOUT 600)
  else()
    message(STATUS "clang-tidy not found: tools/lint is left out")
  endif()
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
    foreach(way secondary preload)
      add_test(NAME long/db_stress_${way}
               COMMAND long/db_stress.sh ${way} ${MEZZ_ROCKSDB_ROOT}/bin/db_stress ${PROJECT_BINARY_DIR}/lib
               WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      set_tests_properties(long/db_stress_${way} PROPERTIES LABELS long TIMEOUT 3600 RUN_SERIAL ON)
    endforeach()
  else()
    message(STATUS "db_stress not found in MEZZ_ROCKSDB_ROOT: its tests are left out")
  endif()
endif()
