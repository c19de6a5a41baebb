# Reading what a running cache serves, and mezz_inspect over it.
if(TARGET mezz_watch)
  mezz_test(unit/watch/metric_samples_test LABELS unit DEPS mezz::watch ${MEZZ_FMT})
  mezz_test(unit/watch/doctor_test LABELS unit DEPS mezz::watch ${MEZZ_FMT}
            DEFINITIONS MEZZ_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  mezz_test(unit/watch/follow_test LABELS unit DEPS mezz::watch ${MEZZ_FMT})
  mezz_test(unit/watch/metrics_source_test APART LABELS unit DEPS mezz::watch ${MEZZ_FMT}
            NEEDS mezz_inspect DEFINITIONS MEZZ_INSPECT_BINARY="${PROJECT_BINARY_DIR}/bin/mezz_inspect")
  if(MEZZ_WITH_ROCKSDB)
    mezz_test(unit/integration/live_doctor_test ALONE LABELS unit DEPS mezz::rocksdb mezz::watch ${MEZZ_FMT})
  endif()
endif()
