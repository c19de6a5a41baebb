# Requests, generators and mezz_replay.
if(TARGET mezz_workloads)
  set(compressors PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB)
  mezz_test(unit/workloads/trace_readers_test LABELS unit DEPS mezz::requests ${compressors}
            DEFINITIONS ${traces_folder})
  mezz_test(unit/workloads/generators_test LABELS unit DEPS mezz::requests TSAN_LONG)  # one thread, minutes
  mezz_test(unit/workloads/replay_test LABELS unit DEPS mezz::workloads)
  mezz_test(fuzz/trace_reader_fuzz_test LABELS fuzz DEPS mezz::requests ${MEZZ_FMT} ${compressors}
            TSAN_LONG)  # one thread, a minute
endif()
