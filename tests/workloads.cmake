# Requests, generators and mezz_replay.
if(TARGET mezz_workloads)
  set(compressors PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB)
  mezz_test(unit/workloads/trace_readers_test LABELS unit DEPS mezz::requests ${compressors})
  mezz_test(unit/workloads/generators_test LABELS unit DEPS mezz::requests)
  mezz_test(unit/workloads/replay_test LABELS unit DEPS mezz::workloads)
  mezz_test(fuzz/trace_reader_fuzz_test LABELS fuzz DEPS mezz::requests fmt::fmt-header-only ${compressors})
  # The public traces lie beside the checkout where the project is developed; elsewhere MEZZ_TRACES names them.
  get_filename_component(traces ${PROJECT_SOURCE_DIR}/../shared/traces ABSOLUTE)
  if(EXISTS ${traces})
    target_compile_definitions(unit_workloads_trace_readers_test PRIVATE MEZZ_TRACES_FOLDER="${traces}")
  endif()
endif()
