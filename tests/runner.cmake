# mezz_replay's runner: what it measures with, how it paces, and its processes.
if(TARGET mezz_workloads)
  mezz_test(unit/workloads/latency_histogram_test LABELS unit DEPS mezz::workloads)
  mezz_test(unit/workloads/replay_loop_test LABELS unit DEPS mezz::workloads)
  mezz_test(unit/workloads/series_test LABELS unit DEPS mezz::workloads)
endif()
