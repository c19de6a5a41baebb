// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace mezz {

// Hears that an open file is removed, replaced or renamed. Sleeps until the kernel says so (inotify), in a thread of
// its own. Used by one thread; in a forked child it must not be destroyed.
class NameWatch {
 public:
  NameWatch() = default;
  ~NameWatch();
  NameWatch(const NameWatch&) = delete;
  NameWatch& operator=(const NameWatch&) = delete;

  // From now on `changed` is called when the names of the file behind `fd` have changed, or its mode or owner, until it
  // returns true. Call it once. False: no watch, or no thread for it, is to be had.
  bool Start(int fd, std::function<bool()> changed);

 private:
  void Run(const std::function<bool()>& changed) const;

  int events_ = -1;  // inotify
  int end_ = -1;     // an eventfd
  std::thread thread_;
};

}  // namespace mezz
