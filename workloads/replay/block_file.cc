// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/block_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "workloads/block_key.h"

namespace mezz {
namespace {

constexpr size_t kAlignment = 4096;
constexpr size_t kFillBytes = 4 << 20;  // written at once
constexpr uint64_t kStep = 0x9e3779b97f4a7c15ull;

}  // namespace

void BlockFile::Fill(uint64_t block, std::span<std::byte> to) {
  uint64_t word = MixWord(block);
  for (size_t at = 0; at < to.size(); at += sizeof(word), word += kStep) {
    std::memcpy(to.data() + at, &word, std::min(sizeof(word), to.size() - at));
  }
}

bool BlockFile::Matches(uint64_t block, std::span<const std::byte> bytes) {
  uint64_t word = MixWord(block);
  uint64_t wrong = 0;
  for (size_t at = 0; at < bytes.size(); at += sizeof(word), word += kStep) {
    uint64_t found = word;
    std::memcpy(&found, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    wrong |= found ^ word;
  }
  return wrong == 0;
}

BlockFile::Buffer BlockFile::MakeBuffer(size_t bytes) {
  void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) throw std::bad_alloc();
  return Buffer(static_cast<std::byte*>(memory));
}

BlockFile::~BlockFile() {
  if (fd_ >= 0) close(fd_);
}

Status BlockFile::Failed(const char* what) const {
  return Status::IoError(fmt::format("{} cannot be {}: {}", path_, what, std::strerror(errno)));
}

Status BlockFile::Open(const std::string& folder, uint32_t unit_bytes, uint64_t blocks, Progress* progress,
                       const std::atomic<bool>& stop, std::unique_ptr<BlockFile>* file) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::IoError(fmt::format("--db={} cannot be made: {}", folder, error.message()));
  std::unique_ptr<BlockFile> opened(new BlockFile(fmt::format("{}/mezz_blocks_{}", folder, unit_bytes), unit_bytes));
  MEZZ_RETURN_IF_ERROR(opened->OpenAndLock());
  uint64_t there = 0;
  MEZZ_RETURN_IF_ERROR(opened->CheckWhatIsThere(&there));
  if (there < blocks) MEZZ_RETURN_IF_ERROR(opened->Extend(there, blocks, progress, stop));
  *file = std::move(opened);
  return Status::Ok();
}

Status BlockFile::OpenAndLock() {
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_DIRECT, 0600);
  if (fd_ < 0 && errno == EINVAL) {
    return Status::NotSupported(
        fmt::format("{}: its file system has no direct I/O; name a --db folder on a local disk", path_));
  }
  if (fd_ < 0) return Failed("opened");
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    return Status::Busy(fmt::format("{} is in use by another mezz_replay; name another --db folder", path_));
  }
  return Status::Ok();
}

// Blocks are written in order, so the first and the last tell. What an interrupted write left of a block is written
// again.
Status BlockFile::CheckWhatIsThere(uint64_t* blocks) const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return Failed("read");
  *blocks = static_cast<uint64_t>(info.st_size) / unit_bytes_;
  const Buffer buffer = MakeBuffer(unit_bytes_);
  for (const uint64_t block : {uint64_t{0}, *blocks - 1}) {
    if (*blocks == 0) break;
    MEZZ_RETURN_IF_ERROR(Read(block, buffer.get()));
    if (!Matches(block, {buffer.get(), unit_bytes_})) {
      return Status::ForeignFile(
          fmt::format("{} holds something else than blocks of {} bytes; remove it", path_, unit_bytes_));
    }
  }
  return Status::Ok();
}

Status BlockFile::Extend(uint64_t from, uint64_t to, Progress* progress, const std::atomic<bool>& stop) const {
  struct statvfs fs {};
  const uint64_t wanted = (to - from) * unit_bytes_;
  if (fstatvfs(fd_, &fs) == 0 && fs.f_bavail * fs.f_frsize < wanted) {
    return Status::NoSpace(fmt::format("{} needs {} MiB more, and its disk has {} MiB free; use a smaller --unit",
                                       path_, wanted >> 20, fs.f_bavail * fs.f_frsize >> 20));
  }
  progress->Phase(fmt::format("writing {} MiB of blocks", wanted >> 20));
  const uint64_t blocks_at_once = std::max<uint64_t>(kFillBytes / unit_bytes_, 1);
  const Buffer buffer = MakeBuffer(blocks_at_once * unit_bytes_);
  for (uint64_t at = from; at < to && !stop.load(std::memory_order_relaxed);) {
    const uint64_t count = std::min(blocks_at_once, to - at);
    for (uint64_t i = 0; i < count; ++i) Fill(at + i, {buffer.get() + i * unit_bytes_, unit_bytes_});
    const auto bytes = static_cast<ssize_t>(count * unit_bytes_);
    if (pwrite(fd_, buffer.get(), static_cast<size_t>(bytes), static_cast<off_t>(at * unit_bytes_)) != bytes)
      return Failed("written");
    at += count;
    progress->Update(at - from, to - from);
  }
  return Status::Ok();
}

Status BlockFile::Read(uint64_t block, std::byte* to) const {
  const ssize_t got = pread(fd_, to, unit_bytes_, static_cast<off_t>(block * unit_bytes_));
  return got == static_cast<ssize_t>(unit_bytes_) ? Status::Ok() : Failed("read");
}

}  // namespace mezz
