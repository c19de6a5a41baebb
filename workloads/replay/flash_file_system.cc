// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/flash_file_system.h"

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
    return target()->NewWritableFile(name, InMemory(options), file, dbg);
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return target()->ReopenWritableFile(name, InMemory(options), file, dbg);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return target()->ReuseWritableFile(name, old_name, InMemory(options), file, dbg);
  }

 private:
  Flash* const flash_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewFlashEnv(Flash* flash) {
  return rocksdb::NewCompositeEnv(std::make_shared<FlashFileSystem>(flash));
}

}  // namespace mezz
