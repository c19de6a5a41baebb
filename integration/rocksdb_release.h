// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rocksdb/version.h"

#define MEZZ_TEXT_OF(number) #number
#define MEZZ_TEXT(number) MEZZ_TEXT_OF(number)

namespace mezz {

// The RocksDB that this is built for: "11.8.1".
inline constexpr char kRocksDbRelease[] =
    MEZZ_TEXT(ROCKSDB_MAJOR) "." MEZZ_TEXT(ROCKSDB_MINOR) "." MEZZ_TEXT(ROCKSDB_PATCH);

// Whether it warms a cache with what compactions write, too.
inline constexpr bool kWarmsWithCompactions = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 1101;

}  // namespace mezz
