// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_files.h"

#include <algorithm>
#include <span>
#include <utility>

#include "fmt/format.h"

namespace mezz {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Also at the end of a log that the medium lost a part of: RocksDB must not take that for the end.
IOStatus ReadLog(const WalFile& file, const std::string& name, uint64_t offset, size_t n, Slice* result, char* scratch,
                 WalFile::Cursor* cursor) {
  size_t got = 0;
  const bool whole = file.Read(offset, n, scratch, &got, cursor);
  *result = Slice(scratch, got);
  if (whole && (got != 0 || n == 0 || !file.damaged())) return IOStatus::OK();
  return IOStatus::Corruption(fmt::format("{}: the log is damaged on SCM behind {} bytes", name, offset + got));
}

class WalSequentialFile final : public rocksdb::FSSequentialFile {
 public:
  WalSequentialFile(WalHandle handle, std::string name) : handle_(std::move(handle)), name_(std::move(name)) {}

  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch, IODebugContext*) override {
    IOStatus status = ReadLog(*handle_.file, name_, position_, n, result, scratch, &cursor_);
    if (status.ok()) position_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t n) override {
    position_ = std::min(position_ + n, std::max(position_, handle_.file->length()));
    return IOStatus::OK();
  }
  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                          IODebugContext*) override {
    WalFile::Cursor cursor;
    return ReadLog(*handle_.file, name_, offset, n, result, scratch, &cursor);
  }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  const WalHandle handle_;
  const std::string name_;
  uint64_t position_ = 0;
  WalFile::Cursor cursor_;
};

class WalRandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  WalRandomAccessFile(WalHandle handle, std::string name) : handle_(std::move(handle)), name_(std::move(name)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    WalFile::Cursor cursor;
    return ReadLog(*handle_.file, name_, offset, n, result, scratch, &cursor);
  }
  IOStatus Prefetch(uint64_t, size_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  const WalHandle handle_;
  const std::string name_;
};

// One writer; Sync, Fsync and GetFileSize may come from other threads beside it.
//
// base_:  null --the medium took no more, by the writer: release--> the log's copy in the base file system
// Who loads it (acquire) and sees null syncs the store: what it has to sync was appended, and is, or is in the copy,
// which is synced before it is told of.
class WalWritableFile final : public rocksdb::FSWritableFile {
 public:
  WalWritableFile(WalHandle handle, std::string name, WalEvacuation* evacuation, WalCounters* counters)
      : handle_(std::move(handle)), name_(std::move(name)), evacuation_(evacuation), counters_(counters) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    if (auto* const base = base_.load(std::memory_order_acquire)) return base->Append(data, options, dbg);
    if (too_small_) {
      IOStatus status = Evacuate(WalEvent::kFallbackTooSmall);
      return status.ok() ? Append(data, options, dbg) : status;
    }
    const auto bytes = std::as_bytes(std::span(data.data(), data.size()));
    const WalOutcome outcome = handle_.store->Append(*handle_.file, bytes);
    // Not copied to the base: the medium could not make it last that this log is no more, and it would come first.
    if (outcome == WalOutcome::kIoError) return Broken();
    if (outcome == WalOutcome::kOk) {
      counters_->Count(WalEvent::kAppend);
      counters_->Count(WalEvent::kAppendBytes, data.size());
      return IOStatus::OK();
    }
    IOStatus status = Evacuate(WalEvent::kFallbackFull);
    return status.ok() ? Append(data, options, dbg) : status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* dbg) override {
    return Append(data, options, dbg);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* dbg) override {
    if (offset == Length(options, dbg)) return Append(data, options, dbg);
    return IOStatus::NotSupported(name_, "a log on SCM is written at its end only");
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const rocksdb::DataVerificationInfo&, IODebugContext* dbg) override {
    return PositionedAppend(data, offset, options, dbg);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* dbg) override {
    if (auto* const base = base_.load(std::memory_order_acquire)) return base->Truncate(size, options, dbg);
    const WalOutcome outcome = handle_.store->Truncate(&handle_.file, size);
    if (outcome == WalOutcome::kOk) return IOStatus::OK();
    if (outcome == WalOutcome::kIoError) return Broken();
    IOStatus status = Evacuate(WalEvent::kFallbackFull);
    return status.ok() ? Truncate(size, options, dbg) : status;
  }
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
    auto* const base = base_.load(std::memory_order_acquire);
    return base == nullptr ? IOStatus::OK() : base->Close(options, dbg);
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* dbg) override {
    auto* const base = base_.load(std::memory_order_acquire);
    return base == nullptr ? IOStatus::OK() : base->Flush(options, dbg);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    if (auto* const base = base_.load(std::memory_order_acquire)) return base->Sync(options, dbg);
    if (handle_.store->Sync(*handle_.file) != WalOutcome::kOk) return Broken();
    counters_->Count(WalEvent::kSync);
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    if (auto* const base = base_.load(std::memory_order_acquire)) return base->Fsync(options, dbg);
    return Sync(options, dbg);
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options, IODebugContext* dbg) override {
    auto* const base = base_.load(std::memory_order_acquire);
    return base == nullptr ? IOStatus::OK() : base->RangeSync(offset, bytes, options, dbg);
  }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions& options, IODebugContext* dbg) override { return Length(options, dbg); }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}
  // RocksDB says here how long a log of this database gets.
  void SetPreallocationBlockSize(size_t size) override {
    FSWritableFile::SetPreallocationBlockSize(size);
    too_small_ = size > handle_.store->LongestFile();
  }

 private:
  IOStatus Broken() const { return IOStatus::IOError(name_, std::string(ToString(WalOutcome::kIoError))); }
  uint64_t Length(const IOOptions& options, IODebugContext* dbg) {
    auto* const base = base_.load(std::memory_order_acquire);
    return base == nullptr ? handle_.file->length() : base->GetFileSize(options, dbg);
  }
  IOStatus Evacuate(WalEvent reason) {
    IOStatus status = evacuation_->Evacuate(name_, *handle_.file, reason, &base_owner_);
    if (status.ok()) base_.store(base_owner_.get(), std::memory_order_release);
    return status;
  }

  WalHandle handle_;
  const std::string name_;
  WalEvacuation* const evacuation_;
  WalCounters* const counters_;
  bool too_small_ = false;  // told before the first append
  std::unique_ptr<rocksdb::FSWritableFile> base_owner_;
  std::atomic<rocksdb::FSWritableFile*> base_{nullptr};
};

}  // namespace

std::unique_ptr<rocksdb::FSWritableFile> NewWalWritableFile(WalHandle handle, std::string name,
                                                            WalEvacuation* evacuation, WalCounters* counters) {
  return std::make_unique<WalWritableFile>(std::move(handle), std::move(name), evacuation, counters);
}

std::unique_ptr<rocksdb::FSSequentialFile> NewWalSequentialFile(WalHandle handle, std::string name) {
  return std::make_unique<WalSequentialFile>(std::move(handle), std::move(name));
}

std::unique_ptr<rocksdb::FSRandomAccessFile> NewWalRandomAccessFile(WalHandle handle, std::string name) {
  return std::make_unique<WalRandomAccessFile>(std::move(handle), std::move(name));
}

}  // namespace mezz
