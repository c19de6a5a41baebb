// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_file_system.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "integration/companions/wal_files.h"
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
constexpr size_t kCopyBytes = 256 << 10;

// NUMBER.log, and what RocksDB makes of it before it removes it: NUMBER.log.trash.
bool IsLogName(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const size_t digits = file.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && file.substr(digits).starts_with(".log");
}

std::string DirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

// One path a file, however it is spelt.
std::string Canonical(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given(path);
  std::filesystem::path parent = std::filesystem::weakly_canonical(DirectoryOf(path), error);
  if (error) parent = std::filesystem::absolute(DirectoryOf(path)).lexically_normal();
  return parent / given.filename();
}
std::string CanonicalDirectory(const std::string& path) { return DirectoryOf(Canonical(path + "/x")); }

IOStatus ToIo(const std::string& name, WalOutcome outcome) {
  const std::string why = fmt::format("{} (the log on SCM)", ToString(outcome));
  return outcome == WalOutcome::kFull ? IOStatus::NoSpace(name, why) : IOStatus::IOError(name, why);
}

WalEvent ReasonOf(WalOutcome outcome) {
  if (outcome == WalOutcome::kIoError) return WalEvent::kFallbackBroken;
  return outcome == WalOutcome::kNameTooLong ? WalEvent::kFallbackName : WalEvent::kFallbackFull;
}

// Which file a path names.
struct Inode {
  dev_t device = 0;
  ino_t number = 0;

  static Inode Of(const std::string& path) {
    struct stat now {};
    if (stat(path.c_str(), &now) != 0) return {};
    return {now.st_dev, now.st_ino};
  }
  bool operator==(const Inode&) const = default;
};

// A medium of this process, and the file that it was opened from: its path may name another by now.
struct SharedMedium {
  std::shared_ptr<WalStore> store;  // null: could not be opened
  Inode id;
};

class WalFileSystem final : public rocksdb::FileSystemWrapper, private WalEvacuation {
 public:
  static const char* kClassName() { return "MezzanineWalFileSystem"; }

  // Null: the medium could not be opened.
  WalFileSystem(const WalFileSystemOptions& options, std::shared_ptr<FileSystem> base, SharedMedium medium)
      : FileSystemWrapper(std::move(base)), options_(options), medium_(std::move(medium)) {}

  ~WalFileSystem() override { ReportAtEnd(this, "the log's file system"); }

  const char* Name() const override { return kClassName(); }
  const WalCounters& counters() const { return counters_; }
  // Until it goes: for programs that cannot ask for the counters.
  void Report() const {
    KeepReported(this, [this] {
      const std::string trouble = store_ == nullptr ? "" : store_->NameTrouble();
      return fmt::format("log on SCM: {}\n{}{}wal.free_bytes: {}\n", options_.ToUri(),
                         trouble.empty() ? "" : fmt::format("wal.trouble: it {}\n", trouble), counters_.ToString(),
                         store_ == nullptr ? 0 : store_->free_bytes());
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
    WalHandle handle = Find(name);
    if (handle.file == nullptr) return target()->NewSequentialFile(name, options, file, dbg);
    *file = NewWalSequentialFile(std::move(handle), name);
    return IOStatus::OK();
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* dbg) override {
    WalHandle handle = Find(name);
    if (handle.file == nullptr) return target()->NewRandomAccessFile(name, options, file, dbg);
    *file = NewWalRandomAccessFile(std::move(handle), name);
    return IOStatus::OK();
  }

  IOStatus FileExists(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    return Find(name).file != nullptr ? IOStatus::OK() : target()->FileExists(name, options, dbg);
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& options, uint64_t* size,
                       IODebugContext* dbg) override {
    const WalHandle handle = Find(name);
    if (handle.file == nullptr) return target()->GetFileSize(name, options, size, dbg);
    *size = handle.file->length();
    return IOStatus::OK();
  }
  IOStatus GetFileModificationTime(const std::string& name, const IOOptions& options, uint64_t* seconds,
                                   IODebugContext* dbg) override {
    const WalHandle handle = Find(name);
    if (handle.file == nullptr) return target()->GetFileModificationTime(name, options, seconds, dbg);
    *seconds = handle.file->modified_seconds();
    return IOStatus::OK();
  }
  IOStatus NumFileLinks(const std::string& name, const IOOptions& options, uint64_t* count,
                        IODebugContext* dbg) override {
    if (Find(name).file == nullptr) return target()->NumFileLinks(name, options, count, dbg);
    *count = 1;
    return IOStatus::OK();
  }
  IOStatus AreFilesSame(const std::string& a, const std::string& b, const IOOptions& options, bool* same,
                        IODebugContext* dbg) override {
    const WalHandle first = Find(a), second = Find(b);
    if (first.file == nullptr && second.file == nullptr) return target()->AreFilesSame(a, b, options, same, dbg);
    *same = first.file == second.file;
    return IOStatus::OK();
  }
  // RocksDB then copies.
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* dbg) override {
    if (Find(from).file != nullptr) return IOStatus::NotSupported(from, "a log on SCM has one name");
    if (Find(to).file != nullptr) return IOStatus::IOError(to, "exists, as a log on SCM");
    return target()->LinkFile(from, to, options, dbg);
  }
  IOStatus NewRandomRWFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* file, IODebugContext* dbg) override {
    if (Find(name).file != nullptr) return IOStatus::NotSupported(name, "a log on SCM is written at its end only");
    return target()->NewRandomRWFile(name, options, file, dbg);
  }
  IOStatus Truncate(const std::string& name, size_t size, const IOOptions& options, IODebugContext* dbg) override {
    WalHandle handle = Find(name);
    if (handle.file == nullptr) return target()->Truncate(name, size, options, dbg);
    const WalOutcome outcome = store_->Truncate(&handle.file, size);
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
  WalHandle Find(const std::string& name) const {
    if (store_ == nullptr || !IsLogName(name)) return {};
    return {medium_.store, store_->Find(Canonical(name))};
  }
  bool Wanted(const std::string& name, const FileOptions& options) const {
    return IsLogName(name) && options.io_options.property_bag.contains(kMark);
  }
  // The medium's path still names it.
  bool Present() const { return Inode::Of(options_.medium.path) == medium_.id; }
  std::vector<std::string> LogsIn(const std::string& directory) const;
  // A log of a directory that was removed.
  void DropLeftOverLocked(const std::string& path) {
    if (store_->Remove(path) == WalOutcome::kOk) counters_.Count(WalEvent::kLogLeftOver);
  }
  void DropNamesakes(const std::string& directory, const std::vector<std::string>& names);

  IOStatus PutMarkerLocked(const std::string& directory);
  // Counted and told the first time, where it is allowed.
  IOStatus FallBack(const std::string& name, WalEvent reason);
  // An empty log on SCM, or the reason why not.
  IOStatus Create(const std::string& name, WalHandle* handle, WalEvent* reason);
  IOStatus Remove(const std::string& name);
  // To `to` in the base file system, durably; `*copy`, if asked for, stays open.
  IOStatus CopyToBase(const WalFile& file, const std::string& to, std::unique_ptr<FSWritableFile>* copy);
  IOStatus SyncDirectoryOf(const std::string& name);
  IOStatus Evacuate(const std::string& name, const WalFile& file, WalEvent reason,
                    std::unique_ptr<FSWritableFile>* base) override;
  void DeleteInBase(const std::string& name) {
    // Mostly there is none; if it stays, the store's comes first.
    const IOStatus ignored = target()->DeleteFile(name, IOOptions(), nullptr);
    ignored.PermitUncheckedError();
  }

  const WalFileSystemOptions options_;
  const SharedMedium medium_;
  WalStore* const store_ = medium_.store.get();
  WalCounters counters_;
};

IOStatus WalFileSystem::FallBack(const std::string& name, WalEvent reason) {
  if (!options_.fallback) return IOStatus::IOError(name, fmt::format("{} (fallback=false)", mezz::ToString(reason)));
  counters_.Count(reason);
  if (counters_.Get(reason) == 1)
    Tell(fmt::format("{}: this log lies in the base file system ({}); further ones are counted only", name,
                     mezz::ToString(reason)));
  return IOStatus::OK();
}

IOStatus WalFileSystem::PutMarkerLocked(const std::string& directory) {
  return PutWalMarker(*target(), directory, store_->uuid(), options_.medium.path, [&] {
    for (const std::string& name : LogsIn(directory)) DropLeftOverLocked(directory + "/" + name);
  });
}

IOStatus WalFileSystem::Create(const std::string& name, WalHandle* handle, WalEvent* reason) {
  *reason = WalEvent::kFallbackAbsent;
  if (store_ == nullptr) return IOStatus::OK();
  *reason = WalEvent::kFallbackVanished;
  if (!Present()) return IOStatus::OK();
  *reason = WalEvent::kFallbackFull;
  if (store_->free_bytes() == 0) return IOStatus::OK();
  const std::string path = Canonical(name);
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

IOStatus WalFileSystem::NewWritableFile(const std::string& name, const FileOptions& options,
                                        std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) {
  WalHandle handle;
  if (Wanted(name, options)) {
    WalEvent reason{};
    IOStatus status = Create(name, &handle, &reason);
    if (status.ok() && handle.file == nullptr) status = FallBack(name, reason);
    if (!status.ok()) return status;
  }
  if (handle.file == nullptr) {
    IOStatus status = target()->NewWritableFile(name, options, file, dbg);
    return status.ok() && Find(name).file != nullptr ? Remove(name) : status;
  }
  DeleteInBase(name);
  *file = NewWalWritableFile(std::move(handle), name, this, &counters_);
  return IOStatus::OK();
}

IOStatus WalFileSystem::ReopenWritableFile(const std::string& name, const FileOptions& options,
                                           std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) {
  WalHandle handle = Find(name);
  if (handle.file == nullptr) return target()->ReopenWritableFile(name, options, file, dbg);
  *file = NewWalWritableFile(std::move(handle), name, this, &counters_);
  return IOStatus::OK();
}

// The old log's extents are free for the new one: there is nothing to write over.
IOStatus WalFileSystem::ReuseWritableFile(const std::string& name, const std::string& old_name,
                                          const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                                          IODebugContext* dbg) {
  const bool held = Find(old_name).file != nullptr;
  if (!held && store_ == nullptr) return target()->ReuseWritableFile(name, old_name, options, file, dbg);
  IOStatus status = NewWritableFile(name, options, file, dbg);
  if (!status.ok()) return status;
  counters_.Count(WalEvent::kLogRecycled);
  return DeleteFile(old_name, IOOptions(), dbg);
}

IOStatus WalFileSystem::Remove(const std::string& name) {
  const std::string path = Canonical(name);
  const WalMarkerLock lock;
  const WalOutcome outcome = store_->Remove(path);
  if (outcome == WalOutcome::kIoError) return ToIo(name, outcome);  // a crash may bring it back
  if (outcome == WalOutcome::kOk) counters_.Count(WalEvent::kLogRemoved);
  return LogsIn(DirectoryOf(path)).empty() ? EraseWalMarker(*target(), DirectoryOf(path)) : IOStatus::OK();
}

IOStatus WalFileSystem::DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* dbg) {
  if (Find(name).file == nullptr) return target()->DeleteFile(name, options, dbg);
  DeleteInBase(name);
  return Remove(name);
}

IOStatus WalFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                   IODebugContext* dbg) {
  const WalHandle handle = Find(from);
  if (handle.file == nullptr) {
    if (store_ != nullptr && !store_->List(CanonicalDirectory(from) + "/").empty())
      return IOStatus::NotSupported(from, "has logs on SCM, by their paths: it cannot be renamed");
    IOStatus status = target()->RenameFile(from, to, options, dbg);
    return status.ok() && Find(to).file != nullptr ? Remove(to) : status;
  }
  const std::string path = Canonical(to);
  if (IsLogName(to)) {
    const WalMarkerLock lock;
    IOStatus status = PutMarkerLocked(DirectoryOf(path));
    if (!status.ok()) return status;
    if (store_->Rename(Canonical(from), path) == WalOutcome::kOk) {
      DeleteInBase(to);
      DeleteInBase(from);
      const std::string directory = DirectoryOf(Canonical(from));
      return LogsIn(directory).empty() ? EraseWalMarker(*target(), directory) : IOStatus::OK();
    }
  }
  IOStatus status = CopyToBase(*handle.file, to, nullptr);
  return status.ok() ? Remove(from) : status;
}

std::vector<std::string> WalFileSystem::LogsIn(const std::string& directory) const {
  if (store_ == nullptr) return {};
  const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
  std::vector<std::string> names;
  for (const std::string& path : store_->List(prefix)) {
    std::string name = path.substr(prefix.size());
    if (name.find('/') == std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

// Logs of a directory that was removed, where one that was restored in its place has others of these names.
void WalFileSystem::DropNamesakes(const std::string& directory, const std::vector<std::string>& names) {
  const WalMarkerLock lock;
  if (!LacksWalMarker(*target(), directory)) return;  // it has one by now
  for (const std::string& name : LogsIn(directory)) {
    if (std::ranges::find(names, name) != names.end()) DropLeftOverLocked(directory + "/" + name);
  }
}

IOStatus WalFileSystem::GetChildren(const std::string& directory, const IOOptions& options,
                                    std::vector<std::string>* names, IODebugContext* dbg) {
  IOStatus status = target()->GetChildren(directory, options, names, dbg);
  if (!status.ok()) return status;
  const std::string path = CanonicalDirectory(directory);
  const auto marker = std::ranges::find(*names, kWalMarkerName);
  if (marker == names->end()) {  // what the medium may have of this path is not this directory's
    DropNamesakes(path, *names);
    return status;
  }
  names->erase(marker);
  status = CheckWalMarker(*target(), path, store_ == nullptr ? WalUuid{} : store_->uuid());
  if (!status.ok()) return status;
  for (std::string& name : LogsIn(path)) {
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

IOStatus WalFileSystem::SyncDirectoryOf(const std::string& name) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = target()->NewDirectory(DirectoryOf(name), IOOptions(), &directory, nullptr);
  return status.ok() ? directory->Fsync(IOOptions(), nullptr) : status;
}

IOStatus WalFileSystem::CopyToBase(const WalFile& file, const std::string& to, std::unique_ptr<FSWritableFile>* copy) {
  std::unique_ptr<FSWritableFile> made;
  IOStatus status = target()->NewWritableFile(to, FileOptions(), &made, nullptr);
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
IOStatus WalFileSystem::Evacuate(const std::string& name, const WalFile& file, WalEvent reason,
                                 std::unique_ptr<FSWritableFile>* base) {
  IOStatus status = FallBack(name, reason);
  if (status.ok()) status = CopyToBase(file, name, base);
  if (status.ok()) status = Remove(name);
  return status;
}

// The media of this process: a path is opened once, and shared.
Status OpenShared(const WalOptions& options, SharedMedium* medium) {
  struct Known {
    std::weak_ptr<WalStore> store;
    Inode id;
  };
  static std::mutex mutex;
  static auto* const media = new std::map<std::string, Known>;
  const std::lock_guard lock(mutex);
  Known& known = (*media)[Canonical(options.path)];
  *medium = {known.store.lock(), known.id};
  if (medium->store != nullptr) {
    if (medium->store->geometry().capacity_bytes == options.Geometry().capacity_bytes) return Status::Ok();
    return Status::InvalidArgument(fmt::format("path={} is open with another size in this process", options.path));
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
  return Status::InvalidArgument(
      fmt::format("base={} is no file system that RocksDB knows here ({}): preload or register what makes it",
                  options.base, made.ok() ? "it gave none" : made.ToString()));
}

Status Make(const WalFileSystemOptions& options, std::shared_ptr<FileSystem> base, std::unique_ptr<FileSystem>* made) {
  if (const Status status = options.Validate(); !status.ok()) return InWalKeys(status);
  if (base == nullptr) MEZZ_RETURN_IF_ERROR(BaseOf(options, &base));
  SharedMedium medium;
  if (const Status status = OpenShared(options.medium, &medium); !status.ok()) {
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
