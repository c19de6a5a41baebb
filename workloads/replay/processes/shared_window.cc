// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/shared_window.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mezz {
namespace {

static_assert(std::is_trivially_copyable_v<Request>);

// [threads][requests of thread 0][...][the requests of thread 0][...]
Status Failed(const char* doing) {
  return Status::IoError(fmt::format("the memory of a window cannot be {}: {}; use more --repeats or --cold_windows",
                                     doing, std::strerror(errno)));
}

bool WriteAll(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

Status SharedWindow::Create(std::unique_ptr<SharedWindow>* window) {
  const int fd = memfd_create("mezz_replay_window", MFD_CLOEXEC);
  if (fd < 0) return Failed("made");
  *window = std::make_unique<SharedWindow>(fd);
  return Status::Ok();
}

SharedWindow::~SharedWindow() {
  Unmap();
  close(fd_);
}

Status SharedWindow::Write(const std::vector<std::vector<Request>>& by_thread) {
  std::vector<uint64_t> header{by_thread.size()};
  for (const std::vector<Request>& requests : by_thread) header.push_back(requests.size());
  if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return Failed("emptied");
  if (!WriteAll(fd_, header.data(), header.size() * sizeof(uint64_t))) return Failed("written");
  for (const std::vector<Request>& requests : by_thread) {
    if (!WriteAll(fd_, requests.data(), requests.size() * sizeof(Request))) return Failed("written");
  }
  return Status::Ok();
}

Status SharedWindow::Map() {
  Unmap();
  struct stat info {};
  if (fstat(fd_, &info) != 0) return Failed("found");
  mapped_bytes_ = static_cast<size_t>(info.st_size);
  void* const at = mmap(nullptr, mapped_bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE, fd_, 0);
  if (at == MAP_FAILED) return Failed("mapped");
  mapped_ = static_cast<std::byte*>(at);
  return Status::Ok();
}

void SharedWindow::Unmap() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  mapped_ = nullptr;
}

size_t SharedWindow::threads() const { return *reinterpret_cast<const uint64_t*>(mapped_); }

std::span<const Request> SharedWindow::of_thread(size_t thread) const {
  const auto* const counts = reinterpret_cast<const uint64_t*>(mapped_) + 1;
  const auto* requests = reinterpret_cast<const Request*>(counts + threads());
  for (size_t i = 0; i < thread; ++i) requests += counts[i];
  return {requests, counts[thread]};
}

}  // namespace mezz
