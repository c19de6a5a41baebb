# RocksDB's own traces, and the generators.
if(TARGET mezz_readers)
  set(compressors PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB)
  mezz_test(unit/workloads/rocksdb_block_trace_test LABELS unit DEPS mezz::readers ${compressors})
  mezz_test(unit/workloads/production_generators_test LABELS unit DEPS mezz::generators
            TSAN_LONG)  # one thread, minutes
  mezz_test(unit/workloads/ycsb_test LABELS unit DEPS mezz::generators)
  mezz_test(unit/workloads/cachelib_generator_test LABELS unit DEPS mezz::generators DEFINITIONS ${traces_folder})
  mezz_bench(bench/rocksdb_trace_bench DEPS mezz::readers ${compressors})
endif()
if(TARGET mezz_rocksdb_traces)
  mezz_test(unit/workloads/rocksdb_query_trace_test LABELS unit DEPS mezz::rocksdb_traces ${compressors})
  mezz_test(fuzz/rocksdb_trace_fuzz_test LABELS fuzz DEPS mezz::rocksdb_traces ${compressors}
            TSAN_LONG)  # one thread, a minute
  mezz_test(unit/workloads/record_test LABELS unit DEPS mezz::rocksdb_traces)
  mezz_test(unit/workloads/block_packing_test LABELS unit DEPS mezz::rocksdb_traces ${MEZZ_FMT})
  mezz_test(unit/workloads/values_test LABELS unit DEPS mezz::rocksdb_traces PkgConfig::LZ4 PkgConfig::ZSTD ${MEZZ_FMT})
  add_executable(query_trace_tool support/query_trace_tool.cc)
  target_link_libraries(query_trace_tool PRIVATE mezz::rocksdb_traces)
  mezz_warnings(query_trace_tool)
  find_program(MEZZ_DB_BENCH db_bench HINTS ${MEZZ_ROCKSDB_ROOT}/bin NO_CACHE)
  add_test(NAME long/db_bench_traces COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/long/db_bench_traces.sh
                                             ${MEZZ_DB_BENCH} $<TARGET_FILE:query_trace_tool>)
  set_tests_properties(long/db_bench_traces PROPERTIES LABELS model TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
