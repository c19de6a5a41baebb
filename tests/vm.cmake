# What only a VM with a real kernel persistent-memory device can show, and what only a cut of its power can:
# tools/check --vm.
if(NOT MEZZ_VM_TESTS OR MEZZ_SANITIZE)
  return()
endif()
add_custom_target(vm_tests)  # what they need
function(mezz_vm_program name library)
  add_executable(${name} vm/${name}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${library} GTest::gtest ${MEZZ_FMT})
  target_compile_options(${name} PRIVATE -fno-rtti)
  mezz_warnings(${name})
  add_dependencies(vm_tests ${name})
endfunction()
function(mezz_vm_test name)
  add_test(NAME vm/${name} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/vm/${ARGN})
  set_tests_properties(vm/${name} PROPERTIES LABELS vm TIMEOUT 3600 RUN_SERIAL ON SKIP_RETURN_CODE 77)
endfunction()

# Memory that fails.
mezz_vm_program(poison_test mezz::cache)
foreach(mode fsdax system-ram)
  mezz_vm_test(poison_${mode} pmem_vm.py --mode=${mode} --timeout=1200 -- ${CMAKE_CURRENT_SOURCE_DIR}/vm/poison_suite
               $<TARGET_FILE:poison_test> ${mode})
endforeach()

# The tests of the tier once more, on media that this machine does not have. Left out on the device is what a device
# cannot do: it keeps its size, and what it holds.
set(media_suite recovery_test scm_tier_test snapshot_test durable_erase_test durable_erase_faults_test bad_blocks_test
                keyed_records_test serving_recovery_test forced_interleavings_test durable_erase_race_test
                packed_records_test pack_stage_test media/medium_test)
set(not_on_devdax_recovery_test RecoveryTest.OfAnotherSizeKeepsWhatFits,RecoveryTest.AResizeThatIsCutOffLosesNothing)
set(not_on_devdax_durable_erase_test EraseModes.AMediumThatForgetsNeedsNoTombstones)
set(not_on_devdax_keyed_records_test KeyFile.IsPrivateAndOfItsSize)
set(not_on_devdax_snapshot_test SnapshotTest.CutOffAnywhereIsNotBelieved)
foreach(mode devdax system-ram)
  set(list "")
  foreach(test ${media_suite})
    if(mode STREQUAL devdax AND test STREQUAL packed_records_test)
      continue()  # opens a second tier before the first is closed
    endif()
    string(APPEND list "$<TARGET_FILE:unit_cache>:unit/cache/${test}.cc:${not_on_${mode}_${test}}\n")
  endforeach()
  foreach(test durable_erase faulty_medium scm_tier)
    string(APPEND list "$<TARGET_FILE:model_cache>:model/${test}_fuzz_test.cc\n")
  endforeach()
  foreach(test serving_recovery_stress crash faults_stress scm_tier_stress)
    string(APPEND list "$<TARGET_FILE:stress_cache>:stress/${test}_test.cc\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/media_suite_${mode} CONTENT "${list}")
endforeach()
add_dependencies(vm_tests unit_cache model_cache stress_cache)
set(suite ${CMAKE_CURRENT_SOURCE_DIR}/vm/media_suite)
mezz_vm_test(suite_devdax pmem_vm.py --mode=devdax --size=256M --timeout=7100 -- ${suite} /dev/dax0.0
             ${CMAKE_CURRENT_BINARY_DIR}/media_suite_devdax)
mezz_vm_test(suite_system_ram pmem_vm.py --mode=system-ram --timeout=7100 -- ${suite} numa:1
             ${CMAKE_CURRENT_BINARY_DIR}/media_suite_system-ram)
# An hour where the guest's processors are emulated is not enough; who runs the guest gives up before ctest does.
set_tests_properties(vm/suite_devdax vm/suite_system_ram PROPERTIES TIMEOUT 7200)

if(NOT MEZZ_WITH_ROCKSDB)
  return()
endif()
# The hybrid cache over them.
set(hybrid_sources hybrid_core scm_secondary_cache hybrid_moves warm_core warm_dram pack_auto)
if(RocksDBLibrary_VERSION VERSION_LESS 8.9)
  list(APPEND hybrid_sources hybrid_cache_v7)
  set(hybrid_models hybrid_cache_v7_fuzz)
  set(hybrid_stress policy_switch_stress hybrid_versions_stress)
else()
  list(APPEND hybrid_sources hybrid_cache image_hits)
  set(hybrid_models hybrid_cache_fuzz)
  set(hybrid_stress policy_switch_stress hybrid_versions_stress hybrid_cache_stress)
endif()
set(not_on_devdax_scm_secondary_cache BusErrorsUnderADatabase.CloseTheTierAndItGoesOnWithDramAlone)
foreach(mode devdax system-ram)
  set(list "")
  foreach(test ${hybrid_sources})
    string(APPEND list "$<TARGET_FILE:unit_rocksdb>:unit/integration/${test}_test.cc:${not_on_${mode}_${test}}\n")
  endforeach()
  foreach(test ${hybrid_models})
    string(APPEND list "$<TARGET_FILE:model_rocksdb>:model/${test}_test.cc\n")
  endforeach()
  foreach(test ${hybrid_stress})
    string(APPEND list "$<TARGET_FILE:stress_rocksdb>:stress/${test}_test.cc\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/hybrid_suite_${mode} CONTENT "${list}")
endforeach()
add_dependencies(vm_tests unit_rocksdb model_rocksdb stress_rocksdb)
mezz_vm_test(hybrid_devdax pmem_vm.py --mode=devdax --size=256M --timeout=7100 -- ${suite} /dev/dax0.0
             ${CMAKE_CURRENT_BINARY_DIR}/hybrid_suite_devdax)
mezz_vm_test(hybrid_system_ram pmem_vm.py --mode=system-ram --timeout=7100 -- ${suite} numa:1
             ${CMAKE_CURRENT_BINARY_DIR}/hybrid_suite_system-ram)
set_tests_properties(vm/hybrid_devdax vm/hybrid_system_ram PROPERTIES TIMEOUT 7200)

mezz_vm_program(power_cut_writer mezz::rocksdb)
mezz_vm_program(cache_cut_writer mezz::rocksdb)
set(log_cuts power_cut.py --writer=$<TARGET_FILE:power_cut_writer>)
mezz_vm_test(power_cut_cuts ${log_cuts} --cuts=20)
mezz_vm_test(power_cut_canary ${log_cuts} --cuts=3 --canary)
set(cache_cuts cache_power_cut.py --writer=$<TARGET_FILE:cache_cut_writer>)
mezz_vm_test(cache_power_cut_cuts ${cache_cuts} --cuts=20)
mezz_vm_test(cache_power_cut_canary_forged ${cache_cuts} --cuts=1 --canary=forged)
mezz_vm_test(cache_power_cut_canary_cold ${cache_cuts} --cuts=1 --canary=cold)
