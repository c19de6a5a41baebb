// SPDX-License-Identifier: Apache-2.0
// RocksDB's file objects over a log of a WalStore.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cache/wal/wal_store.h"
#include "integration/companions/wal_counters.h"
#include "rocksdb/file_system.h"

namespace mezz {

// What becomes of a log whose medium cannot take more of it.
class WalEvacuation {
 public:
  virtual ~WalEvacuation() = default;
  // Copies `file` to the base file system, durably, takes it from the store, and gives the copy, open at its end. Or an
  // error: then the log is where it was.
  virtual rocksdb::IOStatus Evacuate(const std::string& name, const WalFile& file, WalEvent reason,
                                     std::unique_ptr<rocksdb::FSWritableFile>* base) = 0;
};

// The order of members: a file goes before its store.
struct WalHandle {
  std::shared_ptr<WalStore> store;
  std::shared_ptr<WalFile> file;
};

// `evacuation` and `counters` outlive the file, as RocksDB's files a file system.
std::unique_ptr<rocksdb::FSWritableFile> NewWalWritableFile(WalHandle handle, std::string name,
                                                            WalEvacuation* evacuation, WalCounters* counters);
std::unique_ptr<rocksdb::FSSequentialFile> NewWalSequentialFile(WalHandle handle, std::string name);
std::unique_ptr<rocksdb::FSRandomAccessFile> NewWalRandomAccessFile(WalHandle handle, std::string name);

}  // namespace mezz
