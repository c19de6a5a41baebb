# RocksDB's own traces, and the generators.
if(TARGET mezz_workloads)
  set(compressors PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB)
  mezz_test(unit/workloads/rocksdb_block_trace_test LABELS unit DEPS mezz::requests ${compressors})
  mezz_bench(bench/rocksdb_trace_bench DEPS mezz::requests ${compressors})
endif()
