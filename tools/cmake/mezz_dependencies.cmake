# What the installed libraries need at link time. Used by our own build and by mezzanineConfig.cmake, so both find the
# same things by the same names.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(PkgConfig)
pkg_check_modules(PMEM2 REQUIRED QUIET IMPORTED_TARGET libpmem2)
pkg_check_modules(NUMA REQUIRED QUIET IMPORTED_TARGET numa)
if(NOT MEZZ_FMT_HEADER_ONLY)
  find_dependency(fmt)
endif()
set(MEZZ_NUMA_LIBRARY PkgConfig::NUMA)
if(MEZZ_WITH_ROCKSDB)
  find_dependency(RocksDBLibrary)
endif()
