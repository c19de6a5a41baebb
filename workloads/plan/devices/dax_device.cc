// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/devices/dax_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cache/base/text.h"
#include "cache/layout.h"
#include "cache/media/bus_errors.h"
#include "cache/media/file_checks.h"
#include "cache/superblock.h"
#include "cache/types.h"

namespace mezz::plan {

DaxDevice::~DaxDevice() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  if (fd_ >= 0) close(fd_);
}

Status DaxDevice::Open(const std::string& path, uint64_t bytes, uint64_t alignment) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  fd_ = open(path.c_str(), O_RDWR | kFlags);
  writable_ = fd_ >= 0;
  if (!writable_) {
    const int error = errno;
    if (error != EACCES && error != EPERM) return OpenError(path, error);
    fd_ = open(path.c_str(), O_RDONLY | kFlags);
    if (fd_ < 0) return OpenError(path, error);
  }
  struct stat file {};
  if (fstat(fd_, &file) != 0) return OpenError(path, errno);
  if (flock(fd_, (writable_ ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) return InUseError(path, file);
  const uint64_t length = RoundUp(bytes, alignment);
  void* const mapped = mmap(nullptr, length, writable_ ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) return Status::IoError(fmt::format("{} cannot be mapped ({})", path, ErrnoText(errno)));
  bytes_ = {static_cast<std::byte*>(mapped), length};
  return Status::Ok();
}

Status ReadHolds(const DaxDevice& device, DaxHolds* holds) {
  std::array<std::byte, layout::kSuperblockSpace> head{};
  const BusErrorWatch watch(device.bytes());
  if (!CopyBytes(device.bytes().first(head.size()), head.data()))
    return Status::IoError("its first 4 KiB cannot be read: ndctl clear-errors, or replace the device");
  const bool zeros = std::ranges::all_of(head, [](std::byte byte) { return byte == std::byte{0}; });
  *holds = zeros                                                          ? DaxHolds::kNothing
           : FindSuperblock(head).what == FoundSuperblock::What::kForeign ? DaxHolds::kForeign
                                                                          : DaxHolds::kMezzanine;
  return Status::Ok();
}

void JudgeDaxDevice(const std::string& root, Place* place) {
  DaxDevice device;
  DaxHolds holds = DaxHolds::kNothing;
  Status status = device.Open(root + place->path, layout::kSuperblockSpace, place->alignment);
  if (status.ok()) status = ReadHolds(device, &holds);
  if (!status.ok()) {
    place->trouble = status.message();
  } else if (!device.writable()) {
    place->trouble = "this process may not write to it: a rule of udev gives it to a group, DeviceAllow= to a unit";
  } else if (holds == DaxHolds::kForeign) {
    place->trouble =
        "it holds data that is not Mezzanine's: name another device, or clear the first 2 MiB of this one "
        "(docs/how-to/devices.md)";
  }
  if (holds == DaxHolds::kMezzanine) place->remarks.push_back("it holds a cache of Mezzanine's, so it is only read");
}

}  // namespace mezz::plan
