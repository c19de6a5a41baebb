// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace mezz {

// Notices that an open file is removed, replaced or renamed. A thread of its own sleeps until the kernel says so
// (inotify). One thread uses the object. In a forked child it must not be destroyed.
class NameWatch {
 public:
  NameWatch() = default;
  ~NameWatch();
  NameWatch(const NameWatch&) = delete;
  NameWatch& operator=(const NameWatch&) = delete;

  // From now on `changed` is called whenever the names of the file behind `fd`, its mode or its owner have changed,
  // until it returns true. Call it once. False: there was no watch, or no thread for it.
  bool Start(int fd, std::function<bool()> changed);

 private:
  void Run(const std::function<bool()>& changed) const;

  int events_ = -1;  // inotify
  int end_ = -1;     // an eventfd
  std::thread thread_;
};

}  // namespace mezz
