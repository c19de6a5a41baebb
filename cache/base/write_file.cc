// SPDX-License-Identifier: Apache-2.0
#include "cache/base/write_file.h"

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

// The name of a temporary file that nobody else uses: two threads may write one file at once.
std::string NewTemporaryOf(const std::string& path) {
  static std::atomic<uint64_t> last{0};
  return path + fmt::format(".{}.{}.new", getpid(), last.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

Status CheckFileWritable(std::string_view option, const std::string& path) {
  const std::string temporary = NewTemporaryOf(path);
  std::error_code error;
  int refused = EISDIR;
  if (!std::filesystem::is_directory(path, error)) {
    const std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    refused = file ? 0 : errno;
    std::remove(temporary.c_str());
  }
  if (refused == 0) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{}={} cannot be written: {}; name a file in a folder that is there and may be written to", option,
                  path, std::strerror(refused)));
}

Status WriteFileAtomically(const std::string& path, const std::string& content) {
  const std::string temporary = NewTemporaryOf(path);
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(temporary.c_str());
    return Status::IoError(fmt::format("{} cannot be written: {}", path, std::strerror(error)));
  }
  return Status::Ok();
}

}  // namespace mezz
