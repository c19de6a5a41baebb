// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_logs.h"

#include <algorithm>

#include "fmt/format.h"
#include "integration/companions/wal_marker.h"
#include "integration/tell.h"

namespace mezz {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kCopyBytes = 256 << 10;

WalEvent ReasonOf(WalOutcome outcome) {
  if (outcome == WalOutcome::kIoError) return WalEvent::kFallbackBroken;
  return outcome == WalOutcome::kNameTooLong ? WalEvent::kFallbackName : WalEvent::kFallbackFull;
}

}  // namespace

bool IsLogName(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const size_t digits = file.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && file.substr(digits).starts_with(".log");
}

IOStatus ToIo(const std::string& name, WalOutcome outcome) {
  const std::string why = fmt::format("{} (the log on SCM)", ToString(outcome));
  return outcome == WalOutcome::kFull ? IOStatus::NoSpace(name, why) : IOStatus::IOError(name, why);
}

WalHandle WalLogs::Find(const std::string& name) const {
  if (store_ == nullptr || !IsLogName(name)) return {};
  return {medium_.store, store_->Find(CanonicalPath(name))};
}

std::vector<std::string> WalLogs::In(const std::string& directory) const {
  if (store_ == nullptr) return {};
  const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
  std::vector<std::string> names;
  for (const std::string& path : store_->List(prefix)) {
    std::string name = path.substr(prefix.size());
    if (name.find('/') == std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

void WalLogs::DropNamesakes(const std::string& directory, const std::vector<std::string>& names) {
  const WalMarkerLock lock;
  if (!LacksWalMarker(*base_, directory)) return;  // it has one by now
  for (const std::string& name : In(directory)) {
    if (std::ranges::find(names, name) != names.end()) DropLeftOverLocked(directory + "/" + name);
  }
}

void WalLogs::DropLeftOverLocked(const std::string& path) {
  if (store_->Remove(path) == WalOutcome::kOk) counters_.Count(WalEvent::kLogLeftOver);
}

void WalLogs::DeleteInBase(const std::string& name) {
  const IOStatus ignored = base_->DeleteFile(name, IOOptions(), nullptr);
  ignored.PermitUncheckedError();
}

IOStatus WalLogs::FallBack(const std::string& name, WalEvent reason) {
  if (!options_.fallback) return IOStatus::IOError(name, fmt::format("{} (fallback=false)", mezz::ToString(reason)));
  counters_.Count(reason);
  if (counters_.Get(reason) == 1)
    Tell(fmt::format("{}: this log lies in the base file system ({}); further ones are counted only", name,
                     mezz::ToString(reason)));
  return IOStatus::OK();
}

IOStatus WalLogs::PutMarkerLocked(const std::string& directory) {
  return PutWalMarker(*base_, directory, store_->uuid(), options_.medium.path, [&] {
    for (const std::string& name : In(directory)) DropLeftOverLocked(directory + "/" + name);
  });
}

IOStatus WalLogs::TryToCreate(const std::string& name, WalHandle* handle, WalEvent* reason) {
  *reason = WalEvent::kFallbackAbsent;
  if (store_ == nullptr) return IOStatus::OK();
  *reason = WalEvent::kFallbackVanished;
  if (Inode::Of(options_.medium.path) != medium_.id) return IOStatus::OK();
  *reason = WalEvent::kFallbackFull;
  if (store_->free_bytes() == 0) return IOStatus::OK();
  const std::string path = CanonicalPath(name);
  const WalMarkerLock lock;
  IOStatus status = PutMarkerLocked(DirectoryOf(path));
  if (!status.ok()) return status;
  const WalOutcome outcome = store_->Create(path, &handle->file);
  if (outcome == WalOutcome::kOk) {
    handle->store = medium_.store;
    counters_.Count(WalEvent::kLogCreated);
  } else {
    *reason = ReasonOf(outcome);
  }
  return IOStatus::OK();
}

IOStatus WalLogs::Create(const std::string& name, WalHandle* handle) {
  WalEvent reason{};
  IOStatus status = TryToCreate(name, handle, &reason);
  return status.ok() && handle->file == nullptr ? FallBack(name, reason) : status;
}

IOStatus WalLogs::EraseMarkerIfEmptyLocked(const std::string& directory) {
  return In(directory).empty() ? EraseWalMarker(*base_, directory) : IOStatus::OK();
}

IOStatus WalLogs::Remove(const std::string& name) {
  const std::string path = CanonicalPath(name);
  const WalMarkerLock lock;
  const WalOutcome outcome = store_->Remove(path);
  if (outcome == WalOutcome::kIoError) return ToIo(name, outcome);  // a crash may bring it back
  if (outcome == WalOutcome::kOk) counters_.Count(WalEvent::kLogRemoved);
  return EraseMarkerIfEmptyLocked(DirectoryOf(path));
}

IOStatus WalLogs::Rename(const std::string& from, const WalFile& file, const std::string& to) {
  const std::string old_path = CanonicalPath(from), path = CanonicalPath(to);
  if (IsLogName(to)) {
    const WalMarkerLock lock;
    IOStatus status = PutMarkerLocked(DirectoryOf(path));
    if (!status.ok()) return status;
    if (store_->Rename(old_path, path) == WalOutcome::kOk) {
      DeleteInBase(to);
      DeleteInBase(from);
      return EraseMarkerIfEmptyLocked(DirectoryOf(old_path));
    }
  }
  IOStatus status = CopyToBase(file, to, nullptr);
  return status.ok() ? Remove(from) : status;
}

IOStatus WalLogs::SyncDirectoryOf(const std::string& name) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = base_->NewDirectory(DirectoryOf(name), IOOptions(), &directory, nullptr);
  return status.ok() ? directory->Fsync(IOOptions(), nullptr) : status;
}

IOStatus WalLogs::CopyToBase(const WalFile& file, const std::string& to, std::unique_ptr<FSWritableFile>* copy) {
  std::unique_ptr<FSWritableFile> made;
  IOStatus status = base_->NewWritableFile(to, FileOptions(), &made, nullptr);
  std::vector<char> buffer(kCopyBytes);
  WalFile::Cursor cursor;
  size_t got = 0;
  for (uint64_t at = 0; status.ok() && at < file.length(); at += got) {
    if (!file.Read(at, buffer.size(), buffer.data(), &got, &cursor) || got == 0)
      status = IOStatus::Corruption(to, "the log on SCM cannot be read");
    else
      status = made->Append({buffer.data(), got}, IOOptions(), nullptr);
  }
  if (status.ok()) status = made->Fsync(IOOptions(), nullptr);
  if (status.ok()) status = SyncDirectoryOf(to);
  if (!status.ok()) {
    made.reset();
    DeleteInBase(to);
  } else if (copy != nullptr) {
    *copy = std::move(made);
  } else {
    status = made->Close(IOOptions(), nullptr);
  }
  return status;
}

// Until the copy is whole and durable, the log on SCM is the log; and it comes first where both are there.
IOStatus WalLogs::Evacuate(const std::string& name, const WalFile& file, WalEvent reason,
                           std::unique_ptr<FSWritableFile>* base) {
  IOStatus status = FallBack(name, reason);
  if (status.ok()) status = CopyToBase(file, name, base);
  if (status.ok()) status = Remove(name);
  return status;
}

}  // namespace mezz
