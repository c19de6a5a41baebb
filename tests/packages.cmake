# The Debian packages, in a clean root: tools/check --packages. They are built as they are released, apart from this
# build.
if(NOT MEZZ_WITH_ROCKSDB OR MEZZ_ROCKSDB_ROOT OR MEZZ_SANITIZE OR MEZZ_COVERAGE)
  return()
endif()
add_custom_target(packages_tests)
add_test(NAME packages/deb COMMAND packages/deb_test.sh WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
# Compiles all anew, optimised.
set_tests_properties(packages/deb PROPERTIES LABELS packages TIMEOUT 7200 SKIP_RETURN_CODE 77)
