// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "cache/status.h"
#include "cache/wal/open_wal.h"
#include "cache/wal/wal_store.h"

namespace mezz {

// The folder that `path` lies in; the working one is ".".
std::string DirectoryOf(const std::string& path);
// One path a file, however it is spelt.
std::string CanonicalPath(const std::string& path);
std::string CanonicalDirectory(const std::string& directory);

// Which file a path names.
struct Inode {
  dev_t device = 0;
  ino_t number = 0;

  static Inode Of(const std::string& path);
  bool operator==(const Inode&) const = default;
};

// A medium of this process, and the file that it was opened from: its path may name another by now.
struct SharedWal {
  std::shared_ptr<WalStore> store;  // null: could not be opened
  Inode id;
};

// The media of this process: a path is opened once, and shared. Thread-safe.
Status OpenSharedWal(const WalOptions& options, SharedWal* medium);

}  // namespace mezz
