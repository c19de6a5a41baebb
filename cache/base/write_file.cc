// SPDX-License-Identifier: Apache-2.0
#include "cache/base/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mezz {
namespace {

namespace fs = std::filesystem;

// The name of a temporary file that nobody else uses: two threads may write one file at once.
std::string NewTemporaryOf(const std::string& path) {
  static std::atomic<uint64_t> last{0};
  return path + fmt::format(".{}.{}.new", getpid(), last.fetch_add(1, std::memory_order_relaxed));
}

// 0, or what errno says.
int WriteThrough(const std::string& path, const std::string& content) {
  const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe that nobody reads is refused
  if (fd < 0) return errno;
  int error = 0;
  for (size_t at = 0; at < content.size() && error == 0;) {
    const ssize_t written = write(fd, content.data() + at, content.size() - at);
    if (written > 0) {
      at += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

std::string ReplaceableFile(const std::string& path) {
  std::error_code error;
  const fs::file_status found = fs::status(path, error);  // of what links lead to
  if (fs::is_regular_file(found)) return fs::canonical(path, error).string();
  if (fs::exists(found)) return {};
  const fs::path link = fs::read_symlink(path, error);  // one that leads nowhere yet
  return error ? path : (fs::path(path).parent_path() / link).string();
}

Status CheckFileWritable(std::string_view option, const std::string& path) {
  const std::string file = ReplaceableFile(path);
  std::error_code error;
  int refused = 0;
  if (fs::is_directory(path, error)) {
    refused = EISDIR;
  } else if (file.empty()) {
    refused = access(path.c_str(), W_OK) == 0 ? 0 : errno;
  } else {
    const std::string temporary = NewTemporaryOf(file);
    const std::ofstream opened(temporary, std::ios::binary | std::ios::trunc);
    refused = opened ? 0 : errno;
    std::remove(temporary.c_str());
  }
  if (refused == 0) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{}={} cannot be written: {}; name a file in a folder that is there and may be written to", option,
                  path, std::strerror(refused)));
}

Status WriteFileAtomically(const std::string& path, const std::string& content) {
  const std::string replaced = ReplaceableFile(path);
  int error = 0;
  if (replaced.empty()) {
    error = WriteThrough(path, content);
  } else {
    const std::string temporary = NewTemporaryOf(replaced);
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    if (!file || std::rename(temporary.c_str(), replaced.c_str()) != 0) {
      error = errno;
      std::remove(temporary.c_str());
    }
  }
  if (error == 0) return Status::Ok();
  return Status::IoError(fmt::format("{} cannot be written: {}", path, std::strerror(error)));
}

}  // namespace mezz
