// SPDX-License-Identifier: Apache-2.0
// Checks of a file before a byte of it is changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

#include "cache/base/machine_memory.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

// Whether the kernel says that this is a devdax character device.
bool IsDevdax(const struct stat& file);

// Refuses what is neither a regular file nor a devdax device: directory, symbolic link, fifo, socket, other devices.
Status CheckFileKind(const std::string& path, const struct stat& file);

// ForeignFile if others may read or write the file. They could see blocks, or feed bytes to RocksDB's parsers. A file
// passes if it is owned by `euid`, has no permission bit for group or others (a named entry of an ACL shows as one),
// and has exactly one link; by a second name it would outlive its removal, or lie in another user's folder. A device
// passes if it is owned by `euid` or root, and has no permission bit for others. Its group may have permissions, as
// udev hands devices to services that way, and only root makes device nodes.
Status CheckPrivate(const std::string& path, const struct stat& file, uid_t euid);

// A sentence about a file, changed to fit a device, which nobody removes.
std::string ForDevice(std::string sentence);

// The error for an open(2) of `path` that failed with `error`: why, and what to do.
Status OpenError(const std::string& path, int error);

// The error that another open of `file` holds its lock. It says which process, if the kernel tells.
Status InUseError(const std::string& path, const struct stat& file);

// The huge pages of a file on hugetlbfs.
struct HugePages {
  uint64_t page_bytes = 0;  // 0: the file is on another file system
  uint64_t available = 0;   // pages that the kernel would still give
};
HugePages HugePagesOf(int fd);
// NoSpace if a file of `bytes` bytes, of which it already has `occupied`, needs more huge pages than there are.
Status CheckHugePagesHold(const std::string& path, const HugePages& pages, uint64_t occupied, uint64_t bytes);

// NoSpace if the file system of `fd`, or the memory behind it, cannot hold `bytes` bytes of this file, and beside it
// `others_need` more of others. Memory that the file will take is promised, except huge pages, whose memory is already
// reserved.
Status CheckFileSystemHolds(const std::string& path, int fd, const struct stat& file, uint64_t bytes,
                            uint64_t others_need, PromisedMemory* promised);
// What the members' files on the file system `device` have not taken yet. Where space comes with the pages, it still
// counts as available.
uint64_t SpaceStillNeeded(std::span<const ScmMember> members, dev_t device);

bool IsMemoryFileSystem(int fd);  // tmpfs, ramfs, hugetlbfs
// The name of the file system: "tmpfs", "ext4".
std::string FileSystemName(int fd);

}  // namespace mezz
