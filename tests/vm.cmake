# The power goes under a database with its logs on SCM, in a VM with a real kernel persistent-memory device:
# tools/check --vm.
if(NOT MEZZ_VM_TESTS OR NOT MEZZ_WITH_ROCKSDB OR MEZZ_SANITIZE)
  return()
endif()
add_executable(power_cut_writer vm/power_cut_writer.cc)
target_include_directories(power_cut_writer PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(power_cut_writer PRIVATE mezz::rocksdb GTest::gtest ${MEZZ_FMT})
target_compile_options(power_cut_writer PRIVATE -fno-rtti)
mezz_warnings(power_cut_writer)
foreach(way cuts canary)
  set(options --cuts=20)
  if(way STREQUAL canary)
    set(options --cuts=3 --canary)
  endif()
  add_test(NAME vm/power_cut_${way} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/vm/power_cut.py
                                            --writer=$<TARGET_FILE:power_cut_writer> ${options})
  set_tests_properties(vm/power_cut_${way} PROPERTIES LABELS vm TIMEOUT 3600 RUN_SERIAL ON SKIP_RETURN_CODE 77)
endforeach()
