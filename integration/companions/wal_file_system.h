// SPDX-License-Identifier: Apache-2.0
// The log on SCM (Jia & Chen, ISPASS'20, V-C): a file system whose write-ahead logs lie on a mapped medium, and all
// else in another file system.
//
//   std::shared_ptr<rocksdb::FileSystem> fs;
//   Status s = NewWalFileSystem({.medium = {.path = "/mnt/pmem0/logs", .size = 1ull << 30}}, nullptr, &fs);
//   options.env = (env = rocksdb::NewCompositeEnv(fs)).get();
//
// Taken are the logs that a database writes: files named NUMBER.log, opened with what OptimizeForLogWrite answers. So
// the logs of a backup or a checkpoint lie in the base file system, where a restore looks for them. A log's name is its
// whole path: several databases share a medium, and several file systems of a process share the medium of a path.
//
// Beside the logs, in their directory, stands a file MEZZANINE_WAL in the base file system, that names the medium.
// While it is there, and the medium is not, or is another, the directory cannot be listed: a database that does not see
// its logs would open without them. Who gives up the logs removes that file.
#pragma once

#include <memory>

#include "cache/status.h"
#include "integration/companions/wal_counters.h"
#include "integration/companions/wal_options.h"
#include "rocksdb/file_system.h"

namespace rocksdb {
class ObjectLibrary;
}

namespace mezz {

// `base`: null for that of options.base. Errors of the medium are those of OpenWalStore; where `options.fallback`
// allows, a medium that is not there, full, read-only or broken gives a file system that falls back.
Status NewWalFileSystem(const WalFileSystemOptions& options, std::shared_ptr<rocksdb::FileSystem> base,
                        std::shared_ptr<rocksdb::FileSystem>* file_system);

// Null if it is none of ours, nor wraps one.
const WalCounters* GetWalCounters(const rocksdb::FileSystem* file_system);

// Teaches a registry the URI: FileSystem::CreateFromString, db_bench --fs_uri. libmezzanine_rocksdb.so has done so.
void RegisterWalFileSystem(rocksdb::ObjectLibrary* library);

inline constexpr char kWalMarkerName[] = "MEZZANINE_WAL";

}  // namespace mezz
