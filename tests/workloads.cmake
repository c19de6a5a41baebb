# Requests and generators.
if(TARGET mezz_readers)
  set(compressors PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB)
  mezz_test(unit/workloads/progress_test LABELS unit DEPS mezz::readers)
  mezz_test(unit/workloads/trace_readers_test LABELS unit DEPS mezz::readers ${compressors}
            DEFINITIONS ${traces_folder})
  mezz_test(unit/workloads/generators_test APART LABELS unit DEPS mezz::generators)
  mezz_test(fuzz/trace_reader_fuzz_test LABELS fuzz DEPS mezz::readers ${MEZZ_FMT} ${compressors})
endif()
