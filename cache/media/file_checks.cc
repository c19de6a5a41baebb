// SPDX-License-Identifier: Apache-2.0
#include "cache/media/file_checks.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "cache/base/machine_memory.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

constexpr uint64_t kXfsMagic = 0x58465342;  // not in linux/magic.h of older systems

uint64_t FileSystemType(int fd) {
  struct statfs info {};
  return fstatfs(fd, &info) == 0 ? static_cast<uint64_t>(info.f_type) & 0xffffffff : 0;
}

std::string Parent(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

// 0 if the kernel does not tell.
long LockHolder(const struct stat& file) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    long pid = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: FLOCK %*s %*s %ld %x:%x:%lu", &pid, &device_major, &device_minor, &inode) ==
            4 &&
        device_major == major(file.st_dev) && device_minor == minor(file.st_dev) && inode == file.st_ino) {
      return pid;
    }
  }
  return 0;
}

// 0 if the kernel does not tell.
uint64_t HugePageCount(uint64_t page_bytes, std::string_view what) {
  std::ifstream file(fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/{}", page_bytes >> 10, what));
  uint64_t count = 0;
  file >> count;
  return file ? count : 0;
}

uint64_t Less(uint64_t all, uint64_t some) { return all - std::min(all, some); }

Status CheckFileSizeLimit(const std::string& path, uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) {
    return Status::Ok();
  }
  return Status::NoSpace(fmt::format("path={} needs {} and this process may write files of {} only: raise ulimit -f",
                                     path, ExactBytes(bytes), ExactBytes(limit.rlim_cur)));
}

}  // namespace

bool IsDevdax(const struct stat& file) {
  if (!S_ISCHR(file.st_mode)) return false;
  std::error_code error;
  const auto subsystem = std::filesystem::read_symlink(
      fmt::format("/sys/dev/char/{}:{}/subsystem", major(file.st_rdev), minor(file.st_rdev)), error);
  return !error && subsystem.filename() == "dax";
}

Status CheckFileKind(const std::string& path, const struct stat& file) {
  if (S_ISREG(file.st_mode) || IsDevdax(file)) return Status::Ok();
  if (S_ISDIR(file.st_mode)) {
    return Status::InvalidArgument(fmt::format("path={} is a directory: name a file in it", path));
  }
  if (S_ISLNK(file.st_mode)) {
    return Status::InvalidArgument(
        fmt::format("path={} is a symbolic link, which is never followed: name the file itself", path));
  }
  if (S_ISBLK(file.st_mode)) {
    return Status::InvalidArgument(
        fmt::format("path={} is a block device: make a file system on it and name a file there", path));
  }
  return Status::InvalidArgument(
      fmt::format("path={} is a {}, which cannot be mapped: name a regular file or a /dev/dax device", path,
                  S_ISFIFO(file.st_mode)   ? "fifo"
                  : S_ISSOCK(file.st_mode) ? "socket"
                                           : "character device"));
}

Status CheckPrivate(const std::string& path, const struct stat& file, uid_t euid) {
  const bool device = S_ISCHR(file.st_mode);
  if (file.st_uid != euid && !(device && file.st_uid == 0)) {
    return Status::ForeignFile(
        fmt::format("path={} belongs to uid {} and this process is uid {}: {}name another one, or chown {} to make it "
                    "ours",
                    path, file.st_uid, euid, device ? "" : "remove it, ", euid));
  }
  const mode_t too_wide = device ? S_IRWXO : S_IRWXG | S_IRWXO;
  if ((file.st_mode & too_wide) != 0) {
    return Status::ForeignFile(fmt::format(
        "path={} has mode {:04o}, so that others may read or change cached blocks: chmod {} it, {}or name another one",
        path, file.st_mode & 07777, device ? "o=" : "0600", device ? "" : "or remove it if they may have it open, "));
  }
  if (!device && file.st_nlink != 1) {
    return Status::ForeignFile(fmt::format(
        "path={} is one of {} hard links to the same file: remove the others (find -inum {}) or name another "
        "one",
        path, file.st_nlink, file.st_ino));
  }
  return Status::Ok();
}

std::string ForDevice(std::string sentence) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"name another file or remove it", "name another device, or clear the first 2 MiB of this one"},
      {"name another file", "name another device"},
      {"remove the file", "clear its first 2 MiB"},
      {"remove it", "clear its first 2 MiB"},
  };
  for (const auto& [of_file, of_device] : kWords) {
    if (const size_t at = sentence.find(of_file); at != std::string::npos)
      return sentence.replace(at, of_file.size(), of_device);
  }
  return sentence;
}

Status OpenError(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      if (path.find_first_of("~$\"'") == 0) {
        return Status::NotFound(fmt::format(
            "path={} is taken as it stands, and there is no such directory: ~, $ and quotes are a shell's to replace; "
            "write the whole path",
            path));
      }
      return Status::NotFound(
          fmt::format("path={} is in a directory that does not exist: create {}", path, Parent(path)));
    case ENOTDIR:
      return Status::NotFound(fmt::format("path={} leads through something that is not a directory: correct it", path));
    case ELOOP:
      return Status::InvalidArgument(
          fmt::format("path={} is a symbolic link, or leads through a loop of them: name the file itself", path));
    case EISDIR:
      return Status::InvalidArgument(fmt::format("path={} is a directory: name a file in it", path));
    case EROFS:
      return Status::IoError(
          fmt::format("path={} is on a read-only file system: name a file on one that can be written", path));
    case EACCES:
    case EPERM:
      return Status::IoError(
          fmt::format("path={} may not be written by this process ({}): change its permissions or "
                      "name another file",
                      path, ErrnoText(error)));
    case ENOSPC:
    case EDQUOT:
      return Status::NoSpace(
          fmt::format("path={} cannot be created because its file system is full: free some space", path));
    default:
      return Status::IoError(
          fmt::format("path={} cannot be opened ({}): correct it or name another file", path, ErrnoText(error)));
  }
}

Status InUseError(const std::string& path, const struct stat& file) {
  const long holder = LockHolder(file);
  const std::string by = holder <= 0          ? "another cache"
                         : holder == getpid() ? "another cache of this process"
                                              : fmt::format("process {}", holder);
  return Status::Busy(fmt::format("path={} is in use by {}: give each cache a file of its own", path, by));
}

HugePages HugePagesOf(int fd) {
  struct statfs info {};
  if (FileSystemType(fd) != HUGETLBFS_MAGIC || fstatfs(fd, &info) != 0) return {};
  const auto page = static_cast<uint64_t>(info.f_bsize);
  const auto count = [page](std::string_view what) { return HugePageCount(page, what); };
  const uint64_t reserved = Less(count("free_hugepages"), count("resv_hugepages"));
  const uint64_t more = Less(count("nr_overcommit_hugepages"), count("surplus_hugepages"));
  // A mount without a size of its own says 0.
  const uint64_t of_mount = info.f_blocks == 0 ? UINT64_MAX : static_cast<uint64_t>(info.f_bavail);
  return {.page_bytes = page, .available = std::min(reserved + more, of_mount)};
}

Status CheckHugePagesHold(const std::string& path, const HugePages& pages, uint64_t occupied, uint64_t bytes) {
  const uint64_t needed = Less((bytes + pages.page_bytes - 1) / pages.page_bytes, occupied / pages.page_bytes);
  if (needed <= pages.available) return Status::Ok();
  return Status::NoSpace(
      fmt::format("path={} needs {} more huge pages of {} and {} can be had: reserve them "
                  "(/sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages), or lower capacity_bytes",
                  path, needed, HumanBytes(pages.page_bytes), pages.available, pages.page_bytes >> 10));
}

uint64_t SpaceStillNeeded(std::span<const ScmMember> members, dev_t device) {
  uint64_t needed = 0;
  for (const ScmMember& member : members) {
    struct stat file {};
    if (member.medium != MediumKind::kFile || lstat(member.path.c_str(), &file) != 0) continue;
    if (!S_ISREG(file.st_mode) || file.st_dev != device) continue;
    needed += Less(member.capacity_bytes, static_cast<uint64_t>(file.st_blocks) * 512);
  }
  return needed;
}

Status CheckFileSystemHolds(const std::string& path, int fd, const struct stat& file, uint64_t bytes,
                            uint64_t others_need, PromisedMemory* promised) {
  MEZZ_RETURN_IF_ERROR(CheckFileSizeLimit(path, bytes));
  if (const HugePages pages = HugePagesOf(fd); pages.page_bytes != 0)
    return CheckHugePagesHold(path, pages, static_cast<uint64_t>(file.st_blocks) * 512, bytes);
  struct statvfs space {};
  if (fstatvfs(fd, &space) != 0) {
    return Status::IoError(fmt::format("path={} does not tell the size of its file system ({}): name another file",
                                       path, ErrnoText(errno)));
  }
  const uint64_t occupied = std::min<uint64_t>(static_cast<uint64_t>(file.st_blocks) * 512, bytes);
  const uint64_t total = space.f_blocks * space.f_frsize;
  const uint64_t available = space.f_bavail * space.f_frsize + occupied;
  if (total != 0 && bytes > total) {  // a tmpfs without a limit says 0
    return Status::NoSpace(fmt::format("path={} needs {} and its whole file system has {}: lower capacity_bytes", path,
                                       ExactBytes(bytes), ExactBytes(total)));
  }
  if (total != 0 && bytes > Less(available, others_need)) {
    const std::string of_others =
        others_need == 0 ? "" : fmt::format(", of which the media before it still need {}", ExactBytes(others_need));
    return Status::NoSpace(
        fmt::format("path={} needs {} and its file system has {} available{}: free some or lower capacity_bytes", path,
                    ExactBytes(bytes), ExactBytes(available), of_others));
  }
  if (!IsMemoryFileSystem(fd)) return Status::Ok();
  return CheckMemoryHolds(bytes - occupied, fmt::format("path={}", path), "capacity_bytes", promised);
}

bool IsMemoryFileSystem(int fd) {
  const uint64_t type = FileSystemType(fd);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

std::string FileSystemName(int fd) {
  switch (const uint64_t type = FileSystemType(fd); type) {
    case TMPFS_MAGIC:
      return "tmpfs";
    case RAMFS_MAGIC:
      return "ramfs";
    case HUGETLBFS_MAGIC:
      return "hugetlbfs";
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case kXfsMagic:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlayfs";
    case V9FS_MAGIC:
      return "9p";
    case NFS_SUPER_MAGIC:
      return "nfs";
    default:
      return fmt::format("file system {:#x}", type);
  }
}

}  // namespace mezz
