# The hybrid cache: what its releases share, and HybridCache over the whole-cache API of RocksDB 8.9 and later.
mezz_test(unit/admission/ghost_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/rocksdb_policies_test LABELS unit DEPS mezz::admission)
if(MEZZ_WITH_ROCKSDB)
  mezz_test(unit/integration/hybrid_core_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(stress/policy_switch_stress_test LABELS stress DEPS mezz::rocksdb)
  mezz_test(unit/workloads/block_replay_test LABELS unit DEPS mezz::workloads fmt::fmt-header-only)
endif()
if(MEZZ_WITH_ROCKSDB AND RocksDBLibrary_VERSION VERSION_GREATER_EQUAL 8.9)
  mezz_test(unit/integration/hybrid_cache_test LABELS unit DEPS mezz::rocksdb)
  mezz_test(model/hybrid_cache_fuzz_test LABELS model DEPS mezz::rocksdb)
  mezz_test(stress/hybrid_cache_stress_test LABELS stress DEPS mezz::rocksdb)
  mezz_test(stress/rocksdb_stress_test LABELS stress DEPS mezz::rocksdb)
  # They derive from RocksDB's classes, and release builds of RocksDB carry no RTTI for them.
  foreach(test unit_integration_hybrid_cache_test model_hybrid_cache_fuzz_test stress_hybrid_cache_stress_test
               stress_rocksdb_stress_test)
    target_compile_options(${test} PRIVATE -fno-rtti)
  endforeach()
endif()
