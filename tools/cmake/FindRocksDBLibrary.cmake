# Finds RocksDB's headers and shared library: in MEZZ_ROCKSDB_ROOT if set (the prefix that tools/rocksdb prints), else
# where the distribution puts them. Debian's package brings no CMake files, so RocksDB's own would not do.
#
# Defines the target RocksDBLibrary::rocksdb, RocksDBLibrary_VERSION, and RocksDBLibrary_RTTI: whether a class derived
# from RocksDB's may be compiled with runtime type information.
if(MEZZ_ROCKSDB_ROOT AND NOT EXISTS "${MEZZ_ROCKSDB_ROOT}/include/rocksdb/version.h")
  message(FATAL_ERROR "MEZZ_ROCKSDB_ROOT=${MEZZ_ROCKSDB_ROOT} holds no RocksDB (no include/rocksdb/version.h): "
                      "give the prefix that tools/rocksdb prints, or leave it empty for the distribution's")
endif()
if(NOT "${MEZZ_ROCKSDB_ROOT}" STREQUAL "${RocksDBLibrary_ROOT_SEARCHED}")
  unset(RocksDBLibrary_INCLUDE_DIR CACHE)
  unset(RocksDBLibrary_LIBRARY CACHE)
endif()
set(RocksDBLibrary_ROOT_SEARCHED "${MEZZ_ROCKSDB_ROOT}" CACHE INTERNAL "")

set(_only "")
if(MEZZ_ROCKSDB_ROOT)
  set(_only PATHS ${MEZZ_ROCKSDB_ROOT} NO_DEFAULT_PATH)
endif()
find_path(RocksDBLibrary_INCLUDE_DIR rocksdb/version.h ${_only} PATH_SUFFIXES include)
find_library(RocksDBLibrary_LIBRARY NAMES rocksdb ${_only} PATH_SUFFIXES lib lib64)
if(RocksDBLibrary_INCLUDE_DIR)
  file(STRINGS ${RocksDBLibrary_INCLUDE_DIR}/rocksdb/version.h _lines REGEX "#define ROCKSDB_(MAJOR|MINOR|PATCH) ")
  string(REGEX MATCHALL "[0-9]+" _numbers "${_lines}")
  list(JOIN _numbers "." RocksDBLibrary_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RocksDBLibrary REQUIRED_VARS RocksDBLibrary_LIBRARY RocksDBLibrary_INCLUDE_DIR
                                  VERSION_VAR RocksDBLibrary_VERSION)
if(RocksDBLibrary_FOUND)
  file(STRINGS ${RocksDBLibrary_LIBRARY} _typeinfo REGEX "_ZTIN7rocksdb14SecondaryCacheE" LIMIT_COUNT 1)
  string(COMPARE NOTEQUAL "${_typeinfo}" "" RocksDBLibrary_RTTI)
endif()
if(RocksDBLibrary_FOUND AND NOT TARGET RocksDBLibrary::rocksdb)
  add_library(RocksDBLibrary::rocksdb SHARED IMPORTED)
  set_target_properties(RocksDBLibrary::rocksdb PROPERTIES
    IMPORTED_LOCATION ${RocksDBLibrary_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${RocksDBLibrary_INCLUDE_DIR})
endif()
mark_as_advanced(RocksDBLibrary_INCLUDE_DIR RocksDBLibrary_LIBRARY)
