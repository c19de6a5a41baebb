// SPDX-License-Identifier: Apache-2.0
#include "cache/verify_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cache/base/text.h"

namespace mezz {
namespace {

// Checks the open descriptor, so that the file that is checked is the one that is read.
Status CheckKeyFile(const std::string& path, int fd) {
  struct stat file {};
  if (fstat(fd, &file) != 0)
    return Status::IoError(fmt::format("verify_key_file={} cannot be read: {}", path, ErrnoText(errno)));
  if (!S_ISREG(file.st_mode))
    return Status::InvalidArgument(fmt::format("verify_key_file={} is no regular file: name one", path));
  if (file.st_uid != geteuid())
    return Status::ForeignFile(fmt::format("verify_key_file={} belongs to uid {} and this process is uid {}: chown it",
                                           path, file.st_uid, geteuid()));
  if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Status::ForeignFile(
        fmt::format("verify_key_file={} has mode {:04o}, so that others may know the key: make a new key, chmod 0600",
                    path, file.st_mode & 07777));
  if (file.st_size != VerifyKey::kBytes)
    return Status::InvalidArgument(
        fmt::format("verify_key_file={} has {} bytes and a key is {}: make one with head -c {} /dev/urandom", path,
                    file.st_size, VerifyKey::kBytes, VerifyKey::kBytes));
  return Status::Ok();
}

}  // namespace

VerifyKey::~VerifyKey() { explicit_bzero(bytes_.data(), bytes_.size()); }

Status ReadVerifyKey(const std::string& path, VerifyKey* key) {
  // O_NONBLOCK: a fifo must not stop us.
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    const bool link = errno == ELOOP;
    return Status::IoError(fmt::format("verify_key_file={} cannot be read ({}): {}", path, ErrnoText(errno),
                                       link ? "name the file, not a symbolic link to it" : "check path and mode"));
  }
  Status status = CheckKeyFile(path, fd);
  std::array<std::byte, VerifyKey::kBytes> bytes{};
  if (status.ok() && read(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    status = Status::IoError(fmt::format("verify_key_file={} cannot be read whole: try again", path));
  close(fd);
  if (status.ok()) *key = VerifyKey(bytes);
  explicit_bzero(bytes.data(), bytes.size());
  return status;
}

}  // namespace mezz
