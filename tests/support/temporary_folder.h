// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace mezz {

// Where folders lie in memory, if there is room and files are read directly there, as in a tmpfs from Linux 6.6 on: for
// tests of which the disk is not the subject, and that would wait for it most of the time.
inline std::string InMemory() {
  constexpr uintmax_t kRoom = uintmax_t{2} << 30;
  std::error_code error;
  const std::filesystem::space_info memory = std::filesystem::space("/dev/shm", error);
  if (error || memory.available < kRoom) return ::testing::TempDir();
  const int file = open("/dev/shm", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
  if (file < 0) return ::testing::TempDir();
  close(file);
  return "/dev/shm/";
}

// A folder of the test's own, gone with it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent = ::testing::TempDir()) {
    std::string pattern = std::filesystem::path(parent) / "mezz-test-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace mezz
