# The log on SCM: its store, and the file system over it.
mezz_test(unit/cache/wal_store_test LABELS unit DEPS mezz::cache)
mezz_test(model/wal_store_fuzz_test LABELS model DEPS mezz::cache)
if(MEZZ_LONG_TESTS)
  add_test(NAME long/wal_store_crashes COMMAND model_cache --gtest_filter=WalStoreCrashes.*)
  set_tests_properties(long/wal_store_crashes PROPERTIES LABELS long TIMEOUT 3600 ENVIRONMENT MEZZ_CHECK_DEPTH=1)
endif()
if(MEZZ_WITH_ROCKSDB)
  mezz_test(unit/integration/wal_file_system_test LABELS unit DEPS mezz::rocksdb ALONE)
  # Children are killed: the sanitizer takes their threads for leaked ones.
  mezz_test(unit/integration/wal_kill_test LABELS unit DEPS mezz::rocksdb ALONE TSAN report_thread_leaks=0)
endif()
