// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "rocksdb/env.h"
#include "workloads/replay/flash.h"

namespace mezz {

// An Env whose files lie in memory, and whose tables and blobs are read as fast as `flash` lets them be; null: at once.
// Opening a file, reading a log or a manifest, and writing take no time beyond the memory's own.
//
// RocksDB sees files with direct I/O, as it does on a disk: it aligns its reads, and prefetches by itself. The reads of
// one MultiRead are in flight together. ReadAsync reads at once and calls back before it returns. `flash` outlives the
// Env, and the Env every database that is opened with it.
std::unique_ptr<rocksdb::Env> NewFlashEnv(Flash* flash);

}  // namespace mezz
