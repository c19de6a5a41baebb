mezz_test(unit/cache/index_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/index_growth_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/tag_scan_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/segment_log_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/shares_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/several_media_test LABELS unit DEPS mezz::cache ${MEZZ_FMT})
# One thread; a minute under the thread sanitizer.
mezz_test(unit/cache/ordered_media_test LABELS unit DEPS mezz::cache TSAN_LONG)
mezz_test(unit/cache/member_capacity_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/near_media_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/segment_queue_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/reclaimer_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/dead_files_test LABELS unit DEPS mezz::cache)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")  # which has no test points
  mezz_test(unit/cache/forced_interleavings_test LABELS unit DEPS mezz::cache)
  mezz_test(unit/cache/serving_recovery_test LABELS unit DEPS mezz::cache)
  mezz_test(unit/cache/durable_erase_race_test APART LABELS unit DEPS mezz::cache)
endif()
mezz_test(unit/cache/scm_tier_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/recovery_test APART LABELS unit DEPS mezz::cache)
if(MEZZ_PROGRAMS)
  mezz_test(unit/cache/inspect_program_test APART LABELS unit DEPS mezz::cache PkgConfig::NLOHMANN_JSON
            NEEDS mezz_inspect DEFINITIONS MEZZ_INSPECT_BINARY="${PROJECT_BINARY_DIR}/bin/mezz_inspect")
endif()
mezz_test(unit/cache/bad_blocks_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/lost_memory_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/lost_superblock_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/durable_erase_faults_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/keyed_records_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/snapshot_test APART LABELS unit DEPS mezz::cache TSAN_LONG)  # one thread, a minute
mezz_test(unit/cache/persistence_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/durable_erase_test APART LABELS unit DEPS mezz::cache TSAN_LONG)  # one thread, minutes
mezz_test(unit/cache/packer_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/mean_share_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/packed_records_test APART LABELS unit DEPS mezz::cache TSAN_LONG)  # one thread, a minute
mezz_test(unit/cache/pack_stage_test APART LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/image_records_test APART LABELS unit DEPS mezz::cache)
# Minutes of training; the trainer beside its users is stress/dictionaries_stress_test.
mezz_test(unit/cache/packed_dictionaries_test APART LABELS unit DEPS mezz::cache TSAN_LONG)
mezz_test(unit/cache/dictionaries_test LABELS unit DEPS mezz::cache)
mezz_test(model/scm_tier_fuzz_test APART LABELS model DEPS mezz::cache TSAN_LONG)  # one thread, minutes
mezz_test(model/recovery_reordering_test APART LABELS model DEPS mezz::cache THOROUGH TSAN_LONG)  # one thread at a time
mezz_test(model/snapshot_reordering_test LABELS model DEPS mezz::cache THOROUGH TSAN_LONG)  # one thread at a time
mezz_test(model/durable_erase_fuzz_test APART LABELS model DEPS mezz::cache TSAN_LONG)  # one user, minutes
mezz_test(model/faulty_medium_fuzz_test APART LABELS model DEPS mezz::cache TSAN_LONG)  # one user, minutes
mezz_test(fuzz/recovery_fuzz_test LABELS fuzz DEPS mezz::cache ${MEZZ_FMT}
          DEFINITIONS MEZZ_FUZZ_CORPUS="${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/recovery"
          TSAN_LONG)  # one thread, a minute
if(MEZZ_FUZZ)
  add_executable(recovery_fuzzer fuzz/recovery_fuzzer.cc)
  target_link_libraries(recovery_fuzzer PRIVATE mezz::cache mezz_test_main ${MEZZ_FMT})
  target_link_options(recovery_fuzzer PRIVATE -fsanitize=fuzzer)
  target_compile_options(mezz_cache PRIVATE -fsanitize=fuzzer-no-link)  # the target itself would only slow it down
  mezz_warnings(recovery_fuzzer)
endif()
mezz_test(stress/scm_tier_stress_test LABELS stress DEPS mezz::cache)
mezz_test(stress/ordered_media_stress_test APART LABELS stress DEPS mezz::cache)
mezz_test(stress/serving_recovery_stress_test APART LABELS stress DEPS mezz::cache)
mezz_test(stress/faults_stress_test APART LABELS stress DEPS mezz::cache)
mezz_test(stress/crash_test APART LABELS stress DEPS mezz::cache THOROUGH)
# By itself because of a hook of the sanitizer's; half an hour if asked for.
mezz_test(stress/soak_test LABELS stress DEPS mezz::cache ALONE TIMEOUT 2400)
mezz_test(stress/dictionaries_stress_test LABELS stress DEPS mezz::cache)
mezz_bench(bench/scm_tier_bench DEPS mezz::cache ${MEZZ_FMT} GTest::gtest)
mezz_bench(bench/reopen_bench DEPS mezz::cache ${MEZZ_FMT} GTest::gtest)
mezz_bench(bench/persistence_bench DEPS mezz::cache ${MEZZ_FMT} GTest::gtest)
