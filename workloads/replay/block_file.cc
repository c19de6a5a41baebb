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

// The file's words from a sector on: each sector starts anew, from its number.
class Words {
 public:
  explicit Words(uint64_t at) : sector_(at / BlockFile::kSectorBytes) {}
  uint64_t Next() {
    constexpr unsigned kWordsOfSector = BlockFile::kSectorBytes / sizeof(uint64_t);
    word_ = left_ == 0 ? MixWord(sector_++) : word_ + 0x9e3779b97f4a7c15ull;
    left_ = left_ == 0 ? kWordsOfSector - 1 : left_ - 1;
    return word_;
  }

 private:
  uint64_t sector_;
  uint64_t word_ = 0;
  unsigned left_ = 0;
};

}  // namespace

void BlockFile::Fill(uint64_t at, std::span<std::byte> to) {
  Words words(at);
  for (size_t i = 0; i < to.size(); i += sizeof(uint64_t)) {
    const uint64_t word = words.Next();
    std::memcpy(to.data() + i, &word, std::min(sizeof(word), to.size() - i));
  }
}

bool BlockFile::Matches(uint64_t at, std::span<const std::byte> bytes) {
  Words words(at);
  uint64_t wrong = 0;
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    const uint64_t word = words.Next();
    uint64_t found = word;
    std::memcpy(&found, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
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

Status BlockFile::Open(const std::string& folder, uint64_t bytes, Progress* progress, const std::atomic<bool>& stop,
                       std::unique_ptr<BlockFile>* file) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::IoError(fmt::format("--db={} cannot be made: {}", folder, error.message()));
  std::unique_ptr<BlockFile> opened(new BlockFile(folder + "/mezz_blocks"));
  MEZZ_RETURN_IF_ERROR(opened->OpenAndLock());
  uint64_t there = 0;
  MEZZ_RETURN_IF_ERROR(opened->CheckWhatIsThere(&there));
  if (there < Sectors(bytes)) MEZZ_RETURN_IF_ERROR(opened->Extend(there, Sectors(bytes), progress, stop));
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

// Sectors are written in order, so the first and the last tell. What an interrupted write left of one is written again.
Status BlockFile::CheckWhatIsThere(uint64_t* sectors) const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return Failed("read");
  *sectors = static_cast<uint64_t>(info.st_size) / kSectorBytes;
  if (*sectors == 0) return Status::Ok();
  const Buffer buffer = MakeBuffer(kSectorBytes);
  for (const uint64_t sector : {uint64_t{0}, *sectors - 1}) {
    MEZZ_RETURN_IF_ERROR(Read(sector * kSectorBytes, kSectorBytes, buffer.get()));
    if (!Matches(sector * kSectorBytes, {buffer.get(), kSectorBytes})) {
      return Status::ForeignFile(fmt::format("{} is no file of blocks of mezz_replay; remove it", path_));
    }
  }
  return Status::Ok();
}

Status BlockFile::Extend(uint64_t from, uint64_t to, Progress* progress, const std::atomic<bool>& stop) const {
  struct statvfs fs {};
  const uint64_t wanted = (to - from) * kSectorBytes;
  if (fstatvfs(fd_, &fs) == 0 && fs.f_bavail * fs.f_frsize < wanted) {
    return Status::NoSpace(fmt::format(
        "{} needs {} MiB more, and its disk has {} MiB free; use a smaller --unit, or a sample of the trace", path_,
        wanted >> 20, fs.f_bavail * fs.f_frsize >> 20));
  }
  progress->Phase(fmt::format("writing {} MiB of blocks", wanted >> 20));
  constexpr uint64_t kSectorsAtOnce = kFillBytes / kSectorBytes;
  const Buffer buffer = MakeBuffer(kFillBytes);
  for (uint64_t at = from; at < to && !stop.load(std::memory_order_relaxed);) {
    const uint64_t count = std::min(kSectorsAtOnce, to - at);
    Fill(at * kSectorBytes, {buffer.get(), count * kSectorBytes});
    const auto bytes = static_cast<ssize_t>(count * kSectorBytes);
    if (pwrite(fd_, buffer.get(), static_cast<size_t>(bytes), static_cast<off_t>(at * kSectorBytes)) != bytes)
      return Failed("written");
    at += count;
    progress->Update(at - from, to - from);
  }
  return Status::Ok();
}

Status BlockFile::Read(uint64_t at, size_t bytes, std::byte* to) const {
  const uint64_t wanted = Sectors(bytes) * kSectorBytes;
  const ssize_t got = pread(fd_, to, wanted, static_cast<off_t>(at));
  return got == static_cast<ssize_t>(wanted) ? Status::Ok() : Failed("read");
}

}  // namespace mezz
