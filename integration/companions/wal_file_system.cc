// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_file_system.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/invalid.h"
#include "fmt/format.h"
#include "integration/companions/wal_files.h"
#include "integration/companions/wal_logs.h"
#include "integration/companions/wal_marker.h"
#include "integration/operator_io.h"
#include "integration/reporter.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/object_registry.h"

namespace mezz {
namespace {

using rocksdb::FileAttributes;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr char kMark[] = "mezzanine_wal";

class WalFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  static const char* kClassName() { return "MezzanineWalFileSystem"; }

  // Null: the medium could not be opened.
  WalFileSystem(const WalFileSystemOptions& options, std::shared_ptr<FileSystem> base, SharedWal medium)
      : FileSystemWrapper(std::move(base)), options_(options), logs_(options, target_, std::move(medium)) {}

  ~WalFileSystem() override { ReportAtEnd(this, "the log's file system"); }

  const char* Name() const override { return kClassName(); }
  const WalCounters& counters() const { return logs_.counters(); }
  // Until it goes: for programs that cannot ask for the counters.
  void Report() const {
    KeepReported(this, [this] {
      const WalStore* const store = logs_.medium();
      const std::string trouble = store == nullptr ? "" : store->NameTrouble();
      return fmt::format("log on SCM: {}\n{}{}wal.free_bytes: {}\n", options_.ToUri(),
                         trouble.empty() ? "" : fmt::format("wal.trouble: it {}\n", trouble), counters().ToString(),
                         store == nullptr ? 0 : store->free_bytes());
    });
  }

  FileOptions OptimizeForLogWrite(const FileOptions& options, const rocksdb::DBOptions& db) const override {
    FileOptions marked = FileSystemWrapper::OptimizeForLogWrite(options, db);
    marked.io_options.property_bag[kMark] = "1";
    return marked;
  }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* dbg) override;
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) override;
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) override;
  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* dbg) override {
    WalHandle handle = logs_.Find(name);
    if (handle.file == nullptr) return target()->NewSequentialFile(name, options, file, dbg);
    *file = NewWalSequentialFile(std::move(handle), name);
    return IOStatus::OK();
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* dbg) override {
    WalHandle handle = logs_.Find(name);
    if (handle.file == nullptr) return target()->NewRandomAccessFile(name, options, file, dbg);
    *file = NewWalRandomAccessFile(std::move(handle), name);
    return IOStatus::OK();
  }

  IOStatus FileExists(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    return logs_.Find(name).file != nullptr ? IOStatus::OK() : target()->FileExists(name, options, dbg);
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& options, uint64_t* size,
                       IODebugContext* dbg) override {
    const WalHandle handle = logs_.Find(name);
    if (handle.file == nullptr) return target()->GetFileSize(name, options, size, dbg);
    *size = handle.file->length();
    return IOStatus::OK();
  }
  IOStatus GetFileModificationTime(const std::string& name, const IOOptions& options, uint64_t* seconds,
                                   IODebugContext* dbg) override {
    const WalHandle handle = logs_.Find(name);
    if (handle.file == nullptr) return target()->GetFileModificationTime(name, options, seconds, dbg);
    *seconds = handle.file->modified_seconds();
    return IOStatus::OK();
  }
  IOStatus NumFileLinks(const std::string& name, const IOOptions& options, uint64_t* count,
                        IODebugContext* dbg) override {
    if (logs_.Find(name).file == nullptr) return target()->NumFileLinks(name, options, count, dbg);
    *count = 1;
    return IOStatus::OK();
  }
  IOStatus AreFilesSame(const std::string& a, const std::string& b, const IOOptions& options, bool* same,
                        IODebugContext* dbg) override {
    const WalHandle first = logs_.Find(a), second = logs_.Find(b);
    if (first.file == nullptr && second.file == nullptr) return target()->AreFilesSame(a, b, options, same, dbg);
    *same = first.file == second.file;
    return IOStatus::OK();
  }
  // RocksDB then copies.
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* dbg) override {
    if (logs_.Find(from).file != nullptr) return IOStatus::NotSupported(from, "a log on SCM has one name");
    if (logs_.Find(to).file != nullptr) return IOStatus::IOError(to, "exists, as a log on SCM");
    return target()->LinkFile(from, to, options, dbg);
  }
  IOStatus NewRandomRWFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* file, IODebugContext* dbg) override {
    if (logs_.Find(name).file != nullptr)
      return IOStatus::NotSupported(name, "a log on SCM is written at its end only");
    return target()->NewRandomRWFile(name, options, file, dbg);
  }
  IOStatus Truncate(const std::string& name, size_t size, const IOOptions& options, IODebugContext* dbg) override {
    WalHandle handle = logs_.Find(name);
    if (handle.file == nullptr) return target()->Truncate(name, size, options, dbg);
    const WalOutcome outcome = logs_.medium()->Truncate(&handle.file, size);
    return outcome == WalOutcome::kOk ? IOStatus::OK() : ToIo(name, outcome);
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* dbg) override;
  IOStatus GetChildren(const std::string& directory, const IOOptions& options, std::vector<std::string>* names,
                       IODebugContext* dbg) override;
  IOStatus GetChildrenFileAttributes(const std::string& directory, const IOOptions& options,
                                     std::vector<FileAttributes>* files, IODebugContext* dbg) override;

 private:
  bool Wanted(const std::string& name, const FileOptions& options) const {
    return IsLogName(name) && options.io_options.property_bag.contains(kMark);
  }

  const WalFileSystemOptions options_;
  WalLogs logs_;
};

IOStatus WalFileSystem::NewWritableFile(const std::string& name, const FileOptions& options,
                                        std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) {
  WalHandle handle;
  if (Wanted(name, options)) {
    IOStatus status = logs_.Create(name, &handle);
    if (!status.ok()) return status;
  }
  if (handle.file == nullptr) {
    IOStatus status = target()->NewWritableFile(name, options, file, dbg);
    return status.ok() && logs_.Find(name).file != nullptr ? logs_.Remove(name) : status;
  }
  logs_.DeleteInBase(name);
  *file = NewWalWritableFile(std::move(handle), name, &logs_, logs_.counters());
  return IOStatus::OK();
}

IOStatus WalFileSystem::ReopenWritableFile(const std::string& name, const FileOptions& options,
                                           std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) {
  WalHandle handle = logs_.Find(name);
  if (handle.file == nullptr) return target()->ReopenWritableFile(name, options, file, dbg);
  *file = NewWalWritableFile(std::move(handle), name, &logs_, logs_.counters());
  return IOStatus::OK();
}

// The old log's extents are free for the new one: there is nothing to write over.
IOStatus WalFileSystem::ReuseWritableFile(const std::string& name, const std::string& old_name,
                                          const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                                          IODebugContext* dbg) {
  const bool held = logs_.Find(old_name).file != nullptr;
  if (!held && logs_.medium() == nullptr) return target()->ReuseWritableFile(name, old_name, options, file, dbg);
  IOStatus status = NewWritableFile(name, options, file, dbg);
  if (!status.ok()) return status;
  logs_.counters()->Count(WalEvent::kLogRecycled);
  return DeleteFile(old_name, IOOptions(), dbg);
}

IOStatus WalFileSystem::DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* dbg) {
  if (logs_.Find(name).file == nullptr) return target()->DeleteFile(name, options, dbg);
  logs_.DeleteInBase(name);
  return logs_.Remove(name);
}

IOStatus WalFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                   IODebugContext* dbg) {
  const WalHandle handle = logs_.Find(from);
  if (handle.file != nullptr) return logs_.Rename(from, *handle.file, to);
  if (logs_.medium() != nullptr && !logs_.medium()->List(CanonicalDirectory(from) + "/").empty())
    return IOStatus::NotSupported(from, "has logs on SCM, by their paths: it cannot be renamed");
  IOStatus status = target()->RenameFile(from, to, options, dbg);
  return status.ok() && logs_.Find(to).file != nullptr ? logs_.Remove(to) : status;
}

IOStatus WalFileSystem::GetChildren(const std::string& directory, const IOOptions& options,
                                    std::vector<std::string>* names, IODebugContext* dbg) {
  IOStatus status = target()->GetChildren(directory, options, names, dbg);
  if (!status.ok()) return status;
  const std::string path = CanonicalDirectory(directory);
  const auto marker = std::ranges::find(*names, kWalMarkerName);
  if (marker == names->end()) {  // what the medium may have of this path is not this directory's
    logs_.DropNamesakes(path, *names);
    return status;
  }
  names->erase(marker);
  status = CheckWalMarker(*target(), path, logs_.medium() == nullptr ? WalUuid{} : logs_.medium()->uuid());
  if (!status.ok()) return status;
  for (std::string& name : logs_.In(path)) {
    if (std::ranges::find(*names, name) == names->end()) names->push_back(std::move(name));
  }
  return status;
}

IOStatus WalFileSystem::GetChildrenFileAttributes(const std::string& directory, const IOOptions& options,
                                                  std::vector<FileAttributes>* files, IODebugContext* dbg) {
  std::vector<std::string> names;
  IOStatus status = GetChildren(directory, options, &names, dbg);
  if (!status.ok()) return status;
  files->clear();
  for (std::string& name : names) {
    FileAttributes file;
    status = GetFileSize(directory + "/" + name, options, &file.size_bytes, dbg);
    file.name = std::move(name);
    // One that has gone in the meantime is left out, as the default file system does.
    if (status.ok()) files->push_back(std::move(file));
  }
  return IOStatus::OK();
}

bool MayFallBack(const Status& status) {
  return status.code() == Status::Code::kNotFound || status.code() == Status::Code::kNoSpace ||
         status.code() == Status::Code::kIoError;
}

// The judges of media speak of the cache's option.
Status InWalKeys(const Status& status) {
  std::string message = status.message();
  constexpr std::string_view kTheirs = "capacity_bytes";
  if (const size_t at = message.find(kTheirs); at != std::string::npos) message.replace(at, kTheirs.size(), "size");
  return Status::InvalidArgument(message);
}

Status BaseOf(const WalFileSystemOptions& options, std::shared_ptr<FileSystem>* base) {
  *base = FileSystem::Default();
  if (options.base.empty()) return Status::Ok();
  base->reset();
  const rocksdb::Status made = FileSystem::CreateFromString(rocksdb::ConfigOptions(), options.base, base);
  if (made.ok() && *base != nullptr) return Status::Ok();
  return Invalid("base={} is no file system that RocksDB knows here ({}): preload or register what makes it",
                 options.base, made.ok() ? "it gave none" : made.ToString());
}

Status Make(const WalFileSystemOptions& options, std::shared_ptr<FileSystem> base, std::unique_ptr<FileSystem>* made) {
  if (const Status status = options.Validate(); !status.ok()) return InWalKeys(status);
  if (base == nullptr) MEZZ_RETURN_IF_ERROR(BaseOf(options, &base));
  SharedWal medium;
  if (const Status status = OpenSharedWal(options.medium, &medium); !status.ok()) {
    if (!options.fallback || !MayFallBack(status)) return InWalKeys(status);
    Tell(fmt::format("{} {}; logs lie in the base file system", kWalScheme, InWalKeys(status).message()));
  } else if (const WalRecovery& found = medium.store->recovery(); found.damaged != 0) {
    Tell(fmt::format("{} path={}: {} of {} logs are damaged; reading them says where", kWalScheme, options.medium.path,
                     found.damaged, found.files));
  }
  *made = std::make_unique<WalFileSystem>(options, std::move(base), std::move(medium));
  return Status::Ok();
}

FileSystem* MakeFromUri(const std::string& uri, std::unique_ptr<FileSystem>* owner, std::string* message) {
  const Status status = NoThrow([&] {
    HearReportSignal();
    WalFileSystemOptions options;
    MEZZ_RETURN_IF_ERROR(ParseWalUri(uri, &options));
    return Make(options, nullptr, owner);
  });
  if (status.ok()) {
    static_cast<const WalFileSystem&>(**owner).Report();
    return owner->get();
  }
  // The registry's errors are lost in stock tools.
  *message = status.message();
  Tell(*message);
  return nullptr;
}

}  // namespace

Status NewWalFileSystem(const WalFileSystemOptions& options, std::shared_ptr<FileSystem> base,
                        std::shared_ptr<FileSystem>* file_system) {
  std::unique_ptr<FileSystem> made;
  MEZZ_RETURN_IF_ERROR(Make(options, std::move(base), &made));
  *file_system = std::move(made);
  return Status::Ok();
}

const WalCounters* GetWalCounters(const FileSystem* file_system) {
  const auto* const ours = file_system == nullptr ? nullptr : file_system->CheckedCast<WalFileSystem>();
  return ours == nullptr ? nullptr : &ours->counters();
}

void RegisterWalFileSystem(rocksdb::ObjectLibrary* library) {
  constexpr std::string_view kSeparator = "://";
  rocksdb::ObjectLibrary::PatternEntry entry(std::string(kWalScheme.substr(0, kWalScheme.size() - kSeparator.size())),
                                             /*optional=*/false);
  entry.AddSeparator(std::string(kSeparator), /*at_least_one=*/false);
  library->AddFactory<FileSystem>(entry, MakeFromUri);
}

}  // namespace mezz
