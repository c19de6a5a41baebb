// SPDX-License-Identifier: Apache-2.0
// MEZZANINE_WAL, the file that says on which medium a directory's logs lie, and under which path (wal_file_system.h):
//
//   UUID MEDIUM'S PATH \n DIRECTORY \n
//
// It is there, durably, before the first log is, and goes after the last. So logs on the medium of a directory that has
// none are not this directory's: one of that path was removed with them.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "cache/wal/wal_store.h"
#include "rocksdb/file_system.h"

namespace mezz {

// Held from a marker's change to the change of the log that it stands for. One for the process: file systems share
// directories.
class WalMarkerLock {
 public:
  WalMarkerLock();

 private:
  std::lock_guard<std::mutex> lock_;
};

// Refuses a directory whose logs lie on another medium, or under another path. `directory` is canonical here and below.
// `drop_old` runs before a directory gets a marker that had none.
rocksdb::IOStatus PutWalMarker(rocksdb::FileSystem& base, const std::string& directory, const WalUuid& uuid,
                               const std::string& path, const std::function<void()>& drop_old);
// For sure: not where the base file system cannot tell.
bool LacksWalMarker(rocksdb::FileSystem& base, const std::string& directory);
rocksdb::IOStatus EraseWalMarker(rocksdb::FileSystem& base, const std::string& directory);
// Ok if the marker names this medium and directory, or nothing, as one that a crash cut short. Zeros: no medium.
rocksdb::IOStatus CheckWalMarker(rocksdb::FileSystem& base, const std::string& directory, const WalUuid& uuid);

}  // namespace mezz
