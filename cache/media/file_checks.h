// SPDX-License-Identifier: Apache-2.0
// What can be said about a file before a byte of it is changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "cache/base/machine_memory.h"
#include "cache/status.h"

namespace mezz {

// A devdax character device, by the kernel's word.
bool IsDevdax(const struct stat& file);

// Refuses what is neither a regular file nor a devdax device: directory, symbolic link, fifo, socket, other devices.
Status CheckFileKind(const std::string& path, const struct stat& file);

// Refuses what others may read or write, who would then see blocks or feed bytes to RocksDB's parsers. ForeignFile,
// unless
//   a file     is owned by `euid`, has no permission bit for group or others (a named entry of an ACL shows as one),
//              and exactly one link: by another name it would outlive its removal, or lie in another's folder
//   a device   is owned by `euid` or root, and has no permission bit for others. A group may have it: that is how udev
//              hands devices to a service, and only root makes device nodes
Status CheckPrivate(const std::string& path, const struct stat& file, uid_t euid);

// A sentence about a file, as it fits a device: nobody removes that.
std::string ForDevice(std::string sentence);

// Why open(2) of `path` failed with `error`, and what to do.
Status OpenError(const std::string& path, int error);

// That another open of `file` holds its lock; says whose, where the kernel tells.
Status InUseError(const std::string& path, const struct stat& file);

// The huge pages that a file on hugetlbfs is made of.
struct HugePages {
  uint64_t page_bytes = 0;  // 0: it is on another file system
  uint64_t available = 0;   // that the kernel would still give
};
HugePages HugePagesOf(int fd);
// NoSpace if a file of `bytes` bytes, of which it has `occupied`, takes more of them than there are.
Status CheckHugePagesHold(const std::string& path, const HugePages& pages, uint64_t occupied, uint64_t bytes);

// NoSpace if the file system of `fd`, or the memory behind it, cannot hold `bytes` bytes of this file. Memory that it
// will take is promised, but for huge pages: whoever reserved them has taken it.
Status CheckFileSystemHolds(const std::string& path, int fd, const struct stat& file, uint64_t bytes,
                            PromisedMemory* promised);

bool IsMemoryFileSystem(int fd);  // tmpfs, ramfs, hugetlbfs
// "tmpfs", "ext4", ...
std::string FileSystemName(int fd);

}  // namespace mezz
