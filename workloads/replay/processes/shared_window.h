// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cache/status.h"
#include "workloads/requests/request.h"

namespace mezz {

// The requests of one window, in memory that mezz_replay writes and its workers read: so a trace is read once, however
// many caches replay it. A memory file, named by its descriptor.
class SharedWindow {
 public:
  // A new one, closed on exec; or, by `fd`, the one that another process wrote. Owns the descriptor.
  static Status Create(std::unique_ptr<SharedWindow>* window);
  explicit SharedWindow(int fd) : fd_(fd) {}
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  int fd() const { return fd_; }
  // Replaces the content. Nobody may have it mapped.
  Status Write(const std::vector<std::vector<Request>>& by_thread);

  Status Map();
  void Unmap();
  size_t threads() const;
  // While mapped.
  std::span<const Request> of_thread(size_t thread) const;

 private:
  const int fd_;
  std::byte* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
};

}  // namespace mezz
