// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integration/companions/shared_wal.h"
#include "integration/companions/wal_counters.h"
#include "integration/companions/wal_files.h"
#include "integration/companions/wal_options.h"
#include "rocksdb/file_system.h"

namespace mezz {

// NUMBER.log, and what RocksDB makes of it before it removes it: NUMBER.log.trash.
bool IsLogName(std::string_view path);
rocksdb::IOStatus ToIo(const std::string& name, WalOutcome outcome);

// The logs on SCM of one file system, each with the marker of its directory (wal_marker.h). Names are paths, however
// they are spelt; a `directory` is canonical. Thread-safe.
class WalLogs final : public WalEvacuation {
 public:
  // `base` has all else. Where `medium` has no store it could not be opened, and there are no logs.
  WalLogs(const WalFileSystemOptions& options, std::shared_ptr<rocksdb::FileSystem> base, SharedWal medium)
      : options_(options), base_(std::move(base)), medium_(std::move(medium)) {}

  // Null: it could not be opened.
  WalStore* medium() const { return store_; }
  WalCounters* counters() { return &counters_; }
  const WalCounters& counters() const { return counters_; }

  // A null file: there is none.
  WalHandle Find(const std::string& name) const;
  // The names of those in a directory.
  std::vector<std::string> In(const std::string& directory) const;
  // An empty log. A null file: the base file system may have it, which is counted, and told the first time.
  rocksdb::IOStatus Create(const std::string& name, WalHandle* handle);
  rocksdb::IOStatus Remove(const std::string& name);
  // Moves `file`, which is the log `from`; to the base file system where `to` is no log's name.
  rocksdb::IOStatus Rename(const std::string& from, const WalFile& file, const std::string& to);
  rocksdb::IOStatus Evacuate(const std::string& name, const WalFile& file, WalEvent reason,
                             std::unique_ptr<rocksdb::FSWritableFile>* base) override;
  // Drops logs of a directory that was removed, where one that was restored in its place has others of these names.
  void DropNamesakes(const std::string& directory, const std::vector<std::string>& names);
  // Of a log's name: mostly there is none; if it stays, the store's comes first.
  void DeleteInBase(const std::string& name);

 private:
  void DropLeftOverLocked(const std::string& path);
  rocksdb::IOStatus PutMarkerLocked(const std::string& directory);
  rocksdb::IOStatus EraseMarkerIfEmptyLocked(const std::string& directory);
  // Why an empty log could not be made, if it could not.
  rocksdb::IOStatus TryToCreate(const std::string& name, WalHandle* handle, WalEvent* reason);
  rocksdb::IOStatus FallBack(const std::string& name, WalEvent reason);
  // To `to` in the base file system, durably; `*copy`, if asked for, stays open.
  rocksdb::IOStatus CopyToBase(const WalFile& file, const std::string& to,
                               std::unique_ptr<rocksdb::FSWritableFile>* copy);
  rocksdb::IOStatus SyncDirectoryOf(const std::string& name);

  const WalFileSystemOptions options_;
  const std::shared_ptr<rocksdb::FileSystem> base_;
  const SharedWal medium_;
  WalStore* const store_ = medium_.store.get();
  WalCounters counters_;
};

}  // namespace mezz
