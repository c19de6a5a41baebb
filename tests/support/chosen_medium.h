// SPDX-License-Identifier: Apache-2.0
// MEZZ_TEST_MEDIUM: the medium of tests that ask for none in particular, instead of anonymous memory and files in
// memory (tests/vm/media_suite).
//
//   numa:N           the memory of that node
//   /dev/daxX.Y      that device; a second tier beside the one that has it has anonymous memory
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cache/layout.h"
#include "cache/options.h"

namespace mezz::test {

inline std::string_view ChosenMedium() {
  const char* const chosen = std::getenv("MEZZ_TEST_MEDIUM");
  return chosen != nullptr ? chosen : "";
}
inline bool DeviceIsChosen() { return ChosenMedium().starts_with('/'); }
// Single pages of a mapping can be replaced by others (lost_pages.h); a device is mapped by its own, larger ones.
inline bool CanLosePages() { return !DeviceIsChosen(); }
inline bool IsDevice(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
}

// Somebody uses it: one tier at a time can.
inline bool IsLocked(const std::string& device) {
  const int file = open(device.c_str(), O_RDWR | O_CLOEXEC);
  const bool free = flock(file, LOCK_EX | LOCK_NB) == 0;
  close(file);
  return !free;
}
inline bool& DeviceIsLent() {  // to a ScratchPath
  static bool lent = false;
  return lent;
}

// Anonymous memory, or what is chosen instead, if it is free.
inline void ChooseMedium(ScmOptions* options) {
  constexpr std::string_view kNuma = "numa:";
  const std::string_view chosen = ChosenMedium();
  options->medium = MediumKind::kAnonymous;
  if (chosen.starts_with(kNuma)) {
    options->medium = MediumKind::kNumaNode;
    options->numa_node = std::atoi(chosen.data() + kNuma.size());
  } else if (DeviceIsChosen() && !DeviceIsLent() && !IsLocked(std::string(chosen))) {
    options->medium = MediumKind::kFile;
    options->path = chosen;
  }
}

inline void UseFile(const std::string& path, ScmOptions* options) {
  options->medium = MediumKind::kFile;
  options->path = path;
  options->numa_node = -1;
}
// The node that is chosen, or the first.
inline void UseNode(ScmOptions* options) {
  ChooseMedium(options);
  if (options->medium == MediumKind::kNumaNode) return;
  options->medium = MediumKind::kNumaNode;
  options->path.clear();
  options->numa_node = 0;
}

// The first bytes of a devdax device, which can only be mapped.
class MappedDevice {
 public:
  explicit MappedDevice(const std::string& path, uint64_t bytes = kAlignment) : bytes_(RoundUp(bytes, kAlignment)) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (base == MAP_FAILED) throw std::runtime_error(path + " cannot be mapped");
    base_ = static_cast<char*>(base);
  }
  ~MappedDevice() { munmap(base_, bytes_); }
  MappedDevice(const MappedDevice&) = delete;
  MappedDevice& operator=(const MappedDevice&) = delete;
  char* base() const { return base_; }

 private:
  static constexpr uint64_t kAlignment = 2 << 20;
  const uint64_t bytes_;
  char* base_;
};

// All of a file; of a device what its superblock speaks of.
inline std::string Contents(const std::filesystem::path& path) {
  if (!IsDevice(path)) {
    std::string bytes(std::filesystem::file_size(path), '\0');
    std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  layout::Superblock superblock;
  std::memcpy(&superblock, MappedDevice(path).base(), sizeof(superblock));
  return {MappedDevice(path, superblock.capacity_bytes).base(), superblock.capacity_bytes};
}

// Writes into a file or device where it lies there. A file grows if it must.
inline void Overwrite(const std::filesystem::path& path, uint64_t at, std::string_view bytes) {
  if (IsDevice(path)) {
    std::memcpy(MappedDevice(path, at + bytes.size()).base() + at, bytes.data(), bytes.size());
    return;
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at)).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.good()) << path;
}

// A path that no other test uses: of the chosen device, if nobody else has it, else of a file that is removed with the
// object.
class ScratchPath {
 public:
  ScratchPath(std::string file, bool may_be_device) : path_(std::move(file)) {
    if (!may_be_device || !DeviceIsChosen() || DeviceIsLent()) return;
    device_ = true;
    path_ = ChosenMedium();
    // A test may have removed it, and made a file of its name.
    if (!IsDevice(path_)) throw std::runtime_error(path_ + " is no device any more");
    DeviceIsLent() = true;
    std::memset(MappedDevice(path_, kWipedBytes).base(), 0, kWipedBytes);  // as a new file is
  }
  ~ScratchPath() {
    if (device_) {
      DeviceIsLent() = false;
    } else {
      std::error_code ignored;
      std::filesystem::remove(path_, ignored);
    }
  }
  ScratchPath(const ScratchPath&) = delete;
  ScratchPath& operator=(const ScratchPath&) = delete;
  const std::string& path() const { return path_; }

 private:
  static constexpr uint64_t kWipedBytes = 64 << 20;  // no test has a larger one

  std::string path_;
  bool device_ = false;
};

// One that no other test has, in memory or in `folder`.
class ScratchFile : public ScratchPath {
 public:
  ScratchFile() : ScratchPath(Name("/dev/shm"), true) {}
  explicit ScratchFile(const char* folder) : ScratchPath(Name(folder), false) {}

 private:
  static std::string Name(const std::string& folder) {
    static std::atomic<int> next{0};
    return folder + "/mezz-test-" + std::to_string(getpid()) + "-" +
           std::to_string(next.fetch_add(1, std::memory_order_relaxed));
  }
};

}  // namespace mezz::test
