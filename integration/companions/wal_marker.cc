// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_marker.h"

#include <memory>

#include "fmt/format.h"
#include "integration/companions/wal_file_system.h"

namespace mezz {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kUuidChars = 32;
constexpr size_t kMarkerBytesMax = 8192;

std::mutex& MarkerMutex() {
  static std::mutex mutex;
  return mutex;
}

std::string MarkerOf(const std::string& directory) { return fmt::format("{}/{}", directory, kWalMarkerName); }

bool IsAbsent(const IOStatus& status) { return status.IsNotFound() || status.IsPathNotFound(); }

IOStatus ReadMarker(FileSystem& base, const std::string& directory, std::string* text) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  IOStatus status = base.NewSequentialFile(MarkerOf(directory), FileOptions(), &file, nullptr);
  if (!status.ok()) return status;
  std::string scratch(kMarkerBytesMax, '\0');
  rocksdb::Slice read;
  status = file->Read(scratch.size(), IOOptions(), &read, scratch.data(), nullptr);
  if (status.ok()) *text = read.ToString();
  return status;
}

}  // namespace

WalMarkerLock::WalMarkerLock() : lock_(MarkerMutex()) {}

IOStatus PutWalMarker(FileSystem& base, const std::string& directory, const WalUuid& uuid, const std::string& path,
                      const std::function<void()>& drop_old) {
  std::string text;
  const IOStatus read = ReadMarker(base, directory, &text);
  if (read.ok() && text.size() >= kUuidChars) return CheckWalMarker(base, directory, uuid);
  if (!read.ok() && !IsAbsent(read)) return read;
  drop_old();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = base.NewWritableFile(MarkerOf(directory), FileOptions(), &file, nullptr);
  if (status.ok())
    status = file->Append(fmt::format("{} {}\n{}\n", ToString(uuid), path, directory), IOOptions(), nullptr);
  if (status.ok()) status = file->Fsync(IOOptions(), nullptr);
  if (status.ok()) status = file->Close(IOOptions(), nullptr);
  std::unique_ptr<rocksdb::FSDirectory> listed;
  if (status.ok()) status = base.NewDirectory(directory, IOOptions(), &listed, nullptr);
  return status.ok() ? listed->Fsync(IOOptions(), nullptr) : status;
}

bool LacksWalMarker(FileSystem& base, const std::string& directory) {
  return IsAbsent(base.FileExists(MarkerOf(directory), IOOptions(), nullptr));
}

IOStatus EraseWalMarker(FileSystem& base, const std::string& directory) {
  IOStatus status = base.DeleteFile(MarkerOf(directory), IOOptions(), nullptr);
  return IsAbsent(status) ? IOStatus::OK() : status;
}

IOStatus CheckWalMarker(FileSystem& base, const std::string& directory, const WalUuid& uuid) {
  std::string text;
  IOStatus status = ReadMarker(base, directory, &text);
  if (!status.ok()) return status;
  if (text.size() < kUuidChars) return IOStatus::OK();
  const size_t end = text.find('\n');
  const std::string medium = text.substr(0, end);
  if (!text.starts_with(ToString(uuid))) {
    const bool absent = uuid == WalUuid{};
    return IOStatus::IOError(
        directory, fmt::format("its logs lie on the medium {}, which {}: bring it back, or, if they are not needed, "
                               "remove {}",
                               medium, absent ? "cannot be opened" : "is not the one in use", MarkerOf(directory)));
  }
  // Markers of before this line was written have none.
  if (end == std::string::npos || end + 1 >= text.size()) return IOStatus::OK();
  const std::string written = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  if (written == directory) return IOStatus::OK();
  return IOStatus::IOError(directory,
                           fmt::format("its logs lie on the medium {} under the path {}: it was moved or copied, or is "
                                       "mounted elsewhere; open it there, or, if the logs are not needed, remove {}",
                                       medium, written, MarkerOf(directory)));
}

}  // namespace mezz
