// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/block_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>

namespace mezz {
namespace {

constexpr size_t kAlignment = 4096;
constexpr size_t kFillBytes = 4 << 20;  // written at once

}  // namespace

void BlockFile::Content(uint64_t at, std::span<std::byte> to) const {
  Values::Sector sector;
  for (; !to.empty(); at += kSectorBytes) {
    values_.FillSector(at / kSectorBytes, &sector);
    const size_t count = std::min<size_t>(to.size(), kSectorBytes);
    std::memcpy(to.data(), sector.data(), count);
    to = to.subspan(count);
  }
}

bool BlockFile::Matches(uint64_t at, std::span<const std::byte> bytes) const {
  Values::Sector sector;
  for (; !bytes.empty(); at += kSectorBytes) {
    values_.FillSector(at / kSectorBytes, &sector);
    const size_t count = std::min<size_t>(bytes.size(), kSectorBytes);
    if (std::memcmp(bytes.data(), sector.data(), count) != 0) return false;
    bytes = bytes.subspan(count);
  }
  return true;
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

Status BlockFile::Claim(const std::string& folder, const Values& values, uint64_t bytes, const FlashModel* flash,
                        std::unique_ptr<BlockFile>* file) {
  if (flash != nullptr) MEZZ_RETURN_IF_ERROR(CheckInMemory(folder, *flash));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::IoError(fmt::format("--db={} cannot be made: {}", folder, error.message()));
  const std::string name = values.Name();
  const std::string suffix = name == Values().Name() ? "" : "." + name;
  std::unique_ptr<BlockFile> claimed(new BlockFile(fmt::format("{}/mezz_blocks{}", folder, suffix), values));
  MEZZ_RETURN_IF_ERROR(claimed->Open(O_RDWR | O_CREAT | (flash == nullptr ? O_DIRECT : 0)));
  MEZZ_RETURN_IF_ERROR(claimed->Lock());
  MEZZ_RETURN_IF_ERROR(claimed->Measure());
  MEZZ_RETURN_IF_ERROR(claimed->CheckWhatIsThere());
  claimed->wanted_ = Sectors(bytes);
  if (!claimed->whole()) MEZZ_RETURN_IF_ERROR(claimed->CheckSpace(flash));
  *file = std::move(claimed);
  return Status::Ok();
}

Status BlockFile::OpenToRead(const std::string& path, const Values& values, bool buffered, Flash* flash,
                             std::unique_ptr<BlockFile>* file) {
  std::unique_ptr<BlockFile> opened(new BlockFile(path, values));
  opened->flash_ = flash;
  MEZZ_RETURN_IF_ERROR(opened->Open(O_RDONLY | (buffered || flash != nullptr ? 0 : O_DIRECT)));
  MEZZ_RETURN_IF_ERROR(opened->Measure());
  if (buffered) {
    posix_fadvise(opened->fd_, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(opened->fd_, 0, 0, POSIX_FADV_RANDOM);  // no readahead: nor has RocksDB any
  }
  *file = std::move(opened);
  return Status::Ok();
}

Status BlockFile::Open(int flags) {
  fd_ = open(path_.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0 && errno == EINVAL) {
    return Status::NotSupported(
        fmt::format("{}: its file system has no direct I/O; name a --db folder on a local disk", path_));
  }
  return fd_ < 0 ? Failed("opened") : Status::Ok();
}

Status BlockFile::Lock() const {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return Status::Ok();
  return Status::Busy(fmt::format("{} is in use by another mezz_replay; name another --db folder", path_));
}

Status BlockFile::Measure() {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return Failed("read");
  sectors_ = static_cast<uint64_t>(info.st_size) / kSectorBytes;
  return Status::Ok();
}

// Sectors are written in order, so the first and the last tell. What an interrupted write left of one is written again.
Status BlockFile::CheckWhatIsThere() const {
  if (sectors_ == 0) return Status::Ok();
  const Buffer buffer = MakeBuffer(kSectorBytes);
  for (const uint64_t sector : {uint64_t{0}, sectors_ - 1}) {
    MEZZ_RETURN_IF_ERROR(Read(sector * kSectorBytes, kSectorBytes, buffer.get()));
    if (!Matches(sector * kSectorBytes, {buffer.get(), kSectorBytes})) {
      return Status::ForeignFile(fmt::format("{} is no file of blocks of mezz_replay; remove it", path_));
    }
  }
  return Status::Ok();
}

Status BlockFile::CheckSpace(const FlashModel* flash) const {
  const uint64_t missing = (wanted_ - sectors_) * kSectorBytes;
  const std::optional<uint64_t> room = RoomIn(path_, flash);
  if (!room || *room >= missing) return Status::Ok();
  return Status::NoSpace(
      fmt::format("{} needs {} MiB more, and {} has {} MiB free; use a smaller --unit, or a sample of the trace", path_,
                  missing >> 20, flash != nullptr ? "the memory" : "its disk", *room >> 20));
}

Status BlockFile::Fill(Progress* progress, const std::atomic<bool>& stop) {
  if (whole()) return Status::Ok();
  const uint64_t from = sectors_;
  progress->Phase(fmt::format("writing {} MiB of blocks", (wanted_ - from) * kSectorBytes >> 20));
  constexpr uint64_t kSectorsAtOnce = kFillBytes / kSectorBytes;
  const Buffer buffer = MakeBuffer(kFillBytes);
  while (!whole() && !stop.load(std::memory_order_relaxed)) {
    const uint64_t count = std::min(kSectorsAtOnce, wanted_ - sectors_);
    const uint64_t at = sectors_ * kSectorBytes;
    const auto bytes = static_cast<ssize_t>(count * kSectorBytes);
    Content(at, {buffer.get(), static_cast<size_t>(bytes)});
    if (pwrite(fd_, buffer.get(), static_cast<size_t>(bytes), static_cast<off_t>(at)) != bytes)
      return Failed("written");
    sectors_ += count;
    progress->Update(sectors_ - from, wanted_ - from);
  }
  return Status::Ok();
}

Status BlockFile::Read(uint64_t at, size_t bytes, std::byte* to) const {
  const uint64_t wanted = Sectors(bytes) * kSectorBytes;
  const Flash::InFlight read = flash_ == nullptr ? Flash::InFlight{} : flash_->Begin(wanted);
  const ssize_t got = pread(fd_, to, wanted, static_cast<off_t>(at));
  if (flash_ != nullptr) flash_->Await(read);
  return got == static_cast<ssize_t>(wanted) ? Status::Ok() : Failed("read");
}

}  // namespace mezz
