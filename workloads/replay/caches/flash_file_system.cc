// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/flash_file_system.h"

#include <span>
#include <utility>
#include <vector>

#include "rocksdb/file_system.h"

namespace mezz {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// What it leaves to its base is what waits too: ReadAsync, and whatever releases have added, call Read. There is no
// Prefetch: RocksDB then reads ahead with a Read of its own.
class FlashFile final : public FSRandomAccessFile {
 public:
  FlashFile(std::unique_ptr<FSRandomAccessFile> memory, bool direct, Flash* flash)
      : memory_(std::move(memory)), direct_(direct), flash_(flash) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    if (flash_ == nullptr) return memory_->Read(offset, n, options, result, scratch, dbg);
    const Flash::InFlight read = flash_->Begin(n);
    IOStatus status = memory_->Read(offset, n, options, result, scratch, dbg);
    flash_->Await(read);
    return status;
  }

  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* dbg) override {
    std::vector<Flash::InFlight> reads;
    for (const rocksdb::FSReadRequest& r : std::span(requests, count)) {
      if (flash_ != nullptr) reads.push_back(flash_->Begin(r.len));
    }
    for (rocksdb::FSReadRequest& r : std::span(requests, count))
      r.status = memory_->Read(r.offset, r.len, options, &r.result, r.scratch, dbg);
    if (!reads.empty()) flash_->Await(reads);
    return IOStatus::OK();
  }

  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return memory_->GetRequiredBufferAlignment(); }
  size_t GetUniqueId(char* id, size_t max_size) const override { return memory_->GetUniqueId(id, max_size); }
  void Hint(AccessPattern pattern) override { memory_->Hint(pattern); }
  // There is no cache above these files.
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  const std::unique_ptr<FSRandomAccessFile> memory_;
  const bool direct_;
  Flash* const flash_;
};

// RocksDB appends to it as to a buffered file, since the memory below knows no direct I/O; but each append waits then.
class FlashWritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FlashWritableFile(std::unique_ptr<rocksdb::FSWritableFile> memory, bool direct, Flash* flash)
      : FSWritableFileOwnerWrapper(std::move(memory)), direct_(direct), flash_(*flash) {}

  using FSWritableFileOwnerWrapper::Append;
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, dbg);
    if (status.ok()) Written(data.size());
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* dbg) override {
    IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, info, dbg);
    if (status.ok()) Written(data.size());
    return status;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    IOStatus status = FSWritableFileOwnerWrapper::Sync(options, dbg);
    AwaitSync();
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    IOStatus status = FSWritableFileOwnerWrapper::Fsync(options, dbg);
    AwaitSync();
    return status;
  }

 private:
  void Written(size_t bytes) {
    done_ns_ = flash_.Write(bytes);
    synced_ = false;
    const double ahead_ns = direct_ ? 0 : static_cast<double>(kAheadBytes) / flash_.model().write_bytes_per_ns;
    if (const auto ahead = static_cast<uint64_t>(ahead_ns); done_ns_ > ahead) flash_.AwaitUntil(done_ns_ - ahead);
  }
  void AwaitSync() {
    if (synced_) return;
    flash_.AwaitSync(done_ns_);
    synced_ = true;
  }

  const bool direct_;
  Flash& flash_;
  uint64_t done_ns_ = 0;
  bool synced_ = true;
};

// A file in memory need not be read or written directly, and on an older kernel cannot be.
FileOptions InMemory(const FileOptions& options) {
  FileOptions memory = options;
  memory.use_direct_reads = false;
  memory.use_direct_writes = false;
  memory.use_mmap_reads = false;
  memory.use_mmap_writes = false;
  return memory;
}

class FlashFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FlashFileSystem(Flash* flash) : FileSystemWrapper(rocksdb::FileSystem::Default()), flash_(flash) {}

  const char* Name() const override { return "mezz.FlashFileSystem"; }

  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file, IODebugContext* dbg) override {
    std::unique_ptr<FSRandomAccessFile> memory;
    IOStatus status = target()->NewRandomAccessFile(name, InMemory(options), &memory, dbg);
    if (status.ok()) *file = std::make_unique<FlashFile>(std::move(memory), options.use_direct_reads, flash_);
    return status;
  }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* dbg) override {
    return target()->NewSequentialFile(name, InMemory(options), file, dbg);
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return Waiting(target()->NewWritableFile(name, InMemory(options), file, dbg), options, file);
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return Waiting(target()->ReopenWritableFile(name, InMemory(options), file, dbg), options, file);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return Waiting(target()->ReuseWritableFile(name, old_name, InMemory(options), file, dbg), options, file);
  }

 private:
  IOStatus Waiting(IOStatus status, const FileOptions& options, std::unique_ptr<rocksdb::FSWritableFile>* file) {
    if (status.ok() && flash_ != nullptr && flash_->writes_wait()) {
      *file = std::make_unique<FlashWritableFile>(std::move(*file), options.use_direct_writes, flash_);
    }
    return status;
  }

  Flash* const flash_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> NewFlashFileSystem(Flash* flash) {
  return std::make_shared<FlashFileSystem>(flash);
}

std::unique_ptr<rocksdb::Env> NewFlashEnv(Flash* flash) { return rocksdb::NewCompositeEnv(NewFlashFileSystem(flash)); }

}  // namespace mezz
