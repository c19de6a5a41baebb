# mezz_replay's runner: what it measures with, how it paces, and its processes.
if(TARGET mezz_workloads)
  mezz_test(unit/workloads/latency_histogram_test LABELS unit DEPS mezz::workloads)
  mezz_test(unit/workloads/replay_loop_test LABELS unit DEPS mezz::workloads)
  mezz_test(unit/workloads/digest_test LABELS unit DEPS mezz::workloads)
  mezz_bench(bench/replay_loop_bench DEPS mezz::workloads)
  if(TARGET bench_replay_loop_bench)
    target_compile_options(bench_replay_loop_bench PRIVATE -fno-rtti) # it derives from RocksDB's classes
  endif()
  mezz_test(unit/workloads/database_target_test LABELS unit DEPS mezz::workloads)
  mezz_test(unit/workloads/values_test LABELS unit DEPS mezz::workloads PkgConfig::LZ4 PkgConfig::ZSTD ${MEZZ_FMT})
  mezz_test(unit/workloads/series_test LABELS unit DEPS mezz::workloads)
  mezz_test(unit/workloads/thread_team_test LABELS unit DEPS mezz::workloads)
  if(TARGET mezz_replay)
    mezz_test(unit/workloads/replay_processes_test LABELS unit DEPS mezz::workloads NEEDS mezz_replay
              DEFINITIONS MEZZ_REPLAY_BINARY="${PROJECT_BINARY_DIR}/bin/mezz_replay")
  endif()
endif()
