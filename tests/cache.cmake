mezz_test(unit/cache/index_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/tag_scan_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/segment_log_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/reclaimer_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/dead_files_test LABELS unit DEPS mezz::cache)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")  # which has no test points
  mezz_test(unit/cache/forced_interleavings_test LABELS unit DEPS mezz::cache)
endif()
mezz_test(unit/cache/scm_tier_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/packer_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/packed_records_test LABELS unit DEPS mezz::cache)
mezz_test(model/scm_tier_fuzz_test LABELS model DEPS mezz::cache TSAN_LONG)  # one thread, minutes
mezz_test(stress/scm_tier_stress_test LABELS stress DEPS mezz::cache)
mezz_bench(bench/scm_tier_bench DEPS mezz::cache ${MEZZ_FMT} GTest::gtest)
