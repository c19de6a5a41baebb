// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/shared_wal.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "cache/base/invalid.h"
#include "integration/companions/wal_options.h"
#include "integration/tell.h"

namespace mezz {

std::string DirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

std::string CanonicalPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given(path);
  std::filesystem::path parent = std::filesystem::weakly_canonical(DirectoryOf(path), error);
  if (error) parent = std::filesystem::absolute(DirectoryOf(path)).lexically_normal();
  return parent / given.filename();
}
std::string CanonicalDirectory(const std::string& directory) { return DirectoryOf(CanonicalPath(directory + "/x")); }

Inode Inode::Of(const std::string& path) {
  struct stat now {};
  if (stat(path.c_str(), &now) != 0) return {};
  return {now.st_dev, now.st_ino};
}

Status OpenSharedWal(const WalOptions& options, SharedWal* medium) {
  struct Known {
    std::weak_ptr<WalStore> store;
    Inode id;
  };
  static std::mutex mutex;
  static auto* const media = new std::map<std::string, Known>;
  const std::lock_guard lock(mutex);
  Known& known = (*media)[CanonicalPath(options.path)];
  *medium = {known.store.lock(), known.id};
  if (medium->store != nullptr) {
    if (medium->store->geometry().capacity_bytes == options.Geometry().capacity_bytes) return Status::Ok();
    return Invalid("path={} is open with another size in this process", options.path);
  }
  WalOptions watched = options;
  watched.on_trouble = [path = options.path, user_callback = options.on_trouble](std::string_view what) {
    Tell(fmt::format("{} path={} {}", kWalScheme, path, what));
    if (user_callback) user_callback(what);
  };
  MEZZ_RETURN_IF_ERROR(OpenWalStore(watched, &medium->store));
  medium->id = Inode::Of(options.path);
  known = {medium->store, medium->id};
  return Status::Ok();
}

}  // namespace mezz
