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

# Tests once more, on media that this machine does not have. Each of the arguments is TARGET:SOURCE. Left out is what
# not_on_<mode>_<source's name> names, or `all` of it: what a device cannot do. It keeps its size, and what it holds. An
# hour where the guest's processors are emulated is not enough; who runs the guest gives up before ctest does.
function(mezz_vm_suite name)
  foreach(mode devdax system-ram)
    set(list "")
    foreach(entry ${ARGN})
      string(REPLACE ":" ";" entry ${entry})
      list(POP_FRONT entry target source)
      add_dependencies(vm_tests ${target})
      get_filename_component(stem ${source} NAME)
      set(not "${not_on_${mode}_${stem}}")
      if(NOT not STREQUAL "all")
        string(APPEND list "$<TARGET_FILE:${target}>:${source}.cc:${not}\n")
      endif()
    endforeach()
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/vm_${name}_${mode} CONTENT "${list}")
    string(REPLACE - _ test ${name}_${mode})
    mezz_vm_test(${test} pmem_vm.py --mode=${mode} ${size_${mode}} --timeout=7100 --
                 ${CMAKE_CURRENT_SOURCE_DIR}/vm/media_suite ${medium_${mode}}
                 ${CMAKE_CURRENT_BINARY_DIR}/vm_${name}_${mode})
    set_tests_properties(vm/${test} PROPERTIES TIMEOUT 7200)
  endforeach()
endfunction()
set(medium_devdax /dev/dax0.0)
set(medium_system-ram numa:1)
set(size_devdax --size=256M)

# Those of the tier.
set(not_on_devdax_recovery_test RecoveryTest.OfAnotherSizeKeepsWhatFits,RecoveryTest.AResizeThatIsCutOffLosesNothing)
set(not_on_devdax_durable_erase_test EraseModes.AMediumThatForgetsNeedsNoTombstones)
set(not_on_devdax_keyed_records_test KeyFile.IsPrivateAndOfItsSize)
set(not_on_devdax_snapshot_test SnapshotTest.CutOffAnywhereIsNotBelieved)
set(not_on_devdax_packed_records_test all)  # opens a second tier before the first is closed
set(suite recovery scm_tier snapshot durable_erase durable_erase_faults bad_blocks keyed_records serving_recovery
          forced_interleavings durable_erase_race packed_records pack_stage media/medium)
list(TRANSFORM suite REPLACE "(.+)" "unit_cache:unit/cache/\\1_test")
foreach(test durable_erase faulty_medium scm_tier)
  list(APPEND suite model_cache:model/${test}_fuzz_test)
endforeach()
foreach(test serving_recovery_stress crash faults_stress scm_tier_stress)
  list(APPEND suite stress_cache:stress/${test}_test)
endforeach()
mezz_vm_suite(suite ${suite})

if(NOT MEZZ_WITH_ROCKSDB)
  return()
endif()
# Those of the hybrid cache.
set(not_on_devdax_scm_secondary_cache_test BusErrorsUnderADatabase.CloseTheTierAndItGoesOnWithDramAlone)
set(suite hybrid_core scm_secondary_cache hybrid_moves warm_core warm_dram pack_auto)
set(since_8_9 "")
if(RocksDBLibrary_VERSION VERSION_LESS 8.9)
  set(cache hybrid_cache_v7)
  list(APPEND suite ${cache})
else()
  set(cache hybrid_cache)
  list(APPEND suite ${cache} image_hits)
  set(since_8_9 stress_rocksdb:stress/hybrid_cache_stress_test)
endif()
list(TRANSFORM suite REPLACE "(.+)" "unit_rocksdb:unit/integration/\\1_test")
mezz_vm_suite(hybrid ${suite} model_rocksdb:model/${cache}_fuzz_test stress_rocksdb:stress/policy_switch_stress_test
              stress_rocksdb:stress/hybrid_versions_stress_test ${since_8_9})

mezz_vm_program(power_cut_writer mezz::rocksdb)
mezz_vm_program(cache_cut_writer mezz::rocksdb)
set(log_cuts power_cut.py --writer=$<TARGET_FILE:power_cut_writer>)
mezz_vm_test(power_cut_cuts ${log_cuts} --cuts=20)
mezz_vm_test(power_cut_canary ${log_cuts} --cuts=3 --canary)
set(cache_cuts cache_power_cut.py --writer=$<TARGET_FILE:cache_cut_writer>)
mezz_vm_test(cache_power_cut_cuts ${cache_cuts} --cuts=20)
mezz_vm_test(cache_power_cut_canary_forged ${cache_cuts} --cuts=1 --canary=forged)
mezz_vm_test(cache_power_cut_canary_cold ${cache_cuts} --cuts=1 --canary=cold)
