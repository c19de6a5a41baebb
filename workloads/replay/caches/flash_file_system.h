// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "workloads/replay/engine/flash.h"

namespace mezz {

// An Env whose files lie in memory, and whose tables and blobs are read as fast as `flash` lets them be; null: at once.
// Opening a file, and reading a log or a manifest, take no time beyond the memory's own; nor does writing, unless the
// model says otherwise. There appended bytes are on their way to the device at once, as if written back by the page
// cache; the writer waits when kAheadBytes are on their way, and with direct I/O for each. A sync waits for all that
// was appended to its file.
//
// RocksDB sees files with direct I/O, as it does on a disk: it aligns its reads, and prefetches by itself. The reads of
// one MultiRead are in flight together. ReadAsync reads at once and calls back before it returns. `flash` outlives the
// Env, and the Env every database that is opened with it.
std::unique_ptr<rocksdb::Env> NewFlashEnv(Flash* flash);
std::shared_ptr<rocksdb::FileSystem> NewFlashFileSystem(Flash* flash);

// Some of what Linux lets a writer be ahead of a device: more hides a slow device from short bursts.
inline constexpr size_t kAheadBytes = 4 << 20;

}  // namespace mezz
