// SPDX-License-Identifier: Apache-2.0
#include "integration/paced_files.h"

#include <algorithm>
#include <string>

namespace mezz {
namespace {

constexpr std::chrono::milliseconds kBurst(20);  // so far a read may be ahead of kBytesPerSecond

class PacedFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  PacedFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, ReadPace* pace)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), pace_(*pace) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* debug) const override {
    pace_.OnRead(n);
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) pace_.OnRead(requests[i].len);
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
  }
  // RocksDB then reads ahead with a Read of its own, which is counted.
  rocksdb::IOStatus Prefetch(uint64_t, size_t, const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::NotSupported();
  }

 private:
  ReadPace& pace_;
};

class PacedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  PacedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& files, ReadPace* pace)
      : FileSystemWrapper(files), pace_(pace) {}
  const char* Name() const override { return "mezz.ReadBackFiles"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> opened;
    rocksdb::IOStatus status = target()->NewRandomAccessFile(path, options, &opened, debug);
    if (status.ok()) *file = std::make_unique<PacedFile>(std::move(opened), pace_);
    return status;
  }

 private:
  ReadPace* const pace_;
};

}  // namespace

void ReadPace::OnRead(uint64_t bytes) {
  counts_.reads.fetch_add(1, std::memory_order_relaxed);
  counts_.bytes.fetch_add(bytes, std::memory_order_relaxed);
  const auto now = std::chrono::steady_clock::now();
  free_ = std::max(free_, now) + std::chrono::nanoseconds(bytes * std::nano::den / kBytesPerSecond);
  if (free_ >= now + kBurst) wait_(free_ - now);
}

std::shared_ptr<rocksdb::FileSystem> PacedFiles(const std::shared_ptr<rocksdb::FileSystem>& files, ReadPace* pace) {
  return std::make_shared<PacedFileSystem>(files, pace);
}

}  // namespace mezz
