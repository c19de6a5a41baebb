# The hybrid cache: what its releases share, and HybridCache over the whole-cache API of RocksDB 8.9 and later.
mezz_test(unit/admission/ghost_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/lineage_test APART LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/rocksdb_policies_test APART LABELS unit DEPS mezz::admission)
if(MEZZ_WITH_ROCKSDB)
  mezz_test(unit/integration/dram_budget_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/dram_of_a_block_test LABELS unit DEPS mezz::rocksdb TSAN_LONG)  # one thread, minutes
  mezz_test(unit/integration/dram_hit_bits_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/hybrid_core_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/inspected_sessions_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/dead_file_listener_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/blob_values_test APART LABELS unit DEPS mezz::rocksdb TSAN_LONG)  # one thread, minutes
  mezz_test(unit/integration/move_gate_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/miss_timer_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/pack_auto_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/hybrid_moves_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/warm_core_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/warm_dram_test LABELS unit DEPS mezz::rocksdb)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")  # which has no test points
    mezz_test(unit/integration/late_tier_test APART LABELS unit DEPS mezz::rocksdb)
  endif()
  mezz_test(stress/policy_switch_stress_test LABELS stress DEPS mezz::rocksdb)
  mezz_test(stress/hybrid_versions_stress_test LABELS stress DEPS mezz::rocksdb)
  mezz_test(stress/rocksdb_stress_test APART LABELS stress DEPS mezz::rocksdb TIMEOUT 600)
  mezz_test(stress/db_crash_test LABELS stress DEPS mezz::rocksdb ALONE TIMEOUT 900)  # that is for MEZZ_CRASHES=500
endif()
if(MEZZ_WITH_ROCKSDB AND RocksDBLibrary_VERSION VERSION_GREATER_EQUAL 8.9)
  mezz_test(unit/integration/adopting_allocator_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/hybrid_cache_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(unit/integration/image_hits_test APART LABELS unit DEPS mezz::rocksdb)
  mezz_test(model/hybrid_cache_fuzz_test LABELS model DEPS mezz::rocksdb TSAN_LONG)  # one thread, minutes
  mezz_test(stress/hybrid_cache_stress_test APART LABELS stress DEPS mezz::rocksdb)
  mezz_test(stress/image_db_stress_test APART LABELS stress DEPS mezz::rocksdb)
  mezz_bench(bench/packed_hit_bench DEPS mezz::rocksdb ${MEZZ_FMT} GTest::gtest)
  if(TARGET bench_packed_hit_bench)
    target_compile_options(bench_packed_hit_bench PRIVATE -fno-rtti)  # it derives from RocksDB's classes
  endif()
endif()
